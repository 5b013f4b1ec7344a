// com.microsoft: GatherPacked, rows of a table in one of GGML's formats, and MatMulFpQ4, a product with a
// matrix in MLAS's blocks of four bits. The layouts are those of ggml-quants and of mlas_q4.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/packed_numbers.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// Element `place` (0 .. elements - 1) of the block whose first byte is at `start`, as f32.
using Decoder = std::function<Scalar(const PackedBytes& bytes, const Scalar& start, const Scalar& place)>;

/// A format by its number in GGML (ggml_type).
struct PackedFormat {
  int64_t number;
  int64_t elements;  ///< of a block
  int64_t size;      ///< of a block, in bytes
  Decoder (*decoder)(Builder& b);
};

Decoder plain_float(const FloatOfBits& kind) {
  return
      [kind](const PackedBytes& bytes, const Scalar& start, const Scalar&) { return kind.at(bytes, start); };
}
Decoder single_float(Builder& b) { return plain_float(FloatOfBits::single(b)); }
Decoder half_float(Builder& b) { return plain_float(FloatOfBits::half(b)); }
Decoder brain_float(Builder& b) { return plain_float(FloatOfBits::brain(b)); }

/// The nibble of element `place` of 32: the first 16 are in the low halves of the bytes from `from` on.
Scalar nibble_of_32(const PackedBytes& bytes, const Scalar& from, const Scalar& place) {
  return bytes.bits(from + floor_mod(place, 16), floor_div(place, 16) * 4, 4);
}

Decoder q4_0(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  return [half](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    return half.at(bytes, start) * cast(f32, nibble_of_32(bytes, start + 2, place) - 8);
  };
}

Decoder q5_0(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  return [half](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    const Scalar high = bytes.bits(start + 2 + floor_div(place, 8), floor_mod(place, 8), 1);
    const Scalar number = nibble_of_32(bytes, start + 6, place) + high * 16 - 16;
    return half.at(bytes, start) * cast(f32, number);
  };
}

Decoder q8_0(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  return [half](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    return half.at(bytes, start) * cast(f32, bytes.signed_byte(start + 2 + place));
  };
}

/// Eight groups of 32, each with a scale and a minimum of six bits; bit 4 of the numbers is apart.
Decoder q5_k(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  return [half](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    const Scalar group = floor_div(place, 32), column = floor_mod(place, 32), scales = start + 4;
    // Six bits of the groups 0 to 3 lie in bytes of their own, whose upper two belong to groups 4 to 7.
    const auto six_bits = [&](int first, int nibble) {
      const Scalar later = group >= 4, own = floor_mod(group, 4);
      const Scalar rest = bytes.bits(scales + first + own, select(later, own * 0 + 6, own * 0), 6);
      const Scalar low = bytes.bits(scales + 8 + own, nibble, 4);
      return cast(f32, select(later, low + rest * 16, rest));
    };
    const Scalar low = bytes.bits(start + 48 + floor_div(group, 2) * 32 + column, floor_mod(group, 2) * 4, 4);
    const Scalar number = low + bytes.bits(start + 16 + column, group, 1) * 16;
    return half.at(bytes, start) * six_bits(0, 0) * cast(f32, number) -
           half.at(bytes, start + 2) * six_bits(4, 4);
  };
}

/// Two halves of 128; each has four columns of 32, whose numbers have four bits in one place and two in
/// another, and eight scales of 16 numbers.
Decoder q6_k(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  return [half](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    const Scalar side = floor_div(place, 128), part = floor_mod(floor_div(place, 32), 4);
    const Scalar column = floor_mod(place, 32);
    const Scalar low =
        bytes.bits(start + side * 64 + floor_mod(part, 2) * 32 + column, floor_div(part, 2) * 4, 4);
    const Scalar high = bytes.bits(start + 128 + side * 32 + column, part * 2, 2);
    const Scalar scale = bytes.signed_byte(start + 192 + floor_div(place, 16));
    return half.at(bytes, start + 208) * cast(f32, scale) * cast(f32, low + high * 16 - 32);
  };
}

/// The 16 numbers of GGML's non-linear nibbles.
ConstantTable non_linear(Builder& b) {
  return {b, f32,
          std::vector<double>{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}};
}

Decoder iq4_nl(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  const ConstantTable numbers = non_linear(b);
  return [half, numbers](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    return half.at(bytes, start) * numbers.at(nibble_of_32(bytes, start + 2, place));
  };
}

/// Eight groups of 32, each with a scale of six bits, two of which are apart.
Decoder iq4_xs(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  const ConstantTable numbers = non_linear(b);
  return [half, numbers](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    const Scalar group = floor_div(place, 32);
    const Scalar high = bytes.bits(start + 2 + floor_div(group, 4), floor_mod(group, 4) * 2, 2);
    const Scalar low = bytes.bits(start + 4 + floor_div(group, 2), floor_mod(group, 2) * 4, 4);
    const Scalar number = numbers.at(nibble_of_32(bytes, start + 8 + group * 16, floor_mod(place, 32)));
    return half.at(bytes, start) * cast(f32, low + high * 16 - 32) * number;
  };
}

Decoder q2_0(Builder& b) {
  const FloatOfBits half = FloatOfBits::half(b);
  return [half](const PackedBytes& bytes, const Scalar& start, const Scalar& place) {
    const Scalar number = bytes.bits(start + 2 + floor_div(place, 4), floor_mod(place, 4) * 2, 2);
    return half.at(bytes, start) * cast(f32, number - 1);
  };
}

constexpr PackedFormat formats[] = {
    {0, 1, 4, single_float}, {1, 1, 2, half_float},   {2, 32, 18, q4_0},    {6, 32, 22, q5_0},
    {8, 32, 34, q8_0},       {13, 256, 176, q5_k},    {14, 256, 210, q6_k}, {20, 32, 18, iq4_nl},
    {23, 256, 136, iq4_xs},  {30, 1, 2, brain_float}, {42, 64, 18, q2_0},
};

/// Rows of K numbers, from a table of bytes [rows, bytes of a row]; an index out of range is row 0.
void gather_packed(const OperatorContext& context, Builder& b) {
  const int64_t number = bounded_integer(context, "packed_type", -1, 0, int64_t{1} << 30);
  const auto* format = std::find_if(std::begin(formats), std::end(formats),
                                    [&](const PackedFormat& f) { return f.number == number; });
  if (format == std::end(formats)) context.unsupported(fmt::format("packed_type {}", number));
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
