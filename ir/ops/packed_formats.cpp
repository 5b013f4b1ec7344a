// GGML's formats (ggml-quants), as far as GatherPacked has them.
#include "ir/ops/packed_formats.h"

#include <algorithm>

#include "ir/lasting.h"
#include "ir/ops/packed_grids.h"

namespace axrun::ir {

Scalar nibble_of_32(const PackedBytes& bytes, const Scalar& place, const Scalar& from) {
  return bytes.bits(floor_mod(place, 16) + from, floor_div(place, 16) * 4, 4);
}
Scalar nibble_of_32(const PackedBytes& bytes, const Scalar& place, int64_t from) {
  return nibble_of_32(bytes, place, place.builder().integer(from));
}

namespace {

using enum ElementType;

Decoder plain_float(const FloatOfBits& kind) {
  return [kind](const PackedBlock& block, const Scalar&) { return kind.at(block.bytes, 0); };
}
Decoder single_float(Builder& b) { return plain_float(FloatOfBits::single(b)); }
Decoder half_float(Builder& b) { return plain_float(FloatOfBits::half(b)); }
Decoder brain_float(Builder& b) { return plain_float(FloatOfBits::brain(b)); }

Decoder q4_0(Builder&) {
  return [](const PackedBlock& block, const Scalar& place) {
    return block.scale(0) * cast(f32, nibble_of_32(block.bytes, place, 2) - 8);
  };
}

Decoder q5_0(Builder&) {
  return [](const PackedBlock& block, const Scalar& place) {
    const Scalar high = block.bytes.bits(floor_div(place, 8) + 2, floor_mod(place, 8), 1);
    const Scalar number = nibble_of_32(block.bytes, place, 6) + high * 16 - 16;
    return block.scale(0) * cast(f32, number);
  };
}

Decoder q8_0(Builder&) {
  return [](const PackedBlock& block, const Scalar& place) {
    return block.scale(0) * cast(f32, block.bytes.signed_byte(place + 2));
  };
}

/// Eight groups of 32, each with a scale and a minimum of six bits; bit 4 of the numbers is apart.
Decoder q5_k(Builder&) {
  return [](const PackedBlock& block, const Scalar& place) {
    const Scalar group = floor_div(place, 32), column = floor_mod(place, 32);
    // Six bits of the groups 0 to 3 lie in bytes of their own, whose upper two belong to groups 4 to 7.
    const auto six_bits = [&](int first, int nibble) {
      const Scalar later = group >= 4, own = floor_mod(group, 4);
      const Scalar rest = block.bytes.bits(own + 4 + first, select(later, own * 0 + 6, own * 0), 6);
      const Scalar low = block.bytes.bits(own + 12, nibble, 4);
      return cast(f32, select(later, low + rest * 16, rest));
    };
    const Scalar low = block.bytes.bits(floor_div(group, 2) * 32 + column + 48, floor_mod(group, 2) * 4, 4);
    const Scalar number = low + block.bytes.bits(column + 16, group, 1) * 16;
    return block.scale(0) * six_bits(0, 0) * cast(f32, number) - block.scale(1) * six_bits(4, 4);
  };
}

/// Two halves of 128; each has four columns of 32, whose numbers have four bits in one place and two in
/// another, and eight scales of 16 numbers.
Decoder q6_k(Builder&) {
  return [](const PackedBlock& block, const Scalar& place) {
    const Scalar side = floor_div(place, 128), part = floor_mod(floor_div(place, 32), 4);
    const Scalar column = floor_mod(place, 32);
    const Scalar low =
        block.bytes.bits(side * 64 + floor_mod(part, 2) * 32 + column, floor_div(part, 2) * 4, 4);
    const Scalar high = block.bytes.bits(side * 32 + column + 128, part * 2, 2);
    const Scalar scale = block.bytes.signed_byte(floor_div(place, 16) + 192);
    return block.scale(0) * cast(f32, scale) * cast(f32, low + high * 16 - 32);
  };
}

/// The 16 numbers of GGML's non-linear nibbles.
ConstantTable non_linear(Builder& b) {
  return {b, f32,
          std::vector<double>{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}};
}

Decoder iq4_nl(Builder& b) {
  const ConstantTable numbers = non_linear(b);
  return [numbers](const PackedBlock& block, const Scalar& place) {
    return block.scale(0) * numbers.at(nibble_of_32(block.bytes, place, 2));
  };
}

/// Eight groups of 32, each with a scale of six bits, two of which are apart.
Decoder iq4_xs(Builder& b) {
  const ConstantTable numbers = non_linear(b);
  return [numbers](const PackedBlock& block, const Scalar& place) {
    const Scalar group = floor_div(place, 32);
    const Scalar high = block.bytes.bits(floor_div(group, 4) + 2, floor_mod(group, 4) * 2, 2);
    const Scalar low = block.bytes.bits(floor_div(group, 2) + 4, floor_mod(group, 2) * 4, 4);
    const Scalar number = numbers.at(nibble_of_32(block.bytes, floor_mod(place, 32), group * 16 + 8));
    return block.scale(0) * cast(f32, low + high * 16 - 32) * number;
  };
}

Decoder q2_0(Builder&) {
  return [](const PackedBlock& block, const Scalar& place) {
    const Scalar number = block.bytes.bits(floor_div(place, 4) + 2, floor_mod(place, 4) * 2, 2);
    return block.scale(0) * cast(f32, number - 1);
  };
}

/// Points of a grid, whose coordinates have `count` bits each, and what these say.
class Grid {
 public:
  template <size_t size>
  Grid(Builder& b, const std::array<uint16_t, size>& points, const std::vector<double>& levels, int count)
      : points_(b, u16, std::vector<int64_t>(points.begin(), points.end())),
        levels_(b, f32, levels),
        count_(count) {}

  Scalar at(const Scalar& point, const Scalar& coordinate) const {
    const Scalar low = binary(ScalarOp::shift_right, points_.at(point), cast(u16, coordinate * count_));
    const Scalar mask = point.builder().integer((int64_t{1} << count_) - 1, u16);
    return levels_.at(cast(i64, binary(ScalarOp::bit_and, low, mask)));
  }

 private:
  ConstantTable points_;
  ConstantTable levels_;
  int count_;
};

const std::vector<double>& levels_of_iq2() {
  static const auto& levels = lasting<std::vector<double>>({8, 25, 43, 43});
  return levels;
}

/// Where an element of a block of 256 is: in which group of 32, which run of 8 there, and its place in it.
struct GridPlace {
  explicit GridPlace(const Scalar& place)
      : group(floor_div(place, 32)),
        run(floor_mod(floor_div(place, 8), 4)),
        coordinate(floor_mod(place, 8)) {}
  Scalar group, run, coordinate;
};

/// Seven bits say the signs of eight numbers, of which an even number is negative.
Scalar with_sign_of_seven(const Scalar& bits, const Scalar& coordinate, const Scalar& value) {
  const auto bit = [&](int k) { return floor_mod(floor_div(bits, int64_t{1} << k), 2); };
  Scalar ones = bit(0), own = bit(6);
  for (int k = 1; k < 7; ++k) ones = ones + bit(k);
  for (int k = 6; k-- > 0;) own = select(coordinate == k, bit(k), own);
  own = select(coordinate == 7, floor_mod(ones, 2), own);
  return select(own == 1, -value, value);
}

/// Bits 7 run .. 7 run + 6 of the bytes from `from` on.
Scalar seven_bits(const PackedBytes& bytes, const Scalar& from, const Scalar& run) {
  const Scalar first = from + floor_div(run * 7, 8);
  const Scalar both = bytes.byte(first) + bytes.byte(first + 1) * 256;
  const Scalar shifted = select(
      run == 0, both,
      select(run == 1, floor_div(both, 128), select(run == 2, floor_div(both, 64), floor_div(both, 32))));
  return floor_mod(shifted, 128);
}

Decoder iq2_xxs(Builder& b) {
  const Grid grid(b, iq2_xxs_grid, levels_of_iq2(), 2);
  return [grid](const PackedBlock& block, const Scalar& place) {
    const GridPlace at(place);
    const Scalar own = at.group * 8 + 2;
    const Scalar number = grid.at(block.bytes.byte(own + at.run), at.coordinate);
    const Scalar scale = block.scale(0) * (cast(f32, block.bytes.bits(own + 7, 4, 4)) + 0.5) * 0.25;
    return scale * with_sign_of_seven(seven_bits(block.bytes, own + 4, at.run), at.coordinate, number);
  };
}

Decoder iq2_xs(Builder& b) {
  const Grid grid(b, iq2_xs_grid, levels_of_iq2(), 2);
  return [grid](const PackedBlock& block, const Scalar& place) {
    const GridPlace at(place);
    const Scalar own = at.group * 8 + at.run * 2 + 2;
    const Scalar number =
        grid.at(block.bytes.byte(own) + block.bytes.bits(own + 1, 0, 1) * 256, at.coordinate);
    const Scalar four = block.bytes.bits(at.group + 66, floor_div(at.run, 2) * 4, 4);
    const Scalar scale = block.scale(0) * (cast(f32, four) + 0.5) * 0.25;
    return scale * with_sign_of_seven(block.bytes.bits(own + 1, 1, 7), at.coordinate, number);
  };
}

Decoder iq2_s(Builder& b) {
  const Grid grid(b, iq2_s_grid, levels_of_iq2(), 2);
  return [grid](const PackedBlock& block, const Scalar& place) {
    const GridPlace at(place);
    const Scalar own = at.group * 4 + at.run + 2;
    const Scalar high = block.bytes.bits(at.group + 66, at.run * 2, 2);
    const Scalar number = grid.at(block.bytes.byte(own) + high * 256, at.coordinate);
    const Scalar four = block.bytes.bits(at.group + 74, floor_div(at.run, 2) * 4, 4);
    const Scalar scale = block.scale(0) * (cast(f32, four) + 0.5) * 0.25;
    return scale * select(block.bytes.bits(own + 32, at.coordinate, 1) == 1, -number, number);
  };
}

Decoder iq3_xxs(Builder& b) {
  const Grid grid(b, iq3_xxs_grid, {4, 12, 20, 28, 36, 44, 52, 62}, 3);
  return [grid](const PackedBlock& block, const Scalar& place) {
    const GridPlace at(place);
    const Scalar point = block.bytes.byte(floor_div(place, 4) + 2), own = at.group * 4 + 66;
    const Scalar number = grid.at(point, floor_mod(place, 4));
    const Scalar scale = block.scale(0) * (cast(f32, block.bytes.bits(own + 3, 4, 4)) + 0.5) * 0.5;
    return scale * with_sign_of_seven(seven_bits(block.bytes, own, at.run), at.coordinate, number);
  };
}

constexpr PackedFormat formats[] = {
    {0, 1, 4, 0, 0, single_float}, {1, 1, 2, 0, 0, half_float},   {2, 32, 18, 1, 0, q4_0},
    {6, 32, 22, 1, 0, q5_0},       {8, 32, 34, 1, 0, q8_0},       {13, 256, 176, 2, 0, q5_k},
    {14, 256, 210, 1, 208, q6_k},  {16, 256, 66, 1, 0, iq2_xxs},  {17, 256, 74, 1, 0, iq2_xs},
    {18, 256, 98, 1, 0, iq3_xxs},  {20, 32, 18, 1, 0, iq4_nl},    {22, 256, 82, 1, 0, iq2_s},
    {23, 256, 136, 1, 0, iq4_xs},  {30, 1, 2, 0, 0, brain_float}, {42, 64, 18, 1, 0, q2_0},
};

}  // namespace

const PackedFormat* find_packed_format(int64_t number) {
  const auto* found = std::find_if(std::begin(formats), std::end(formats),
                                   [&](const PackedFormat& format) { return format.number == number; });
  return found == std::end(formats) ? nullptr : found;
}

}  // namespace axrun::ir
