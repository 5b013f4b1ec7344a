// How a phase finds its data: addresses as polynomials, and the pointers that stand for them.
#include <algorithm>

#include "jit/x86/emitter.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::x86::Gp;
using asmjit::x86::Mem;
using ir::Dim;
using ir::loop::Access;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;

namespace {

int64_t constant_part(const Dim& dim) {
  for (const Monomial& monomial : monomials(dim)) {
    if (monomial.factors.empty()) return monomial.coefficient;
  }
  return 0;
}

std::string key_of(int buffer, const Dim& form) { return std::to_string(buffer) + ":" + form.to_string(); }

}  // namespace

Dim PhaseEmitter::at(const Dim& dim) const {
  if (dim.is_constant()) return dim;
  return facts_.resolve(dim.substitute(literals_));
}

std::string PhaseEmitter::place_key(const Access& access) {
  const auto [found, fresh] = names_.try_emplace(&access);
  if (fresh) {
    for (const Dim& index : access.indices) index.collect_symbols(found->second);
    for (const ir::loop::Lookup& lookup : access.lookups) {
      for (const Dim& index : lookup.indices) index.collect_symbols(found->second);
    }
  }
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(&access));
  for (const std::string& name : found->second) {
    const auto literal = literals_.find(name);
    if (literal != literals_.end()) key += "," + std::to_string(literal->second.value());
    if (lane_ && name == lane_->variable) key += "v" + std::to_string(lane_->chunk);
  }
  return key;
}

void PhaseEmitter::forget_addresses() {
  addresses_.clear();
  slot_of_.clear();
}

const PhaseEmitter::Address& PhaseEmitter::address_of(const Access& access) {
  const auto [found, fresh] = addresses_.try_emplace(place_key(access));
  if (fresh) found->second = work_out(access);
  return found->second;
}

const PhaseEmitter::Address& PhaseEmitter::linear_address_of(const Access& access) {
  const Address& address = address_of(access);
  if (!address.is_linear())
    refuse(buffer(access.buffer).name + ": an index is not linear in the vector loop's variable");
  return address;
}

PhaseEmitter::Address PhaseEmitter::work_out(const Access& access) {
  const ir::loop::Buffer& of = buffer(access.buffer);
  Address address;
  Dim place;
  auto lookup = access.lookups.begin();
  for (size_t d = 0; d < access.indices.size(); ++d) {
    const Dim extent = at(of.dims[d]);
    for (Address::LaneLookup& before : address.lookups) before.stride = before.stride * extent;
    Dim index = at(access.indices[d]);
    if (lookup != access.lookups.end() && static_cast<size_t>(lookup->dimension) == d) {
      const auto same_for_lanes = looked_up(*lookup, extent);
      if (same_for_lanes) index = *same_for_lanes;
      if (!same_for_lanes) address.lookups.push_back({&*lookup, extent, Dim(1)});
      ++lookup;
    }
    place = place * extent + index;
  }
  place = with_joined_digits(at(place));
  address.buffer = access.buffer;
  if (lane_) {
    Linear linear = linear_in(place, lane_->variable);
    if (!linear.exists) {
      address.each_lane = place;
      linear = {};
      for (const Monomial& monomial : monomials(place)) {
        if (!mentions(to_dim(monomial), lane_->variable)) linear.rest = linear.rest + to_dim(monomial);
      }
      address.each_lane = place - linear.rest;
    }
    address.lane_step = linear.coefficient;
    place = linear.rest + Dim(int64_t{lane_->chunk} * lanes_.count()) * linear.coefficient;
  }
  address.displacement = constant_part(place);
  address.form = place - Dim(address.displacement);
  return address;
}

const PhaseEmitter::Pointer* PhaseEmitter::find_pointer(const std::string& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->pointers.find(key);
    if (found != scope->pointers.end()) return &found->second;
  }
  return nullptr;
}

PhaseEmitter::Pointer PhaseEmitter::make_pointer(int id, const Dim& form) {
  Pointer made;
  made.buffer = id;
  made.form = form;
  const auto place = static_cast<size_t>(id);
  made.base = integers_.argument(layout_.argument[place]);
  if (layout_.per_worker[place]) cc_.add(made.base, worker_scratch_);
  bind_lookups(form);
  integers_.add(made.base, form * Dim(static_cast<int64_t>(size_of(buffer(id).type))));
  return made;
}

/// The register with the stride of which `difference` is 1, 2, 4 or 8 times as much, and the logarithm of
/// that. The first multiple of some sizes makes their stride: rows may be n apart, or 3 * n.
std::optional<std::pair<Gp, int>> PhaseEmitter::stride_register(const Monomial& difference, int64_t element) {
  constexpr int most_shift = 3;
  if (difference.coefficient <= 0) return std::nullopt;
  const auto multiple = [&](int64_t times) { return to_dim({element * times, difference.factors}); };
  std::map<int64_t, Gp>& known = scopes_.back().strides[multiple(1).to_string()];
  if (known.empty()) {
    int64_t unit = difference.coefficient;
    for (int shift = 0; shift < most_shift && unit % 2 == 0; ++shift) unit /= 2;
    known.emplace(unit, integers_.value(multiple(unit)));
  }
  for (int shift = 0; shift <= most_shift; ++shift) {
    const int64_t times = int64_t{1} << shift;
    const auto found = known.find(difference.coefficient / times);
    if (difference.coefficient % times == 0 && found != known.end())
      return std::make_pair(found->second, shift);
  }
  return std::nullopt;
}

/// A pointer that differs by 1, 2, 4 or 8 times a stride: the same register, indexed by the stride, which
/// must stay the same in the loop of this variable.
std::optional<PhaseEmitter::Pointer> PhaseEmitter::from_neighbour(int id, const Dim& form,
                                                                  const std::string& variable) {
  const auto element = static_cast<int64_t>(size_of(buffer(id).type));
  for (const auto& [name, candidate] : scopes_.back().pointers) {
    if (candidate.buffer != id || candidate.index.isValid()) continue;
    const std::vector<Monomial> difference = monomials(form - candidate.form);
    if (difference.size() != 1 || difference[0].factors.empty()) continue;
    if (mentions(to_dim(difference[0]), variable) || looks_up(to_dim(difference[0]))) continue;
    const auto stride = stride_register(difference[0], element);
    if (!stride) continue;
    Pointer made = candidate;
    made.form = form;
    made.index = stride->first;
    made.shift = stride->second;
    return made;
  }
  return std::nullopt;
}

PhaseEmitter::Pointer PhaseEmitter::pointer(int id, const Dim& form) {
  const std::string key = key_of(id, form);
  if (const Pointer* found = find_pointer(key)) return *found;
  const Pointer made = make_pointer(id, form);
  scopes_.back().pointers[key] = made;
  return made;
}

Mem PhaseEmitter::memory(const Address& address, int element_bytes) {
  const int64_t bytes = address.displacement * element_bytes;
  if (bytes != static_cast<int32_t>(bytes)) {
    const Pointer far = pointer(address.buffer, address.form + Dim(address.displacement));
    return asmjit::x86::ptr(far.base);
  }
  const Pointer near = pointer(address.buffer, address.form);
  if (!near.index.isValid()) return asmjit::x86::ptr(near.base, static_cast<int32_t>(bytes));
  return asmjit::x86::ptr(near.base, near.index, near.shift, static_cast<int32_t>(bytes));
}

void PhaseEmitter::collect_value(int id, const std::function<void(const Access&)>& see) const {
  const ir::loop::Value& v = program_.values[static_cast<size_t>(id)];
  if (v.op == ir::ScalarOp::load) see(v.access);
  for (const int argument : v.args) {
    if (argument != ir::none) collect_value(argument, see);
  }
}

/// Every access, for each iteration and vector.
void PhaseEmitter::for_accesses(const Block& body, const std::function<void(const Access&, bool read)>& see,
                                int64_t most_iterations) {
  for (const Statement* statement : body) {
    if (const auto* compute = std::get_if<Compute>(statement)) {
      see(compute->target, false);
      collect_value(compute->value, [&](const Access& access) { see(access, true); });
      continue;
    }
    const auto* loop = std::get_if<Loop>(statement);
    if (loop == nullptr) continue;
    const Interval extent = facts_.range(at(loop->extent));
    if (loop->kind == LoopKind::vector) {
      lane_ = Lane{loop->variable, 0, {}, {}, {}};
      facts_.set_range(loop->variable, {0, std::max<int64_t>(extent.high - 1, 0)});
      const int64_t vectors = extent.high == INT64_MAX ? 1 : (extent.high - 1) / lanes_.count() + 1;
      for (int64_t chunk = 0; chunk < vectors; ++chunk) {
        lane_->chunk = static_cast<int>(chunk);
        for_accesses(pointers_to(loop->body), see, most_iterations);
      }
      lane_.reset();
      facts_.forget_range(loop->variable);
    } else if (loop->kind == LoopKind::unrolled || extent.high <= most_iterations) {
      for (int64_t v = 0; v < extent.high; v += loop->step) {
        literals_[loop->variable] = v;
        for_accesses(pointers_to(loop->body), see, most_iterations);
      }
      literals_.erase(loop->variable);
    }
  }
}

std::vector<std::pair<int, Dim>> PhaseEmitter::forms_in(const Block& body) {
  std::vector<std::pair<int, Dim>> found;
  std::set<std::string> seen;
  for_accesses(body, [&](const Access& access, bool) {
    if (in_registers(access.buffer)) return;
    const Address& address = address_of(access);
    if (seen.insert(key_of(address.buffer, address.form)).second)
      found.emplace_back(address.buffer, address.form);
  });
  return found;
}

std::vector<PhaseEmitter::Moving> PhaseEmitter::hoist_pointers(const Block& body, const Loop& loop,
                                                               bool from_zero) {
  std::vector<Moving> moving;
  std::map<std::string, Gp> step_registers;
  std::set<int> read;
  for_accesses(body, [&](const Access& access, bool is_read) {
    if (is_read) read.insert(access.buffer);
  });
  for (const auto& [id, form] : forms_in(body)) {
    const Linear linear = linear_in(form, loop.variable);
    if (!linear.exists || !looks_up_outside(form, loop.variable)) continue;  // worked out in each iteration
    const std::string key = key_of(id, form);
    if (const auto neighbour = from_neighbour(id, form, loop.variable)) {
      scopes_.back().pointers[key] = *neighbour;
      continue;
    }
    Pointer made = make_pointer(id, from_zero ? linear.rest : form);
    made.form = form;
    scopes_.back().pointers[key] = made;
    const Dim step = linear.coefficient * Dim(loop.step * static_cast<int64_t>(size_of(buffer(id).type)));
    if (step == Dim(0)) continue;
    Moving one{made.base, step, {}, {}, {}};
    if (!step.is_constant() || step.value() != static_cast<int32_t>(step.value())) {
      const auto [found, fresh] = step_registers.try_emplace(step.to_string());
      if (fresh) found->second = integers_.value(step);
      one.step_register = found->second;
    }
    moving.push_back(one);
    if (buffer(id).role == ir::loop::Role::output) continue;
    if (read.count(id) == 0) {
      moving.back().fetched = filled_ahead(id, one);
      continue;
    }
    if (const auto ahead = fetch_panel(id, form, one))
      moving.push_back(*ahead);
    else if (const auto rows = fetch_rows(id, form, one, body))
      moving.push_back(*rows);
    else
      moving.back().fetched = stream_ahead(id, form, one);
  }
  if (const auto ahead = fetch_next_portion()) moving.push_back(*ahead);
  for (const auto& [id, form] : forms_in(body))
    if (read.count(id) != 0 && buffer(id).role == ir::loop::Role::input) note_portions(id, form);
  return moving;
}

}  // namespace axrun::jit::x86
