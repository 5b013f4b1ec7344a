#include <algorithm>

#include "ir/error.h"
#include "ir/isa/semantics.h"

namespace axrun::ir::isa {
namespace {

using Wide = __int128;
/// All values that an integer or boolean expression may have, bounds included. Floats: unused.
struct Interval {
  Wide low = 0, high = 0;
  bool constant() const { return low == high; }
};

Interval hull(std::initializer_list<Wide> values) { return {std::min(values), std::max(values)}; }

Interval range_of(Lane lane) {
  const int bits = bits_of(lane);
  const Wide one = 1;
  if (is_signed(lane)) return {-(one << (bits - 1)), (one << (bits - 1)) - 1};
  return {0, (one << bits) - 1};
}

/// The smallest 2^k - 1 that is not below the value's magnitude.
Wide all_ones_above(Wide value) {
  Wide ones = 0;
  while (ones < (value < 0 ? ~value : value)) ones = ones * 2 + 1;
  return ones;
}

/// Checks one lane of a row at one width: every index in range, every value within its type.
class LaneChecker {
 public:
  LaneChecker(const Row& row, Width width, int lane) : row_(row), width_(width), lane_(lane) {
    lanes_ = lane_count(row, row.operands[row.destination], width);
  }

  void run() {
    const Interval result = range(static_cast<int>(row_.result.size()) - 1);
    const Lane lane = row_.operands[row_.destination].lane;
    if (is_float(lane)) return;
    if (!inside(result, range_of(lane))) fail("the result may not fit into " + std::string(name_of(lane)));
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    throw Error(Fault::user, row_.name + ", width " + std::to_string(static_cast<int>(width_)) + ", lane " +
                                 std::to_string(lane_) + ": " + text);
  }

  static bool inside(Interval inner, Interval outer) {
    return inner.low >= outer.low && inner.high <= outer.high;
  }

  Interval range(int index) {
    const Interval found = unchecked(index);
    AXRUN_ASSERT(found.low <= found.high);
    return found;
  }

  Interval unchecked(int index) {
    const Node& node = row_.result[index];
    const auto argument = [&](int k) { return range(node.arguments[k]); };
    switch (node.op) {
      case Op::constant:
        return {static_cast<Wide>(node.value), static_cast<Wide>(node.value)};
      case Op::lane:
        return {lane_, lane_};
      case Op::lanes:
        return {lanes_, lanes_};
      case Op::variable:
        return {variable_, variable_};
      case Op::immediate:
        return immediate();
      case Op::read:
        return read(node);
      case Op::sum:
        return sum(node);
      case Op::select: {
        const Interval condition = argument(0);
        if (condition.constant()) return argument(condition.low != 0 ? 1 : 2);
        const Interval yes = argument(1), no = argument(2);
        return {std::min(yes.low, no.low), std::max(yes.high, no.high)};
      }
      case Op::wrap: {
        const Interval value = argument(0), type = range_of(node.to);
        return inside(value, type) ? value : type;
      }
      case Op::saturate: {
        const Interval value = argument(0), type = range_of(node.to);
        return {std::clamp(value.low, type.low, type.high), std::clamp(value.high, type.low, type.high)};
      }
      case Op::near:
      case Op::truncate:
        argument(0);
        return range_of(node.to);
      case Op::bits: {
        argument(0);
        const Type type = row_.result[node.arguments[0]].type;
        return range_of(type == Type::f64 ? Lane::u64 : type == Type::f32 ? Lane::u32 : Lane::u16);
      }
      case Op::from_bits:
        if (const Wide bits = bits_of(node.to); !inside(argument(0), {0, (static_cast<Wide>(1) << bits) - 1}))
          fail("a bit pattern may not fit its type");
        return {};
      case Op::logical_and: {
        const Interval left = argument(0);
        if (left.constant() && left.low == 0) return left;
        const Interval right = argument(1);
        return {std::min(left.low, right.low), std::min(left.high, right.high)};
      }
      case Op::logical_or: {
        const Interval left = argument(0), right = argument(1);
        return {std::max(left.low, right.low), std::max(left.high, right.high)};
      }
      case Op::logical_not: {
        const Interval value = argument(0);
        return {1 - value.high, 1 - value.low};
      }
      case Op::round:
      case Op::narrow:
        argument(0);
        if (!inside(argument(1), {0, 3})) fail("a rounding mode is 0 to 3");
        return {};
      case Op::within:
        argument(0);
        if (!argument(1).constant() || !argument(2).constant()) fail("an error bound is a constant");
        return {};
      default:
        break;
    }
    if (node.type != Type::integer && node.type != Type::boolean) {
      for (int child : node.arguments)
        if (child >= 0) range(child);
      return {};
    }
    if (row_.result[node.arguments[0]].type != Type::integer) {  // a comparison of floats
      argument(0);
      argument(1);
      return {0, 1};
    }
    return arithmetic(node.op, argument(0), node.arguments[1] >= 0 ? argument(1) : Interval{});
  }

  Interval immediate() const {
    const int index = row_.find(Place::immediate);
    if (immediate_ >= 0) return {immediate_, immediate_};
    return {static_cast<Wide>(row_.operands[index].lowest), static_cast<Wide>(row_.operands[index].highest)};
  }

  Interval read(const Node& node) {
    const Operand& operand = row_.operands[node.value];
    const Interval index = range(node.arguments[0]);
    if (!inside(index, {0, lane_count(row_, operand, width_) - 1}))
      fail("a lane of " + operand.name + " may be out of range");
    return is_float(operand.lane) ? Interval{} : range_of(operand.lane);
  }

  Interval sum(const Node& node) {
    Interval all;
    for (uint64_t k = 0; k < node.value; ++k) {
      variable_ = static_cast<int>(k);
      const Interval term = range(node.arguments[0]);
      all = {total(all.low, term.low), total(all.high, term.high)};
    }
    return all;
  }

  Wide checked(bool overflow, Wide value) const {
    if (overflow) fail("an integer has more than 127 bits");
    return value;
  }
  Wide product(Wide a, Wide b) const {
    Wide result;
    const bool overflow = __builtin_mul_overflow(a, b, &result);
    return checked(overflow, result);
  }
  Wide total(Wide a, Wide b) const {
    Wide result;
    const bool overflow = __builtin_add_overflow(a, b, &result);
    return checked(overflow, result);
  }

  Interval arithmetic(Op op, Interval a, Interval b) const {
    switch (op) {
      case Op::add:
        return {total(a.low, b.low), total(a.high, b.high)};
      case Op::subtract:
        return {total(a.low, -b.high), total(a.high, -b.low)};
      case Op::multiply:
        return hull(
            {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low), product(a.high, b.high)});
      case Op::divide:
      case Op::modulo:
        if (!b.constant() || b.low <= 0) fail("a divisor is a positive constant");
        if (op == Op::divide) return {floor_divide(a.low, b.low), floor_divide(a.high, b.low)};
        if (a.constant())
          return {a.low - floor_divide(a.low, b.low) * b.low, a.low - floor_divide(a.low, b.low) * b.low};
        return {0, b.low - 1};
      case Op::shift_left: {
        if (b.low < 0 || b.high > 126) fail("a shift is by 0 to 126");
        const Wide one = 1;
        return hull({product(a.low, one << b.low), product(a.low, one << b.high),
                     product(a.high, one << b.low), product(a.high, one << b.high)});
      }
      case Op::shift_right: {
        if (b.low < 0) fail("a shift is not negative");
        const int least = static_cast<int>(std::min<Wide>(b.low, 126)),
                  most = static_cast<int>(std::min<Wide>(b.high, 126));
        return hull({a.low >> least, a.low >> most, a.high >> least, a.high >> most});
      }
      case Op::bit_and:
        if (a.constant() && b.constant()) return {a.low & b.low, a.low & b.low};
        if (a.low >= 0 && b.low >= 0) return {0, std::min(a.high, b.high)};
        if (a.low >= 0) return {0, a.high};
        if (b.low >= 0) return {0, b.high};
        return any_bits(a, b);
      case Op::bit_or:
        if (a.constant() && b.constant()) return {a.low | b.low, a.low | b.low};
        return any_bits(a, b);
      case Op::bit_xor:
        if (a.constant() && b.constant()) return {a.low ^ b.low, a.low ^ b.low};
        return any_bits(a, b);
      case Op::complement:
        return {~a.high, ~a.low};
      case Op::minimum:
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      case Op::maximum:
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
      case Op::absolute:
        if (a.low >= 0) return a;
        return {a.high <= 0 ? -a.high : 0, std::max(-a.low, a.high)};
      case Op::less:
        return decided(a.high < b.low, a.low >= b.high);
      case Op::less_equal:
        return decided(a.high <= b.low, a.low > b.high);
      case Op::equal:
        return decided(a.constant() && b.constant() && a.low == b.low, a.high < b.low || b.high < a.low);
      case Op::not_equal:
        return decided(a.high < b.low || b.high < a.low, a.constant() && b.constant() && a.low == b.low);
      default:
        break;
    }
    AXRUN_ASSERT(false);
  }

  static Interval decided(bool surely, bool never) {
    return surely ? Interval{1, 1} : Interval{0, never ? 0 : 1};
  }

  static Wide floor_divide(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

  static Interval any_bits(Interval a, Interval b) {
    const Wide ones = std::max(
        {all_ones_above(a.low), all_ones_above(a.high), all_ones_above(b.low), all_ones_above(b.high)});
    return {a.low < 0 || b.low < 0 ? -ones - 1 : 0, ones};
  }

  const Row& row_;
  Width width_;
  int lane_;
  int lanes_;
  int variable_ = 0;

 public:
  int immediate_ = -1;
};

[[noreturn]] void fail(const Row& row, const std::string& text) {
  throw Error(Fault::user, row.name + ": " + text);
}

void check_operands(const Row& row) {
  int immediates = 0, written = 0, memories = 0;
  for (const Operand& operand : row.operands) {
    immediates += operand.place == Place::immediate;
    written += operand.written;
    memories += operand.may_be_memory;
    const bool is_mask = operand.place == Place::mask || operand.place == Place::write_mask;
    // Moves of masks have their bits elsewhere.
    const bool may_hold_bits = is_mask || operand.place == Place::general ||
                               (operand.place == Place::low && !operand.may_be_register);
    if (is_mask ? operand.lane != Lane::bit : operand.lane == Lane::bit && !may_hold_bits)
      fail(row, "lanes of masks are bits, those of vector registers are not");
    if (operand.place == Place::write_mask && row.encoding != Encoding::evex)
      fail(row, "only EVEX has write masks");
    if (operand.repeated && (row.encoding != Encoding::evex || operand.bits != bits_of(operand.lane)))
      fail(row, "only EVEX repeats, and one lane");
    if (operand.place == Place::low && operand.bits % bits_of(operand.lane) != 0)
      fail(row, "a lane does not fit");
    if (operand.place == Place::general && operand.bits != 32 && operand.bits != 64)
      fail(row, "a general register has 32 or 64 bits");
  }
  if (written != 1) fail(row, "one operand is written");
  if (immediates > 1) fail(row, "there is one immediate");
  if (memories > 1) fail(row, "one operand may be in memory");
  if (row.broadcastable && (row.encoding != Encoding::evex || memories == 0))
    fail(row, "only EVEX repeats a lane, and of memory");
  if (row.maskable && row.encoding != Encoding::evex) fail(row, "only EVEX has write masks");
  if (row.find(Place::immediate) >= 0 && row.operands[row.find(Place::immediate)].highest > 255)
    fail(row, "an immediate has 8 bits");
}

/// within() is a statement about the result, so it stands only where the result does.
void check_bounds_on_top(const Row& row, int index, bool on_top) {
  const Node& node = row.result[index];
  if (node.op == Op::within && !on_top) fail(row, "within is used inside of an expression");
  for (int k = 0; k < 3; ++k)
    if (node.arguments[k] >= 0)
      check_bounds_on_top(row, node.arguments[k], on_top && node.op == Op::select && k > 0);
}

}  // namespace

void check(const Row& row) {
  check_operands(row);
  check_bounds_on_top(row, static_cast<int>(row.result.size()) - 1, true);
  const std::vector<Width> widths = row.widths();
  if (widths.empty()) fail(row, "it has no width");
  for (Width width : widths) {
    if (row.encoding == Encoding::legacy && width != Width::x) fail(row, "legacy instructions have width x");
    const int lanes = lane_count(row, row.operands[row.destination], width);
    const int immediate = row.find(Place::immediate);
    const int lowest = immediate < 0 ? -1 : static_cast<int>(row.operands[immediate].lowest);
    const int highest = immediate < 0 ? -1 : static_cast<int>(row.operands[immediate].highest);
    for (int lane = 0; lane < lanes; ++lane)
      for (int value = lowest; value <= highest; ++value) {
        LaneChecker checker(row, width, lane);
        checker.immediate_ = value;
        checker.run();
      }
  }
}

}  // namespace axrun::ir::isa
