// Loads: which lanes a guard lets through, what has been read before, lanes that lie apart.
#include <algorithm>
#include <limits>

#include "jit/x86/conditions.h"
#include "jit/x86/emitter.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::x86::Gp;
using asmjit::x86::Mem;
using ir::Dim;
using ir::ElementType;
using ir::ScalarOp;
using ir::lane::Opcode;
using ir::loop::Access;
using ir::loop::Value;

/// The lanes of the vector at hand that exist.
PhaseEmitter::Selection PhaseEmitter::present_lanes() {
  Selection selection;
  selection.bits = all_lanes();
  if (!lane_ || !lane_->mask.defined()) return selection;
  selection.mask = lane_->mask;
  selection.name = lane_->mask_name;
  selection.bits.reset();
  if (lane_->rest.is_constant()) {
    const int64_t rest = std::clamp<int64_t>(lane_->rest.value(), 0, lanes_.count());
    selection.bits = (uint32_t{1} << rest) - 1;
  }
  return selection;
}

uint32_t PhaseEmitter::all_lanes() const { return lane_ ? (uint32_t{1} << lanes_.count()) - 1 : 1; }

/// What is known of a comparison of indices, or several of them.
PhaseEmitter::Guard PhaseEmitter::known_guard(int id) const {
  const uint32_t all = all_lanes();
  const Value& v = program_.values[static_cast<size_t>(id)];
  if (v.op == ScalarOp::logical_and) {
    Guard guard = known_guard(v.args[0]);
    const Guard other = known_guard(v.args[1]);
    guard.lanes &= other.lanes;
    guard.open.insert(guard.open.end(), other.open.begin(), other.open.end());
    return guard;
  }
  if (v.op == ScalarOp::integer) return {v.integer != 0 ? all : 0, {}};
  const auto found = margin_of(program_, v);
  if (!found) return {all, {id}};
  const auto decided = [&](const Dim& margin) -> std::optional<bool> {
    if (facts_.is_nonnegative(margin)) return true;
    if (facts_.is_nonnegative(Dim(-1) - margin)) return false;
    return std::nullopt;
  };
  const Dim margin = at(*found);
  if (!lane_ || !mentions(margin, lane_->variable)) {
    const auto holds = decided(margin);
    return holds ? Guard{*holds ? all : 0, {}} : Guard{all, {id}};
  }
  const Linear linear = linear_in(margin, lane_->variable);
  if (!linear.exists || !linear.coefficient.is_constant()) return {all, {id}};
  const int64_t first = int64_t{lane_->chunk} * lanes_.count();
  const auto margin_at = [&](int lane) { return linear.rest + linear.coefficient * Dim(first + lane); };
  // Both ends hold or do not: so does what lies between.
  const auto low = decided(margin_at(0)), high = decided(margin_at(lanes_.count() - 1));
  if (low && high && *low == *high) return {*low ? all : 0, {}};
  if (!linear.rest.is_constant()) return {all, {id}};
  Guard guard{0, {}};
  for (int lane = 0; lane < lanes_.count(); ++lane) {
    if (margin_at(lane).value() >= 0) guard.lanes |= uint32_t{1} << lane;
  }
  return guard;
}

LaneValue PhaseEmitter::load(const Value& v) {
  if (in_registers(v.access.buffer)) {
    if (v.args[0] != ir::none) refuse("a guarded load from registers");
    return read_slot(v.access);
  }
  Selection lanes = present_lanes();
  if (v.args[0] == ir::none) return load_memory(v.access, lanes);
  const Guard guard = known_guard(v.args[0]);
  if (guard.lanes == all_lanes() && guard.open.empty()) return load_memory(v.access, lanes);
  if ((guard.lanes & lanes.bits.value_or(all_lanes())) == 0) return value(v.args[1]);
  lanes.guarded = true;
  if (guard.open.empty() && lanes.bits) {
    // Of literal masks one is enough.
    *lanes.bits &= guard.lanes;
    lanes.mask = literal_mask(*lanes.bits);
    lanes.name = "lanes " + std::to_string(*lanes.bits);
    return load_memory(v.access, lanes, value(v.args[1]));
  }
  lanes.bits.reset();
  if (guard.lanes != all_lanes())
    narrow(lanes, literal_mask(guard.lanes), "lanes " + std::to_string(guard.lanes));
  for (const int open : guard.open) {
    std::string name;
    const auto mask = interval_mask(open, name);
    narrow(lanes, mask ? *mask : value(open), name);
    const auto margin = margin_of(program_, program_.values[static_cast<size_t>(open)]);
    if (margin && lane_ && !mentions(at(*margin), lane_->variable)) lanes.margins.push_back(at(*margin));
  }
  return load_memory(v.access, lanes, value(v.args[1]));
}

/// Fewer lanes: those of the mask as well. An empty name: the mask is unlike any other.
void PhaseEmitter::narrow(Selection& lanes, const LaneValue& mask, const std::string& name) {
  lanes.shared = lanes.shared && !name.empty();
  if (!lanes.mask.defined()) {
    lanes.mask = mask;
    lanes.name = name;
    return;
  }
  const auto both = [&] { return lanes_.apply(Opcode::mask_and, {lanes.mask, mask, {}}); };
  lanes.name += " and " + name;
  lanes.mask = lanes.shared ? named_mask(lanes.name, both) : both();
}

/// Where a comparison of indices holds that is linear in the lanes: from some lane on, or up to some lane.
std::optional<LaneValue> PhaseEmitter::interval_mask(int id, std::string& name) {
  const auto found = margin_of(program_, program_.values[static_cast<size_t>(id)]);
  if (!found || !lane_) return std::nullopt;
  const Dim margin = at(*found);
  if (!mentions(margin, lane_->variable)) return mask_of(Dim(lanes_.count()) * (margin + Dim(1)), name);
  const Linear linear = linear_in(margin, lane_->variable);
  if (!linear.exists || !linear.coefficient.is_constant()) return std::nullopt;
  const int64_t step = linear.coefficient.value();
  const Dim rest = linear.rest + linear.coefficient * Dim(int64_t{lane_->chunk} * lanes_.count());
  if (step < 0) return mask_of(floor_div(rest, Dim(-step)) + Dim(1), name);
  const LaneValue before = mask_of(Dim(0) - floor_div(rest, Dim(step)), name);
  name = "all but " + name;
  return named_mask(name, [&] { return lanes_.apply(Opcode::mask_not, {before, {}, {}}); });
}

LaneValue PhaseEmitter::named_mask(const std::string& name, const std::function<LaneValue()>& make) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->masks.find(name);
    if (found != scope->masks.end()) return found->second;
  }
  return scopes_.back().masks[name] = make();
}

LaneValue PhaseEmitter::literal_mask(uint32_t bits) {
  return named_mask("lanes " + std::to_string(bits), [&] { return lanes_.literal_mask(bits); });
}

/// The lanes that are selected, and `otherwise` in the others (undefined: anything). What is left out by a
/// guard is not what the address holds: the selection's name tells it apart.
LaneValue PhaseEmitter::load_memory(const Access& access, const Selection& lanes,
                                    const LaneValue& otherwise) {
  const ir::loop::Buffer& of = buffer(access.buffer);
  const Address address = address_of(access);
  if (!address.lookups.empty() || !address.is_linear()) {
    const LaneValue loaded = load_each_lane(of, address, lanes);
    return otherwise.defined() ? typed_.select(of.type, lanes.mask, loaded, otherwise) : loaded;
  }
  const bool zeros =
      !otherwise.defined() || (otherwise.kind == LaneValue::Kind::constant && otherwise.bits == 0);
  const bool shared = lanes.shared && (zeros || otherwise.kind == LaneValue::Kind::constant);
  std::string key = load_key(address, lanes.name);
  if (lanes.guarded) key += " guarded by " + lanes.name;
  if (!zeros && shared) key += " else " + std::to_string(otherwise.bits);
  if (shared) {
    if (const auto found = find_load(key)) return *found;
  }
  LaneValue loaded = load_selected(of, address, lanes);
  if (!zeros) loaded = typed_.select(of.type, lanes.mask, loaded, otherwise);
  if (shared) keep_load(key, loaded);
  return loaded;
}

/// The place, or where no lane is read the buffer's first element: where there is no memory at a place,
/// processors take hundreds of cycles to find that nothing was to be read there.
Mem PhaseEmitter::inside(const Mem& place, int buffer, const std::vector<Dim>& margins) {
  if (margins.empty()) return place;
  const Gp address = cc_.newGpq("address");
  cc_.lea(address, place);
  const Gp first = make_pointer(buffer, Dim(0)).base;
  for (const Dim& margin : margins) {
    // Without flags, so that other vectors may go in between.
    const Gp outside = cc_.newGpq("outside"), way = cc_.newGpq("way");
    cc_.mov(outside, integers_.value(margin));
    cc_.sar(outside, 63);
    cc_.mov(way, first);
    cc_.sub(way, address);
    cc_.and_(way, outside);
    cc_.add(address, way);
  }
  return asmjit::x86::ptr(address);
}

/// Lanes that are not selected are 0 where there are several elements, and anything where one is for all.
LaneValue PhaseEmitter::load_selected(const ir::loop::Buffer& of, const Address& address,
                                      const Selection& lanes) {
  const auto element = static_cast<int>(size_of(of.type));
  if (element != 4) return load_typed(of, address, lanes);
  form_of(of.type);
  const Mem place = memory(address, element);
  if (!lane_ || address.lane_step == Dim(0)) {
    return lanes.guarded ? lanes_.broadcast_where(place, lanes.mask, lanes.bits.value_or(0) != 0)
                         : lanes_.broadcast(place);
  }
  const auto ahead = tiles_ahead_.find(address.buffer);
  if (ahead != tiles_ahead_.end() && address.lane_step == Dim(1))
    cc_.prefetcht0(place.cloneAdjusted(ahead->second));
  if (address.lane_step == Dim(1))
    return lanes_.load(inside(place, address.buffer, lanes.margins), lanes.mask, lanes.bits.value_or(0));
  const bool close = address.lane_step.is_constant() && address.lane_step.value() > 1 &&
                     address.lane_step.value() <= Lanes::longest_step;
  if (close && !lanes.guarded) {
    const int64_t step = address.lane_step.value();
    if (const auto found = load_from_shared(of, address, step)) return *found;
  }
  if (close) return load_steps(place, address.lane_step.value(), lanes);
  const Gp base = integers_.value(Dim(0));
  cc_.lea(base, place);
  LaneValue offsets = LaneValue::of(lanes_.iota());
  const Dim step = address.lane_step * Dim(element);
  if (facts_.range(step * Dim(lanes_.count())).high > std::numeric_limits<int32_t>::max() ||
      facts_.range(step * Dim(lanes_.count())).low < std::numeric_limits<int32_t>::min())
    refuse("the lanes of " + of.name + " may lie too far apart");
  const LaneValue factor = step.is_constant() ? lanes_.constant(static_cast<uint32_t>(step.value()))
                                              : lanes_.broadcast(integers_.value(step));
  offsets = lanes_.apply(Opcode::i32_mul, {offsets, factor, {}});
  return lanes_.gather(base, offsets.vector, lanes.mask);
}

/// Lanes a few elements apart, out of whole vectors that other such loads, which begin an element before or
/// after, need as well. Nothing where these vectors may reach beyond the buffer.
std::optional<LaneValue> PhaseEmitter::load_from_shared(const ir::loop::Buffer& of, const Address& address,
                                                        int64_t step) {
  const int64_t begin = (address.displacement % step + step) % step, count = lanes_.count();
  Address first = address;
  first.displacement -= begin;
  first.lane_step = Dim(1);
  Dim elements = 1;
  for (const Dim& dim : of.dims) elements = elements * at(dim);
  const Dim low = first.form + Dim(first.displacement);
  if (!facts_.is_nonnegative(low) || !facts_.is_nonnegative(elements - low - Dim(step * count)))
    return std::nullopt;
  std::vector<LaneValue> parts;
  for (int64_t part = 0; part < step; ++part) {
    Address here = first;
    here.displacement += part * count;
    const std::string key = load_key(here, "");
    const auto found = find_load(key);
    parts.push_back(found ? *found : lanes_.load(memory(here, static_cast<int>(size_of(of.type))), {}));
    if (!found) keep_load(key, parts.back());
  }
  LaneValue result = parts[0];
  for (int64_t part = 1; part < step; ++part) {
    // Lanes that come from this part, those before it, and the others.
    std::vector<uint32_t> places;
    for (int64_t lane = 0; lane < count; ++lane) {
      const int64_t element = lane * step + begin;
      const bool here = element / count == part;
      const int64_t before = part == 1 && element < count ? element : lane;
      places.push_back(static_cast<uint32_t>(here ? element % count + count : before));
    }
    std::string name = "places";
    for (const uint32_t place : places) name += " " + std::to_string(place);
    const auto known = find_load(name);
    const LaneValue order = known ? *known : lanes_.literals(places);
    if (!known) keep_load(name, order);
    result = lanes_.pick(result, parts[static_cast<size_t>(part)], order, places);
  }
  return result;
}

std::optional<LaneValue> PhaseEmitter::find_load(const std::string& key) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->loads.find(key);
    if (found == scope->loads.end()) continue;
    found->second.used = ++loads_used_;
    return found->second.value;
  }
  return std::nullopt;
}

/// What has been read stays in its register for others to use, but hardly more than there are registers: what
/// has not been used for longest is read again. (Much of it is not wanted again and takes none: a row of a
/// product's panel must not make way for it.)
void PhaseEmitter::keep_load(const std::string& key, const LaneValue& value) {
  constexpr int working_registers = 2;
  const int fewest = lanes_.registers() / 3;
  const int most = std::max(fewest, lanes_.registers() - registers_taken_ - working_registers);
  scopes_.back().loads[key] = {without_death(value), ++loads_used_};
  int kept = 0;
  Scope* scope_of_oldest = nullptr;
  std::map<std::string, Scope::Load>::iterator oldest;
  for (Scope& scope : scopes_) {
    for (auto load = scope.loads.begin(); load != scope.loads.end(); ++load) {
      ++kept;
      if (scope_of_oldest != nullptr && oldest->second.used <= load->second.used) continue;
      scope_of_oldest = &scope;
      oldest = load;
    }
  }
  if (kept > most) scope_of_oldest->loads.erase(oldest);
}

/// Lanes a few elements apart, out of vectors of what lies between the first and the last one: nothing beyond
/// them is touched.
LaneValue PhaseEmitter::load_steps(const Mem& first, int64_t step, const Selection& lanes) {
  const int reach = lanes_.count() - 1;  // each vector begins with the last element of the one before
  std::vector<LaneValue> parts;
  for (int64_t part = 0; part < step; ++part) {
    // The elements that are lanes, and the first of these lanes.
    uint32_t pattern = 0, elements = 0;
    int first_lane = -1;
    for (int lane = 0; lane <= reach; ++lane) {
      const int64_t place = lane * step - part * reach;
      if (place > 0 ? place > reach : place < 0 || part != 0) continue;
      if (first_lane < 0) first_lane = lane;
      pattern |= uint32_t{1} << place;
      if ((lanes.bits.value_or(all_lanes()) >> lane & 1) != 0) elements |= uint32_t{1} << place;
    }
    if (elements == 0) {
      parts.emplace_back();
      continue;
    }
    LaneValue mask;
    if (lanes.bits && *lanes.bits != all_lanes()) mask = literal_mask(elements);
    if (!lanes.bits) {
      const auto spread = [&] { return lanes_.spread(lanes.mask, first_lane, pattern); };
      const std::string name =
          lanes.name + " from " + std::to_string(first_lane) + " at " + std::to_string(pattern);
      mask = lanes.shared ? named_mask(name, spread) : spread();
    }
    Mem place = first;
    place.addOffset(part * reach * 4);
    parts.push_back(lanes_.load(place, mask));
  }
  return lanes_.every(step, parts);
}

}  // namespace axrun::jit::x86
