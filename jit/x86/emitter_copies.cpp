// Loops that copy: one instruction does the whole run.
#include <algorithm>

#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

using asmjit::x86::Gp;
using ir::Dim;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;

namespace {

/// Fewer are copied by vectors as fast, or faster: the instruction takes some 50 cycles to begin, and is only
/// better where what it writes is not in the caches, because it does not read that first.
constexpr int64_t least_bytes_copied = 16 << 10;

/// n or min(n, total - n * variable): how many a vector loop takes in each iteration of the loop around it,
/// the last one perhaps fewer.
struct Take {
  int64_t most = 0;
  std::optional<Dim> total;
};
std::optional<Take> take_of(const Dim& extent, const std::string& variable) {
  if (extent.is_constant()) return Take{extent.value(), std::nullopt};
  const std::vector<Monomial> terms = monomials(extent);
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1) return std::nullopt;
  const Atom atom = atom_of(terms[0].factors[0]);
  if (atom.kind != Atom::Kind::min || atom.arguments.size() != 2) return std::nullopt;
  const bool first = atom.arguments[0].is_constant();
  const Dim &most = atom.arguments[first ? 0 : 1], &rest = atom.arguments[first ? 1 : 0];
  if (!most.is_constant()) return std::nullopt;
  const Linear linear = linear_in(rest, variable);
  if (!linear.exists || linear.coefficient != Dim(-most.value())) return std::nullopt;
  return Take{most.value(), linear.rest};
}

}  // namespace

/// Elements from one buffer to another, in a run that each iteration continues where the last one has ended.
std::optional<PhaseEmitter::Run> PhaseEmitter::run_of(const Loop& loop) {
  if (!has_long_copies_ || loop.step != 1 || loop.body.size() != 1) return std::nullopt;
  const auto* vectors = std::get_if<Loop>(loop.body.data());
  if (vectors == nullptr || vectors->kind != LoopKind::vector || vectors->step != 1 ||
      vectors->body.size() != 1)
    return std::nullopt;
  const auto& compute = std::get<Compute>(vectors->body[0]);
  const ir::loop::Value& value = program_.values[static_cast<size_t>(compute.value)];
  const bool copies = compute.combine == ir::loop::Combine::assign && value.op == ir::ScalarOp::load &&
                      value.args[0] == ir::none && value.access.lookups.empty();
  if (!copies || in_registers(value.access.buffer) || in_registers(compute.target.buffer) ||
      value.access.buffer == compute.target.buffer)
    return std::nullopt;
  const ir::ElementType type = buffer(compute.target.buffer).type;
  if (buffer(value.access.buffer).type != type || value.type != type) return std::nullopt;

  const Interval extent = facts_.range(at(loop.extent));
  if (extent.low <= 0 || extent.high == INT64_MAX) return std::nullopt;
  facts_.set_range(loop.variable, {0, extent.high - 1});
  const std::optional<Take> take = take_of(at(vectors->extent), loop.variable);
  if (!take || take->most <= 0) {
    facts_.forget_range(loop.variable);
    return std::nullopt;
  }
  const auto element = static_cast<int64_t>(ir::size_of(type));
  Run run;
  run.step = take->most * element;
  if (take->total) run.bytes = *take->total * Dim(element);
  const auto is_continued = [&](const ir::loop::Access& access, Place& place) {
    const Address& address = address_of(access);
    const Linear linear = linear_in(address.form, loop.variable);
    place = {address.buffer, linear.rest + Dim(address.displacement)};
    return address.lane_step == Dim(1) && linear.exists && linear.coefficient == Dim(take->most);
  };
  facts_.set_range(vectors->variable, {0, take->most - 1});
  lane_ = Lane{vectors->variable, 0, {}, {}, {}};
  const bool continued = is_continued(value.access, run.from) && is_continued(compute.target, run.to);
  lane_.reset();
  facts_.forget_range(vectors->variable);
  facts_.forget_range(loop.variable);
  forget_addresses();
  return continued ? std::optional(run) : std::nullopt;
}

bool PhaseEmitter::emit_copy(const Loop& loop, const Gp* begin, const Gp* end) {
  const Dim extent = at(loop.extent);
  const std::optional<Run> run = run_of(loop);
  if (!run || facts_.range(extent).low < (least_bytes_copied + run->step - 1) / run->step) return false;
  comment("for " + loop.variable + " < " + extent.to_string() + ": a copy");
  const Gp from = make_pointer(run->from.buffer, run->from.form).base;
  const Gp to = make_pointer(run->to.buffer, run->to.form).base;
  const Gp bytes = cc_.newGpq("bytes");
  const asmjit::Label done = cc_.newLabel();
  if (begin != nullptr) {
    cc_.imul(bytes, *end, run->step);
  } else {
    cc_.imul(bytes, integers_.value(extent), run->step);
  }
  if (run->bytes) {
    const Gp all = integers_.value(*run->bytes);
    cc_.cmp(bytes, all);
    cc_.cmovg(bytes, all);
  }
  if (begin != nullptr) {
    const Gp before = cc_.newGpq("before");
    cc_.imul(before, *begin, run->step);
    cc_.add(from, before);
    cc_.add(to, before);
    cc_.sub(bytes, before);
  }
  cc_.cmp(bytes, 0);
  cc_.jle(done);
  drop_loads({run->to.buffer, {}, 0, Dim(0)});
  cc_.rep(bytes).movs(asmjit::x86::byte_ptr(to), asmjit::x86::byte_ptr(from));
  cc_.bind(done);
  return true;
}

}  // namespace axrun::jit::x86
