// com.microsoft: GatherPacked, rows of a table in one of GGML's formats, and MatMulFpQ4, a product with a
// matrix in MLAS's blocks of four bits. The layouts are those of ggml-quants and of mlas_q4.
#include <fmt/format.h>

#include "ir/ops/compute.h"
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
  const Decoder decode = format->decoder(b);
  b.output(b.map(joined(indices.dims(), {Dim(columns)}), [&](const Indices& i) {
    const Scalar given = cast(i64, indices(part(i, 0, i.size() - 1)));
    const Scalar row = select(logical_and(given >= 0, given < rows), given, b.integer(0));
    const PackedBytes bytes(b, [&](const Scalar& position) { return data({row, position}); });
    const Scalar start = floor_div(i.back(), format->elements) * format->size;
    return cast(type, decode(bytes, start, floor_mod(i.back(), format->elements)));
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
    const PackedBytes bytes(b, [&](const Scalar& position) { return data({position}); });
    const Scalar start = (i[0] * blocks + floor_div(i[1], block)) * size;
    const Scalar place = floor_mod(i[1], block);
    const Scalar number = nibble_of_32(bytes, start + head + floor_div(place, 32) * 16, floor_mod(place, 32));
    const Scalar zero = kind == 1 ? bytes.byte(start + 4) : b.integer(8);
    return single.at(bytes, start) * cast(f32, number - zero);
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
