#include "ir/isa/evaluate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ir/error.h"
#include "ir/isa/float_rules.h"

namespace axrun::ir::isa {
namespace {

using Wide = __int128;

uint64_t load(const Bytes& bytes, Lane lane, int index) {
  if (lane == Lane::bit) return bytes[index / 8] >> (index % 8) & 1;
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * bits_of(lane) / 8, bits_of(lane) / 8);
  return value;
}

void store(Bytes& bytes, Lane lane, int index, uint64_t value) {
  if (lane == Lane::bit)
    bytes[index / 8] =
        static_cast<uint8_t>((bytes[index / 8] & ~(1U << (index % 8))) | ((value & 1) << (index % 8)));
  else
    std::memcpy(bytes.data() + index * bits_of(lane) / 8, &value, bits_of(lane) / 8);
}

Wide wrapped(Wide value, Lane to) {
  const int bits = bits_of(to);
  const uint64_t low = static_cast<uint64_t>(value) << (64 - bits);
  return is_signed(to) ? static_cast<Wide>(static_cast<int64_t>(low) >> (64 - bits))
                       : static_cast<Wide>(low >> (64 - bits));
}

Wide saturated(Wide value, Lane to) {
  const Wide one = 1;
  const int bits = bits_of(to);
  return is_signed(to) ? std::clamp(value, -(one << (bits - 1)), (one << (bits - 1)) - 1)
                       : std::clamp<Wide>(value, 0, (one << bits) - 1);
}

Wide floor_divide(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Lane lane_of(Type type) {
  switch (type) {
    case Type::f16:
      return Lane::f16;
    case Type::bf16:
      return Lane::bf16;
    case Type::f32:
      return Lane::f32;
    case Type::f64:
      return Lane::f64;
    default:
      break;
  }
  AXRUN_ASSERT(false);
}

class Evaluator {
 public:
  Evaluator(const Row& row, Width width, const Inputs& inputs, int memory_operand, Outputs& outputs)
      : row_(row), inputs_(inputs), memory_operand_(memory_operand), outputs_(outputs) {
    lanes_ = lane_count(row, row.operands[row.destination], width);
  }

  Wide lane(int lane) {
    lane_ = lane;
    return value(static_cast<int>(row_.result.size()) - 1);
  }

 private:
  /// Integers as they are, truth values as 0 or 1, floats as their bits.
  Wide value(int index) {
    const Node& node = row_.result[index];
    const auto argument = [&](int k) { return value(node.arguments[k]); };
    switch (node.op) {
      case Op::constant:
        return static_cast<Wide>(node.value);
      case Op::lane:
        return lane_;
      case Op::lanes:
        return lanes_;
      case Op::variable:
        return variable_;
      case Op::immediate:
        return inputs_.immediate;
      case Op::read:
        return read(node);
      case Op::sum: {
        Wide total = 0;
        for (uint64_t k = 0; k < node.value; ++k) {
          variable_ = static_cast<int>(k);
          total += argument(0);
        }
        return total;
      }
      case Op::select:
        return argument(argument(0) != 0 ? 1 : 2);
      case Op::logical_and:
        return argument(0) != 0 && argument(1) != 0;
      case Op::logical_or:
        return argument(0) != 0 || argument(1) != 0;
      case Op::logical_not:
        return argument(0) == 0;
      case Op::wrap:
        return wrapped(argument(0), node.to);
      case Op::saturate:
        return saturated(argument(0), node.to);
      case Op::complement:
        return ~argument(0);
      case Op::absolute:
        return argument(0) < 0 ? -argument(0) : argument(0);
      case Op::from_bits:
        return argument(0);
      default:
        break;
    }
    const Type type = row_.result[node.arguments[0]].type;
    return type == Type::integer ? of_integers(node) : of_floats(node, lane_of(type));
  }

  Wide read(const Node& node) {
    const Operand& operand = row_.operands[node.value];
    const int index = static_cast<int>(value(node.arguments[0]));
    if (static_cast<int>(node.value) == memory_operand_) {
      const int bytes = bits_of(operand.lane) / 8;
      std::fill_n(outputs_.accessed.begin() + index * bytes, bytes, true);
    }
    const uint64_t bits = load(inputs_.bytes[node.value], operand.lane, index);
    return type_of(operand.lane) == Type::integer ? wrapped(static_cast<Wide>(bits), operand.lane)
                                                  : static_cast<Wide>(bits);
  }

  Wide of_integers(const Node& node) {
    const Wide a = value(node.arguments[0]);
    if (node.op == Op::convert) return integer_to_float(a, node.to);
    const Wide b = value(node.arguments[1]);
    switch (node.op) {
      case Op::add:
        return a + b;
      case Op::subtract:
        return a - b;
      case Op::multiply:
        return a * b;
      case Op::divide:
        return floor_divide(a, b);
      case Op::modulo:
        return a - floor_divide(a, b) * b;
      case Op::shift_left:
        return a * (static_cast<Wide>(1) << static_cast<int>(b));
      case Op::shift_right:
        return a >> static_cast<int>(std::min<Wide>(b, 126));
      case Op::bit_and:
        return a & b;
      case Op::bit_or:
        return a | b;
      case Op::bit_xor:
        return a ^ b;
      case Op::minimum:
        return std::min(a, b);
      case Op::maximum:
        return std::max(a, b);
      case Op::less:
        return a < b;
      case Op::less_equal:
        return a <= b;
      case Op::equal:
        return a == b;
      case Op::not_equal:
        return a != b;
      default:
        break;
    }
    AXRUN_ASSERT(false);
  }

  Wide of_floats(const Node& node, Lane lane) {
    const auto argument = [&](int k) {
      return node.arguments[k] < 0 ? uint64_t{0} : static_cast<uint64_t>(value(node.arguments[k]));
    };
    const uint64_t a = argument(0);
    switch (node.op) {
      case Op::bits:
        return a;
      case Op::denormal_as_zero:
        return denormal_as_zero(lane, a);
      case Op::near:
        return float_to_integer(lane, a, node.to, true);
      case Op::truncate:
        return float_to_integer(lane, a, node.to, false);
      case Op::convert:
        return convert_float(lane, a, node.to);
      case Op::round:
        return round_to_integral(lane, a, static_cast<int>(argument(1)));
      case Op::narrow:
        return narrow_to_f16(a, static_cast<int>(argument(1)));
      case Op::within:
        outputs_.bounds[lane_] = {
            value_of(lane, a), std::ldexp(static_cast<double>(argument(1)), -static_cast<int>(argument(2)))};
        return 0;
      case Op::less:
      case Op::less_equal:
      case Op::equal:
      case Op::not_equal:
      case Op::unordered:
        return float_comparison(node.op, lane, a, argument(1));
      default:
        return float_arithmetic(node.op, lane, a, argument(1), argument(2));
    }
  }

  const Row& row_;
  const Inputs& inputs_;
  int memory_operand_;
  Outputs& outputs_;
  int lanes_;
  int lane_ = 0;
  int variable_ = 0;
};

bool within_bound(const Bound& bound, float observed) {
  const double distance = std::fabs(static_cast<double>(observed) - bound.center);
  if (distance <= bound.error * std::fabs(bound.center)) return true;
  // A result that is, or may round to, a denormal may also come out as zero.
  const double smallest_normal = std::ldexp(1.0, -126);
  return std::fabs(bound.center) < smallest_normal * (1 + bound.error) && observed == 0 &&
         std::signbit(observed) == std::signbit(bound.center);
}

}  // namespace

Outputs evaluate(const Row& row, Width width, const Inputs& inputs, bool destination_in_memory,
                 int memory_operand) {
  const Operand& destination = row.operands[row.destination];
  const int lanes = lane_count(row, destination, width);
  Outputs outputs;
  outputs.bounds.resize(lanes);
  outputs.accessed.resize(64);
  const bool is_vector = destination.place == Place::vector || destination.place == Place::low;
  if (destination_in_memory || (is_vector && row.encoding == Encoding::legacy))
    outputs.destination = inputs.bytes[row.destination];
  Evaluator evaluator(row, width, inputs, memory_operand, outputs);
  for (int lane = 0; lane < lanes; ++lane)
    store(outputs.destination, destination.lane, lane, static_cast<uint64_t>(evaluator.lane(lane)));
  return outputs;
}

bool allows(const Row& row, Width width, const Outputs& expected, const Bytes& observed) {
  const Lane type = row.operands[row.destination].lane;
  const int lanes = lane_count(row, row.operands[row.destination], width);
  Bytes adjusted = expected.destination;
  for (int lane = 0; lane < lanes && type != Lane::bit; ++lane) {
    const uint64_t seen = load(observed, type, lane);
    const uint64_t wanted = load(adjusted, type, lane);
    const bool accepted =
        expected.bounds[lane]
            ? within_bound(*expected.bounds[lane], std::bit_cast<float>(static_cast<uint32_t>(seen)))
            : row.any_nan && is_float(type) && is_nan(type, seen) && is_nan(type, wanted);
    if (accepted) store(adjusted, type, lane, seen);
  }
  return adjusted == observed;
}

}  // namespace axrun::ir::isa
