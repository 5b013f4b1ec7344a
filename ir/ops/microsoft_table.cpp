// com.microsoft: tables and matrices of few bits whose rows are looked up or multiplied by.
#include <fmt/format.h>

#include "ir/lasting.h"
#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// How the elements of a table lie in blocks, each with a scale and a zero point.
struct BlockedTable {
  TensorRef data;
  TensorRef scales;
  TensorRef zeros;       ///< or undefined
  Dims dims;             ///< of the elements, unpacked
  size_t axis = 0;       ///< along which blocks lie
  int64_t block = 0;     ///< elements of one; 0: the whole axis
  int64_t per_byte = 1;  ///< elements of a u8, the first in the lowest bits, along `axis`, the last one
  int64_t bits = 8;

  /// Element `at` of packed or plain data.
  Scalar field(const TensorRef& x, const Indices& at) const {
    if (per_byte == 1) return cast(ElementType::f32, x(at));
    Indices byte = at;
    byte[axis] = floor_div(at[axis], per_byte);
    const Scalar place = cast(ElementType::u8, floor_mod(at[axis], per_byte) * bits);
    const Scalar low = binary(ScalarOp::shift_right, x(byte), place);
    const Scalar mask = at[0].builder().integer((int64_t{1} << bits) - 1, ElementType::u8);
    return cast(ElementType::f32, binary(ScalarOp::bit_and, low, mask));
  }

  Scalar value(const OperatorContext& context, const Indices& at, bool centred) const {
    Builder& b = at[0].builder();
    Indices of_block = at;
    of_block[axis] = block == 0 ? b.integer(0) : floor_div(at[axis], block);
    Scalar x = field(data, at);
    if (zeros.defined()) {
      x = x - field(zeros, of_block);
    } else if (centred) {
      x = x - static_cast<double>(int64_t{1} << (bits - 1));
    }
    Indices of_scale = of_block;
    for (size_t d = 0; d < of_scale.size(); ++d) {
      if (scales.dims()[d] == Dim(1) && context.is_one(scales.dims()[d])) of_scale[d] = b.integer(0);
    }
    return x * cast(ElementType::f32, scales(of_scale));
  }
};

/// Gather from a table quantised in blocks. Inputs: the table (4 bits, floats of at most 8 bits, or bytes of
/// `bits` bits packed along the last axis), indices, scales, zero points. Indices out of range give zeros.
void gather_block_quantized(const OperatorContext& context, Builder& b) {
  using enum ElementType;
  constexpr int64_t most = int64_t{1} << 30;
  BlockedTable table;
  table.data = typed_operand(b, context, 0, {i4, u4, u8, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1});
  const ElementType kind = table.data.type();
  const int rank = table.data.rank();
  context.check(rank > 0, "the table is a scalar");
  table.dims = table.data.dims();
  table.axis = static_cast<size_t>(context.axis(context.integer("quantize_axis", 1), rank));
  const auto gathered = static_cast<size_t>(context.axis(context.integer("gather_axis", 0), rank));
  context.check(gathered != table.axis, "the axes must differ");
  table.block = bounded_integer(context, "block_size", 128, 0, most);
  context.check(table.block > 0 || is_float(kind), "block_size is 0");
  const bool packed = kind == u8;
  if (packed) {
    table.bits = context.integer("bits", 4);
    context.check(table.bits == 2 || table.bits == 4 || table.bits == 8, "bits must be 2, 4 or 8");
    table.per_byte = 8 / table.bits;
    context.check(table.per_byte == 1 || table.axis + 1 == table.dims.size(),
                  "packed bytes need blocks along the last axis");
    table.dims[table.axis] = table.dims[table.axis] * table.per_byte;
  }
  table.scales = real_operand(b, context, 2);
  context.check(table.scales.rank() == rank, "scales must have the rank of the table");
  const Dim blocks = table.block == 0 ? Dim(1) : ceil_div(table.dims[table.axis], Dim(table.block));
  for (size_t d = 0; d < table.dims.size(); ++d) {
    const Dim& size = table.scales.dims()[d];
    const Dim expected = d == table.axis ? blocks : table.dims[d];
    const bool spread = d != table.axis && is_float(kind) && size == Dim(1);
    if (!spread && !context.equal(size, expected)) {
      context.fail(fmt::format("scales of shape {} do not fit", to_string(table.scales.dims())));
    }
  }
  if (context.has(3)) {
    context.check(!is_float(kind), "a float table has no zero points");
    table.zeros = typed_operand(b, context, 3, {kind});
    Dims expected = table.scales.dims();
    expected[table.axis] = ceil_div(expected[table.axis], Dim(table.per_byte));
    check_dims(context, table.zeros, expected, "zero_points");
  }
  const TensorRef indices = typed_operand(b, context, 1, {i32, i64});
  const size_t index_rank = indices.dims().size();
  const Dim rows = table.dims[gathered];
  Dims dims = joined(part(table.dims, 0, gathered), indices.dims());
  dims = joined(dims, part(table.dims, gathered + 1, table.dims.size()));
  const TensorRef values =
      b.map(table.dims, [&](const Indices& i) { return table.value(context, i, packed); });
  b.output(b.map(dims, [&](const Indices& i) {
    const Scalar given = cast(i64, indices(part(i, gathered, gathered + index_rank)));
    const Scalar row = select(given < 0, given + rows, given);
    Indices at = part(i, 0, gathered);
    at.push_back(row);
    at = joined(at, part(i, gathered + index_rank, i.size()));
    return cast(table.scales.type(), values.padded(at, 0.0));
  }));
}

/// The 16 numbers of FP4 and NF4 as bitsandbytes has them (Dettmers and others, "QLoRA", 2023, appendix E).
const std::vector<double>& numbers_of_bnb4(bool normal_float) {
  static const auto& fp4 = lasting<std::vector<double>>(
      {0, 5.208333333e-03F, 0.66666667F, 1, 0.33333333F, 0.5, 0.16666667F, 0.25, 0, -5.208333333e-03F,
       -0.66666667F, -1, -0.33333333F, -0.5, -0.16666667F, -0.25});
  static const auto& nf4 = lasting<std::vector<double>>(
      {-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F, -0.28444138169288635F,
       -0.18477343022823334F, -0.09105003625154495F, 0.0F, 0.07958029955625534F, 0.16093020141124725F,
       0.24611230194568634F, 0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F,
       0.7229568362236023F, 1.0F});
  return normal_float ? nf4 : fp4;
}

/// A times the transpose of a matrix [N, K] of 4-bit numbers (times the matrix itself without `transB`), flat
/// and in blocks of `block_size`, each with the largest magnitude in `absmax`. The first of a byte's two is
/// in the high bits.
void matmul_bnb4(const OperatorContext& context, Builder& b) {
  constexpr int64_t most = int64_t{1} << 30;
  const TensorRef a = real_operand(b, context, 0);
  const int64_t k_size = bounded_integer(context, "K", 0, 1, most);
  const int64_t n_size = bounded_integer(context, "N", 0, 1, most);
  const int64_t block = bounded_integer(context, "block_size", 0, 16, most);
  const int64_t kind = bounded_integer(context, "quant_type", -1, 0, 1);
  const bool turned = flag(context, "transB", true);
  const Dim depth(turned ? k_size : n_size);
  const Dim columns(turned ? n_size : k_size);
  context.check(a.rank() > 0 && context.equal(a.dims().back(), depth),
                fmt::format("A of shape {} for a depth of {}", to_string(a.dims()), depth.to_string()));
  const int64_t count = k_size * n_size;
  const TensorRef bytes = shaped_operand(b, context, 1, {Dim((count + 1) / 2)}, "B");
  context.check(bytes.type() == ElementType::u8, "B must be uint8");
  const TensorRef largest = real_operand(b, context, 2);
  check_dims(context, largest, {Dim((count + block - 1) / block)}, "absmax");
  const ElementType type = compute_type(a.type());
  const ConstantTable numbers(b, type, numbers_of_bnb4(kind == 1));
  const TensorRef weights = b.map({Dim(n_size), Dim(k_size)}, [&](const Indices& i) {
    const Scalar position = i[0] * k_size + i[1];
    const Scalar byte = cast(ElementType::i64, bytes({floor_div(position, 2)}));
    const Scalar number = select(floor_mod(position, 2) == 0, floor_div(byte, 16), floor_mod(byte, 16));
    return numbers.at(number) * cast(type, largest({floor_div(position, block)}));
  });
  Dims dims = a.dims();
  dims.back() = columns;
  const TensorRef sum = b.sum(dims, {depth}, [&](const Indices& i, const Indices& r) {
    const Scalar x = widen(a(joined(part(i, 0, i.size() - 1), r)));
    return x * (turned ? weights({i.back(), r[0]}) : weights({r[0], i.back()}));
  });
  b.output(converted(b, sum, a.type()));
}

}  // namespace

void microsoft_table_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "GatherBlockQuantized", 1, gather_block_quantized},
                             {microsoft_domain, "MatMulBnb4", 1, matmul_bnb4}});
}

}  // namespace axrun::ir
