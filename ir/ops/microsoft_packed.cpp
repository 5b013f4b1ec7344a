// com.microsoft: GatherPacked, rows of a table in one of GGML's formats, and MatMulFpQ4, a product with a
// matrix in MLAS's blocks of four bits. The layouts are those of ggml-quants and of mlas_q4.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/indexing_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/packed_formats.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// Rows of K numbers, from a table of bytes [rows, bytes of a row]; an index out of range is row 0.
void gather_packed(const OperatorContext& context, Builder& b) {
  const int64_t number = bounded_integer(context, "packed_type", -1, 0, int64_t{1} << 30);
  const PackedFormat* format = find_packed_format(number);
  if (format == nullptr) context.unsupported(fmt::format("packed_type {}", number));
  const int64_t columns = bounded_integer(context, "K", 0, 1, int64_t{1} << 40);
  context.check(columns % format->elements == 0,
                fmt::format("K is {}, no multiple of {}", columns, format->elements));
  const ElementType type = type_attribute(context, "output_dtype", bf16);
  context.check(type == f32 || type == f16 || type == bf16,
                fmt::format("output_dtype may not be {}", name_of(type)));
  const TensorRef data = typed_operand(b, context, 0, {u8});
  require_rank(context, 0, 2);
  const Dim rows = data.dims()[0];
  check_dims(context, data, {rows, Dim(columns / format->elements * format->size)}, "data");
  const TensorRef indices = typed_operand(b, context, 1, {i32, i64});
  // Rows first, so that data are an index on their own.
  const TensorRef row = b.map(indices.dims(), [&](const Indices& i) {
    const Scalar given = cast(i64, indices(i));
    return select(logical_and(given >= 0, given < rows), given, b.integer(0));
  });
  const size_t rank = indices.dims().size();
  const auto bytes_at = [&](const Indices& i) {
    return PackedBytes(b, [&, i](const Scalar& position) {
      return data({from_end(row(part(i, 0, rank)), rows), i[rank] * format->size + position});
    });
  };
  const Dims blocks = joined(indices.dims(), {Dim(columns / format->elements)});
  const FloatOfBits half = FloatOfBits::half(b);
  std::vector<TensorRef> scales;
  for (int64_t k = 0; k < format->scales; ++k) {
    scales.push_back(
        b.map(blocks, [&](const Indices& i) { return half.at(bytes_at(i), format->first + 2 * k); }));
  }
  const Decoder decode = format->decoder(b);
  std::vector<std::vector<int>> merged;
  for (size_t d = 0; d < rank; ++d) merged.push_back({static_cast<int>(d)});
  merged.push_back({static_cast<int>(rank), static_cast<int>(rank) + 1});
  b.output(b.map_grouped(joined(blocks, {Dim(format->elements)}), merged, [&](const Indices& i) {
    const auto scale = [&](int64_t k) { return scales[static_cast<size_t>(k)](part(i, 0, rank + 1)); };
    return cast(type, decode({bytes_at(i), scale}, i.back()));
  }));
}

/// A times a matrix [K, N] (input 2) of numbers of four bits, which lie column by column in blocks: the scale
/// (f32), the zero point where there is one, then the numbers as in q4_0.
void matmul_fp_q4(const OperatorContext& context, Builder& b) {
  const TensorRef a = typed_operand(b, context, 0, {f32});
  const TensorRef data = typed_operand(b, context, 1, {u8});
  context.check(a.rank() > 0, "A is a scalar");
  const int64_t kind = context.integer("blk_quant_type", 1);
  context.check(kind == 0 || kind == 1 || kind == 2 || kind == 4, fmt::format("blk_quant_type {}", kind));
  const int64_t block = kind == 2 ? 64 : kind == 4 ? 128 : 32;
  const int64_t head = kind == 1 ? 5 : 4, size = head + block / 2;
  declare_for_dims(b, context, 2);
  const std::vector<int64_t> shape = context.integers(2);
  constexpr int64_t most = int64_t{1} << 26;
  context.check(shape.size() == 2 && shape[0] > 0 && shape[1] > 0 && shape[0] <= most && shape[1] <= most,
                "B_shape must be two sizes");
  const Dim depth(shape[0]), columns(shape[1]);
  const int64_t blocks = (shape[0] + block - 1) / block;
  check_dims(context, data, {Dim(shape[1] * blocks * size)}, "B");
  context.check(context.equal(a.dims().back(), depth),
                fmt::format("A of shape {} for a depth of {}", to_string(a.dims()), shape[0]));
  const FloatOfBits single = FloatOfBits::single(b);
  const TensorRef weights = b.map({columns, depth}, [&](const Indices& i) {
    const Scalar start = (i[0] * blocks + floor_div(i[1], block)) * size;
    const PackedBytes bytes(b, [&](const Scalar& position) { return data({position + start}); });
    const Scalar place = floor_mod(i[1], block);
    const Scalar number = nibble_of_32(bytes, floor_mod(place, 32), floor_div(place, 32) * 16 + head);
    const Scalar zero = bytes.byte(b.integer(4));
    return single.at(bytes, 0) * cast(f32, number - (kind == 1 ? zero : b.integer(8)));
  });
  Dims dims = a.dims();
  dims.back() = columns;
  b.output(b.sum(dims, {depth}, [&](const Indices& i, const Indices& r) {
    return a(joined(part(i, 0, i.size() - 1), r)) * weights({i.back(), r[0]});
  }));
}

}  // namespace

void microsoft_packed_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "GatherPacked", 1, gather_packed},
                             {microsoft_domain, "MatMulFpQ4", 1, matmul_fp_q4}});
}

}  // namespace axrun::ir
