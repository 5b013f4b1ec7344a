// Indices that are data: read, checked and kept like the variables of loops. A loop's pointers to what they
// lead to are worked out before the loop, where they do not change in it: rows of tables are then copied like
// any others.
#include <algorithm>
#include <limits>

#include "jit/x86/emitter.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::x86::Gp;
using ir::Dim;
using ir::lane::Opcode;
using ir::loop::Lookup;

namespace {

/// Not a word: no size and no loop has such a name.
constexpr char mark = '@';

std::vector<std::string> lookups_in(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  std::erase_if(names, [](const std::string& name) { return name[0] != mark; });
  return names;
}

}  // namespace

/// The symbol that stands for it; nothing where each lane has its own.
std::optional<Dim> PhaseEmitter::looked_up(const Lookup& lookup, const Dim& extent) {
  LookedUp made;
  made.from = work_out({lookup.buffer, lookup.indices});
  if (lane_ && (made.from.lane_step != Dim(0) || !made.from.is_linear())) return std::nullopt;
  made.extent = extent;
  for (const Dim& index : lookup.indices) index.collect_symbols(made.names);
  std::string key = load_key(made.from, "") + " below " + extent.to_string();
  for (const std::string& name : made.names) key += " " + name;
  const auto [number, fresh] = lookup_numbers_.try_emplace(key, lookups_.size());
  if (fresh) lookups_.push_back(std::move(made));
  const std::string name = mark + std::to_string(number->second);
  facts_.set_range(name, {0, std::max<int64_t>(facts_.range(extent - Dim(1)).high, 0)});
  return Dim::symbol(name);
}

const PhaseEmitter::LookedUp& PhaseEmitter::lookup_of(const std::string& name) const {
  return lookups_[std::stoul(name.substr(1))];
}

/// Whether an address can be worked out before a loop: what it looks up is certain to be read, and the same
/// in every iteration.
bool PhaseEmitter::looks_up_outside(const Dim& form, const std::string& loop_variable) const {
  const auto is_outside = [&](const std::string& name) {
    if (name == loop_variable) return false;
    const auto open = [&](const OpenLoop& loop) { return loop.loop->variable == name; };
    const auto size = [&](const ir::loop::Size& one) { return one.name == name; };
    return literals_.count(name) != 0 || std::any_of(loops_.begin(), loops_.end(), open) ||
           std::any_of(program_.sizes.begin(), program_.sizes.end(), size);
  };
  for (const std::string& symbol : lookups_in(form)) {
    const std::vector<std::string>& names = lookup_of(symbol).names;
    if (!std::all_of(names.begin(), names.end(), is_outside)) return false;
  }
  return true;
}

bool PhaseEmitter::looks_up(const Dim& form) { return !lookups_in(form).empty(); }

/// Makes the indices in an address variables that code can use.
void PhaseEmitter::bind_lookups(const Dim& form) {
  for (const std::string& name : lookups_in(form)) {
    Gp index;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && !index.isValid(); ++scope) {
      const auto found = scope->lookups.find(name);
      if (found != scope->lookups.end()) index = found->second;
    }
    if (!index.isValid()) index = scopes_.back().lookups[name] = read_lookup(lookup_of(name));
    integers_.set_variable(name, index);
  }
}

/// Those of a statement, before its vectors are made.
void PhaseEmitter::bind_lookups(const ir::loop::Compute& compute) {
  collect_value(compute.value, [&](const ir::loop::Access& access) {
    if (!access.lookups.empty()) bind_lookups(address_of(access).form);
  });
}

/// An index that is not inside leaves the function, and leaves word.
Gp PhaseEmitter::read_lookup(const LookedUp& lookup) {
  const ir::loop::Buffer& of = buffer(lookup.from.buffer);
  const auto bytes = static_cast<int>(size_of(of.type));
  const asmjit::x86::Mem place = memory(lookup.from, bytes);
  const Gp index = cc_.newGpq("index"), from_end = cc_.newGpq();
  if (bytes == 4)
    cc_.movsxd(index, place.cloneResized(4));
  else
    cc_.mov(index, place.cloneResized(8));
  const Gp extent = integers_.value(lookup.extent);
  cc_.lea(from_end, asmjit::x86::ptr(index, extent));
  cc_.test(index, index);
  cc_.cmovs(index, from_end);
  if (!outside_.isValid()) outside_ = cc_.newLabel();
  cc_.cmp(index, extent);
  cc_.jae(outside_);
  return index;
}

/// Elements of 32 or 64 bits, gathered from where the lanes' own indices lead.
LaneValue PhaseEmitter::load_each_lane(const ir::loop::Buffer& of, const Address& address,
                                       const Selection& lanes) {
  if (address.lookups.empty()) {
    if (const auto close = load_close(of, address, lanes)) return *close;
  }
  const auto element = static_cast<int>(size_of(of.type));
  Dim elements = 1;
  for (const Dim& dim : of.dims) elements = elements * at(dim);
  if (element != 4 && element != 8)
    refuse("lanes have places of their own for elements of type " + std::string(name_of(of.type)));
  if (facts_.range(elements * Dim(element)).high > std::numeric_limits<int32_t>::max())
    refuse("the lanes of " + of.name + " may lie too far apart");
  const auto times = [&](const LaneValue& value, const Dim& factor) {
    const LaneValue by = factor.is_constant() ? lanes_.constant(static_cast<uint32_t>(factor.value()))
                                              : lanes_.broadcast(integers_.value(factor));
    return lanes_.apply(Opcode::i32_mul, {value, by, {}});
  };
  LaneValue offsets = address.is_linear()
                          ? times(LaneValue::of(lanes_.iota()), address.lane_step * Dim(element))
                          : each_lane(address.each_lane * Dim(element));
  for (const Address::LaneLookup& lookup : address.lookups) {
    const LaneValue index = times(lane_indices(lookup, lanes), lookup.stride * Dim(element));
    offsets = lanes_.apply(Opcode::i32_add, {offsets, index, {}});
  }
  const Gp base = integers_.value(Dim(0));
  cc_.lea(base, memory(address, element));
  return typed_.gather(of.type, base, offsets, lanes.mask);
}

/// Checked indices as 32-bit integers; lanes that are not selected look up element 0.
LaneValue PhaseEmitter::lane_indices(const Address::LaneLookup& lookup, const Selection& lanes) {
  using ir::ScalarOp;
  const ir::ElementType type = buffer(lookup.lookup->buffer).type;
  const auto from =
      looked_up_.try_emplace(lookup.lookup, ir::loop::Access{lookup.lookup->buffer, lookup.lookup->indices});
  const LaneValue read = load_memory(from.first->second, lanes);
  const LaneValue zero = typed_.literal(type, int64_t{0});
  const LaneValue extent = lookup.extent.is_constant() ? typed_.literal(type, lookup.extent.value())
                                                       : lanes_.broadcast(integers_.value(lookup.extent));
  const auto compare = [&](ScalarOp op, const LaneValue& a, const LaneValue& b) {
    return typed_.operation(op, type, without_death(a), without_death(b));
  };
  const LaneValue from_end =
      typed_.operation(ScalarOp::add, type, without_death(read), without_death(extent));
  const LaneValue index =
      typed_.select(type, compare(ScalarOp::less, read, zero), from_end, without_death(read));
  const LaneValue outside = lanes_.apply(
      Opcode::mask_or,
      {compare(ScalarOp::less, index, zero), compare(ScalarOp::greater_equal, index, extent), {}});
  asmjit::x86::Vec any = lanes_.in_register(typed_.mask_as_vector(outside));
  if (lanes_.wide()) {
    const asmjit::x86::Vec upper = lanes_.new_vector();
    cc_.vextracti64x4(upper.ymm(), any.zmm(), 1);
    cc_.vpor(upper.ymm(), upper.ymm(), any.ymm());
    any = upper;
  }
  cc_.vptest(any.ymm(), any.ymm());
  if (!outside_.isValid()) outside_ = cc_.newLabel();
  cc_.jnz(outside_);
  return typed_.convert(type, ir::ElementType::i32, false, index);
}

/// Where code goes that has met an index outside of its dimension: the flag that the caller looks at.
void PhaseEmitter::emit_outside(const Gp& arguments) {
  if (!outside_.isValid()) return;
  cc_.bind(outside_);
  const Gp flag = cc_.newGpq();
  cc_.mov(flag, asmjit::x86::qword_ptr(arguments, layout_.flag_argument * 8));
  cc_.mov(asmjit::x86::dword_ptr(flag), 1);
  cc_.ret();
  outside_ = {};
}

}  // namespace axrun::jit::x86
