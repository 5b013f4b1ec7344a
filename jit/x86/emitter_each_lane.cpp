// Indices of which each lane has its own: quotients, remainders, minima and maxima of the vector loop's
// variable.
#include <algorithm>
#include <bit>

#include "jit/x86/emitter.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using ir::Dim;
using ir::lane::Opcode;

/// Its value in every lane, where that is known.
std::optional<std::vector<int64_t>> PhaseEmitter::literal_lanes(const Dim& dim) const {
  std::vector<int64_t> literals;
  for (int lane = 0; lane < lanes_.count(); ++lane) {
    const Dim place(lane_->chunk * lanes_.count() + lane);
    const auto here = dim.substitute({{lane_->variable, place}}).constant();
    if (!here) return std::nullopt;
    literals.push_back(*here);
  }
  return literals;
}

/// Elements of at most 32 bits at known places near each other: out of the one or two vectors that begin with
/// the first.
std::optional<LaneValue> PhaseEmitter::load_close(const ir::loop::Buffer& of, const Address& address,
                                                  const Selection& lanes) {
  const Form form = form_of(of.type);
  if ((form != Form::f32 && form != Form::i32) || !lanes.bits || *lanes.bits == 0) return std::nullopt;
  const auto literals = literal_lanes(address.each_lane);
  if (!literals) return std::nullopt;
  const auto count = static_cast<size_t>(lanes_.count());
  const auto is_read = [&](size_t lane) { return (*lanes.bits >> lane & 1) != 0; };
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (size_t lane = 0; lane < count; ++lane) {
    if (!is_read(lane)) continue;
    low = std::min(low, (*literals)[lane]);
    high = std::max(high, (*literals)[lane]);
  }
  const int64_t reach = high - low + 1;
  if (reach > 2 * lanes_.count()) return std::nullopt;
  std::vector<uint32_t> places;
  for (size_t lane = 0; lane < count; ++lane)
    places.push_back(is_read(lane) ? static_cast<uint32_t>((*literals)[lane] - low) : 0);
  std::vector<LaneValue> parts;
  for (int64_t begin = 0; begin < reach; begin += lanes_.count()) {
    Address part = address;
    part.each_lane = Dim(0);
    part.lane_step = Dim(1);
    part.displacement += low + begin;
    Selection some;
    const int64_t rest = std::min<int64_t>(reach - begin, lanes_.count());
    some.bits = (uint32_t{1} << rest) - 1;
    if (rest < lanes_.count()) some.mask = literal_mask(*some.bits);
    some.name = "lanes " + std::to_string(*some.bits);
    parts.push_back(kept(load_key(part, some.name), [&] { return load_selected(of, part, some); }));
  }
  std::string name = "places";
  for (const uint32_t place : places) name += " " + std::to_string(place);
  const LaneValue order = kept(name, [&] { return lanes_.literals(places); });
  return lanes_.pick(parts.front(), parts.back(), order, places);
}

/// As integers of 32 bits, which hold it for every lane that exists; in others it is anything.
LaneValue PhaseEmitter::each_lane(const Dim& dim) {
  if (const auto literals = literal_lanes(dim))
    return lanes_.literals(std::vector<uint32_t>(literals->begin(), literals->end()));
  return kept("each lane's " + dim.to_string() + " of " + std::to_string(lane_->chunk), [&] {
    LaneValue sum;
    Dim same;  // for all lanes
    for (const Monomial& monomial : monomials(dim)) {
      if (!mentions(to_dim(monomial), lane_->variable)) {
        same = same + to_dim(monomial);
        continue;
      }
      LaneValue product;
      Dim factor(monomial.coefficient);
      for (const Dim& atom : monomial.factors) {
        if (!mentions(atom, lane_->variable)) {
          factor = factor * atom;
        } else {
          const LaneValue value = each_lanes_atom(atom);
          product = product.defined() ? lanes_.apply(Opcode::i32_mul, {product, value, {}}) : value;
        }
      }
      if (factor != Dim(1)) product = lanes_.apply(Opcode::i32_mul, {product, for_all_lanes(factor), {}});
      sum = sum.defined() ? lanes_.apply(Opcode::i32_add, {sum, product, {}}) : product;
    }
    if (same == Dim(0)) return sum;
    return lanes_.apply(Opcode::i32_add, {sum, for_all_lanes(same), {}});
  });
}

LaneValue PhaseEmitter::for_all_lanes(const Dim& dim) {
  if (dim.is_constant()) return lanes_.constant(static_cast<uint32_t>(dim.value()));
  return lanes_.broadcast(integers_.value(dim));
}

LaneValue PhaseEmitter::each_lanes_atom(const Dim& factor) {
  const Atom atom = atom_of(factor);
  switch (atom.kind) {
    case Atom::Kind::name: {
      const auto first = static_cast<uint32_t>(lane_->chunk * lanes_.count());
      return lanes_.apply(Opcode::i32_add, {LaneValue::of(lanes_.iota()), lanes_.constant(first), {}});
    }
    case Atom::Kind::floor_div:
      return each_lanes_quotient(atom.arguments[0], atom.arguments[1]);
    case Atom::Kind::floor_mod: {
      const LaneValue quotient = each_lanes_quotient(atom.arguments[0], atom.arguments[1]);
      const LaneValue rest = lanes_.apply(Opcode::i32_mul, {quotient, for_all_lanes(atom.arguments[1]), {}});
      return lanes_.apply(Opcode::i32_sub, {each_lane(atom.arguments[0]), rest, {}});
    }
    case Atom::Kind::min:
    case Atom::Kind::max:
      break;
  }
  LaneValue extreme;
  for (const Dim& argument : atom.arguments) {
    const LaneValue value =
        mentions(argument, lane_->variable) ? each_lane(argument) : for_all_lanes(argument);
    if (!extreme.defined()) {
      extreme = without_death(value);
      continue;
    }
    const LaneValue other = without_death(value);
    const bool least = atom.kind == Atom::Kind::min;
    const LaneValue first =
        lanes_.apply(Opcode::i32_less, {least ? extreme : other, least ? other : extreme, {}});
    extreme = without_death(lanes_.apply(Opcode::i32_select, {first, extreme, other}));
  }
  return extreme;
}

/// Rounded down, by way of floats: (n + 1/2) / c is no nearer to an integer than 1 / (2c), and with fewer
/// than 22 bits of n the product with the rounded 1 / c is off by less.
LaneValue PhaseEmitter::each_lanes_quotient(const Dim& dividend, const Dim& divisor) {
  constexpr int64_t limit = (1 << 22) - 1;
  const Interval range = facts_.range(dividend);
  const bool small = divisor.is_constant() && divisor.value() > 0 && divisor.value() < limit &&
                     range.low > -limit && range.high < limit;
  if (!small)
    refuse("the lanes' index " + floor_div(dividend, divisor).to_string() + " is no small quotient");
  return kept(
      "each lane's quotient " + dividend.to_string() + " / " + divisor.to_string() + " of " +
          std::to_string(lane_->chunk),
      [&] {
        const auto real = [&](float value) { return lanes_.constant(std::bit_cast<uint32_t>(value)); };
        LaneValue value = lanes_.apply(Opcode::i32_to_f32, {each_lane(dividend), {}, {}});
        value = lanes_.apply(Opcode::add, {value, real(0.5F), {}});
        value = lanes_.apply(Opcode::mul, {value, real(1.0F / static_cast<float>(divisor.value())), {}});
        value = lanes_.apply(Opcode::floor, {value, {}, {}});
        return lanes_.apply(Opcode::to_i32_nearest, {value, {}, {}});
      });
}

}  // namespace axrun::jit::x86
