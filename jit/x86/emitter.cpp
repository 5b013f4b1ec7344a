// The control of a phase: loops, versions of their bodies, scopes.
#include "jit/x86/emitter.h"

#include <algorithm>
#include <utility>

#include "jit/x86/conditions.h"
#include "jit/x86/held_constants.h"
#include "jit/x86/interleave.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::Label;
using asmjit::x86::Gp;
using ir::Dim;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;

namespace {

/// Bodies that are made twice: each can double the code inside.
constexpr int most_versions = 24;

int64_t second_cache_of(const Target& target) {
  constexpr int64_t assumed = int64_t{256} << 10;
  return target.caches.size() > 1 ? target.caches[1].bytes : assumed;
}

}  // namespace

PhaseEmitter::PhaseEmitter(asmjit::x86::Compiler& compiler, const ir::loop::LoopProgram& program,
                           const Layout& layout, const Target& target, bool annotate)
    : cc_(compiler),
      program_(program),
      layout_(layout),
      lanes_(compiler, target.vector_bytes >= 64 ? 64 : 32),
      typed_(compiler, lanes_),
      integers_(compiler, facts_),
      second_cache_(second_cache_of(target)),
      annotate_(annotate),
      has_dots_(target.has(lanes_.wide() ? "avx512_vnni" : "avx_vnni")) {
  for (size_t k = 0; k < program.sizes.size(); ++k) {
    const ir::loop::Size& size = program.sizes[k];
    facts_.set_range(size.name, {size.low, size.high});
    integers_.add_size(size.name, static_cast<int>(k));
    if (size.low == size.high) literals_[size.name] = size.low;
  }
}

asmjit::Label PhaseEmitter::emit(const Phase& phase) {
  asmjit::FuncNode* function = cc_.addFunc(
      asmjit::FuncSignatureT<void, const int64_t*, int64_t, int64_t, char*>(asmjit::CallConvId::kX64SystemV));
  function->frame().setAvxEnabled();
  if (lanes_.wide()) function->frame().setAvx512Enabled();
  function->frame().setAvxCleanup();
  const Gp arguments = cc_.newGpq("arguments"), begin = cc_.newGpq("begin"), end = cc_.newGpq("end");
  worker_scratch_ = cc_.newGpq("worker_scratch");
  function->setArg(0, arguments);
  function->setArg(1, begin);
  function->setArg(2, end);
  function->setArg(3, worker_scratch_);
  integers_.set_arguments(arguments);
  check_register_buffers();
  held_constants_ = plan_held_constants(phase, program_, lanes_.count(), lanes_.registers());

  scopes_.clear();
  scopes_.emplace_back();
  if (phase.parallel != nullptr) {
    emit_loop(*phase.parallel, &begin, &end);
  } else {
    emit_versions(phase.statements, "", [&] { emit_block(phase.statements); });
  }
  cc_.ret();
  emit_outside(arguments);
  cc_.endFunc();
  return function->label();
}

void PhaseEmitter::comment(const std::string& text) {
  if (annotate_) cc_.comment(text.c_str(), text.size());
}

PhaseEmitter::Block PhaseEmitter::pointers_to(const ir::loop::Block& block) {
  Block pointers;
  for (const Statement& statement : block) pointers.push_back(&statement);
  return pointers;
}

/// Holds no loop that counts at run time.
bool PhaseEmitter::is_straight(const Statement& statement) {
  const auto* loop = std::get_if<Loop>(&statement);
  if (loop == nullptr) return true;
  if (loop->kind != LoopKind::unrolled && loop->kind != LoopKind::vector) return false;
  return std::all_of(loop->body.begin(), loop->body.end(), is_straight);
}

void PhaseEmitter::emit_block(const Block& block) {
  for (size_t k = 0; k < block.size();) {
    size_t end = k;
    while (end < block.size() && is_straight(*block[end])) ++end;
    if (end > k) {
      emit_region(Block(block.begin() + static_cast<std::ptrdiff_t>(k),
                        block.begin() + static_cast<std::ptrdiff_t>(end)));
      k = end;
      continue;
    }
    prepare_columns(*block[k]);
    const Loop& loop = std::get<Loop>(*block[k]);
    if (loop.kind == LoopKind::unrolled) {
      emit_unrolled(loop);
    } else {
      fetch_for_later(block, k);
      emit_loop(loop, nullptr, nullptr);
    }
    release_registers(*block[k++]);
  }
}

void PhaseEmitter::emit_region(const Block& region) {
  scopes_.emplace_back();
  emit_statements(region);
  scopes_.pop_back();
}

void PhaseEmitter::emit_statements(const Block& block) {
  for (const Statement* statement : block) {
    prepare_columns(*statement);
    take_registers(*statement);
    if (const auto* compute = std::get_if<Compute>(statement)) {
      comment(buffer(compute->target.buffer).name + " = ...");
      emit_compute(*compute);
    } else if (const auto* loop = std::get_if<Loop>(statement)) {
      if (loop->kind == LoopKind::vector) {
        emit_vector(*loop);
      } else {
        emit_unrolled(*loop);
      }
    }
    release_registers(*statement);
  }
}

/// Whether minima in a loop's body have one value in all iterations but the last: that one is made apart.
bool PhaseEmitter::only_last_differs(const Loop& loop, const Dim& extent) {
  if (loop.step != 1 || !extent.is_constant() || extent.value() < 2) return false;
  const Block body = pointers_to(loop.body);
  const auto is_decided = [&](int64_t iterations) {
    facts_.set_range(loop.variable, {0, iterations - 1});
    const bool decided = conditions_of(body, program_, facts_, literals_, loop.variable).empty();
    facts_.forget_range(loop.variable);
    return decided;
  };
  return !is_decided(extent.value()) && is_decided(extent.value() - 1);
}

void PhaseEmitter::emit_iteration(const Loop& loop, int64_t iteration) {
  literals_[loop.variable] = iteration;
  emit_block(pointers_to(loop.body));
  literals_.erase(loop.variable);
  forget_addresses();
}

void PhaseEmitter::emit_loop(const Loop& loop, const Gp* begin, const Gp* end) {
  const std::vector<Rows> later = std::exchange(later_, {});
  Dim extent = at(loop.extent);
  std::optional<int64_t> last;
  if (begin == nullptr && only_last_differs(loop, extent)) {
    last = extent.value() - 1;
    extent = Dim(*last);
  }
  comment("for " + loop.variable + " < " + extent.to_string());
  const Interval range = facts_.range(extent);
  if (range.high <= 0 && begin == nullptr) return;
  const Gp variable = cc_.newGpq(loop.variable.c_str());
  Gp bound;
  const bool literal_bound =
      begin == nullptr && extent.is_constant() && extent.value() == static_cast<int32_t>(extent.value());
  if (begin != nullptr) {
    cc_.mov(variable, *begin);
    cc_.imul(variable, variable, loop.step);
    bound = cc_.newGpq("bound");
    cc_.mov(bound, *end);
    cc_.imul(bound, bound, loop.step);
  } else {
    cc_.xor_(variable, variable);
    if (!literal_bound) bound = integers_.value(extent);
  }
  // A range's last iteration starts below the extent, so `end * step` bounds it as well as the extent does.
  const Label top = cc_.newLabel(), done = cc_.newLabel();
  const Block body = pointers_to(loop.body);
  const bool innermost =
      std::all_of(body.begin(), body.end(), [](const Statement* s) { return is_straight(*s); });
  if (begin != nullptr || range.low <= 0) {
    if (literal_bound)
      cc_.cmp(variable, extent.value());
    else
      cc_.cmp(variable, bound);
    cc_.jge(done);
  }
  facts_.set_range(loop.variable,
                   {0, range.high == INT64_MAX ? INT64_MAX : std::max<int64_t>(range.high - 1, 0)});
  const size_t assumptions = facts_.assumptions();
  facts_.assume_nonnegative(extent - Dim(1) - Dim::symbol(loop.variable));
  integers_.set_variable(loop.variable, variable);
  loops_.push_back(
      {&loop, variable, range.high == INT64_MAX ? INT64_MAX : (range.high + loop.step - 1) / loop.step});
  forget_addresses();
  scopes_.emplace_back();
  const auto held = held_constants_.find(&loop);
  if (held != held_constants_.end()) lanes_.hold(held->second);
  std::vector<Moving> moving;
  if (innermost) {
    moving = hoist_pointers(body, loop, begin == nullptr);
    plan_tiles_ahead(body);
    hoist_masks(body, loop.variable);
  }
  for (const Moving& one : fetch_along(later, (range.low + loop.step - 1) / loop.step)) moving.push_back(one);
  if (innermost) cc_.align(asmjit::AlignMode::kCode, 32);
  cc_.bind(top);
  for (const Moving& one : moving) fetch(one);
  emit_versions(body, loop.variable, [&] { emit_block(body); });
  for (const Moving& one : moving) advance(one);
  // A jump that crosses or ends at a multiple of 32 bytes, with the comparison that it fuses with, is decoded
  // anew each time on processors with the fix of Intel's erratum SKX102: a few bytes of nothing are cheaper.
  if (innermost) cc_.align(asmjit::AlignMode::kCode, 32);
  cc_.add(variable, loop.step);
  if (literal_bound)
    cc_.cmp(variable, extent.value());
  else
    cc_.cmp(variable, bound);
  cc_.jl(top);
  cc_.bind(done);
  if (innermost) tiles_ahead_.clear();
  std::erase_if(portions_, [&](const Portion& one) { return one.around == &loop; });
  scopes_.pop_back();
  integers_.remove_variable(loop.variable);
  loops_.pop_back();
  facts_.forget(assumptions);
  facts_.forget_range(loop.variable);
  forget_addresses();
  if (last) emit_iteration(loop, *last);
  if (held != held_constants_.end()) lanes_.release(held->second);
}

void PhaseEmitter::emit_unrolled(const Loop& loop) {
  const Dim extent = at(loop.extent);
  const Interval range = facts_.range(extent);
  if (range.high > most_unrolled) refuse("the unrolled loop " + loop.variable + " has no small extent");
  if (emit_dots(loop) || emit_packed(loop)) return;
  const Block body = pointers_to(loop.body);
  const bool straight =
      std::all_of(body.begin(), body.end(), [](const Statement* s) { return is_straight(*s); });
  const auto make = [&](int64_t iteration) {
    literals_[loop.variable] = iteration;
    straight ? emit_statements(body) : emit_block(body);
    literals_.erase(loop.variable);
  };
  const int64_t certain = std::max<int64_t>(range.low, 0);
  int64_t iteration = 0;
  for (; iteration < range.high && iteration < certain; iteration += loop.step) make(iteration);
  if (iteration >= range.high) return;
  const Gp bound = integers_.value(extent);
  const Label done = cc_.newLabel();
  size_t opened = 0;
  for (; iteration < range.high; iteration += loop.step) {
    cc_.cmp(bound, iteration);
    cc_.jle(done);
    // What is worked out here may be skipped: later iterations may use it, but nothing after them.
    scopes_.emplace_back();
    ++opened;
    make(iteration);
  }
  cc_.bind(done);
  scopes_.resize(scopes_.size() - opened);
}

/// The vectors that a vector loop takes.
std::vector<PhaseEmitter::Lane> PhaseEmitter::vectors_of(const Loop& loop) {
  const Dim extent = at(loop.extent);
  const Interval range = facts_.range(extent);
  const int lanes = lanes_.count();
  const int vectors = static_cast<int>((range.high + lanes - 1) / lanes);
  std::vector<Lane> all;
  for (int chunk = 0; chunk < vectors; ++chunk) {
    Lane lane{loop.variable, chunk, {}, {}, {}};
    const int64_t first = int64_t{chunk} * lanes;
    if (range.low < first + lanes) {
      lane.rest = extent - Dim(first);
      lane.mask = mask_of(lane.rest, lane.mask_name);
    }
    all.push_back(lane);
  }
  return all;
}

void PhaseEmitter::emit_vector(const Loop& loop) {
  const Dim extent = at(loop.extent);
  const Interval range = facts_.range(extent);
  if (range.high <= 0) return;
  if (range.high > most_unrolled || loop.step != 1)
    refuse("the vector loop " + loop.variable + " has no small extent, or a step");
  // Lanes run together: what a statement writes, others may read at the same lane only.
  std::map<int, std::string> written;
  std::map<int, const ir::Dims*> places;
  for (const Statement& statement : loop.body) {
    const auto& target = std::get<Compute>(statement).target;
    places[target.buffer] = &target.indices;
    std::string indices;
    for (const Dim& index : target.indices) indices += index.to_string() + ",";
    const auto [found, fresh] = written.emplace(target.buffer, indices);
    if (!fresh && found->second != indices)
      refuse("a vector loop writes " + buffer(target.buffer).name + " in two places");
  }
  for (const Statement& statement : loop.body) {
    collect_value(std::get<Compute>(statement).value, [&](const ir::loop::Access& access) {
      const auto found = written.find(access.buffer);
      if (found == written.end()) return;
      std::string indices;
      bool moves = false;
      for (const Dim& index : access.indices) {
        indices += index.to_string() + ",";
        moves = moves || mentions(index, loop.variable);
      }
      const ir::Dims& other = *places.at(access.buffer);
      bool apart = false;  // in entries that no lane shares, like a state and the next
      for (size_t d = 0; d < other.size(); ++d) {
        const Dim difference = access.indices[d] - other[d];
        const bool lanes = mentions(access.indices[d], loop.variable) || mentions(other[d], loop.variable);
        apart = apart || (!lanes && difference.is_constant() && difference != Dim(0));
      }
      if (!apart && (indices != found->second || !moves))
        refuse("a vector loop reads what another of its lanes writes: " + buffer(access.buffer).name);
    });
  }
  facts_.set_range(loop.variable, {0, range.high - 1});  // the same whenever the loop is met
  const std::vector<Lane> all = vectors_of(loop);
  for (const Statement& statement : loop.body) {
    const auto& compute = std::get<Compute>(statement);
    values_.clear();
    uses_.clear();
    comment(buffer(compute.target.buffer).name + " = ... in lanes of " + loop.variable);
    const bool folds = std::none_of(compute.target.indices.begin(), compute.target.indices.end(),
                                    [&](const Dim& index) { return mentions(at(index), loop.variable); });
    if (folds) {
      std::vector<LaneValue> parts;
      if (compute.combine == ir::loop::Combine::assign)
        refuse("a vector loop assigns one element of " + buffer(compute.target.buffer).name + " many times");
      const ir::ElementType type = buffer(compute.target.buffer).type;
      const LaneValue identity = typed_.identity(compute.combine, type);
      for (const Lane& lane : all) {
        lane_ = lane;
        LaneValue part = value(compute.value);
        if (lane.mask.defined()) part = typed_.select(type, lane.mask, part, identity);
        parts.push_back(part);
      }
      lane_.reset();
      values_.clear();
      write_value(compute, folded(compute.combine, type, parts));
      continue;
    }
    lane_ = all.front();
    bind_lookups(compute);
    size_t done = 0;
    while (done + 1 < all.size() && write_bytes_of_two(compute, all[done], all[done + 1])) done += 2;
    std::vector<asmjit::BaseNode*> boundaries = {cc_.cursor()};
    for (; done < all.size(); ++done) {
      lane_ = all[done];
      uses_.clear();
      write_value(compute, {});
      boundaries.push_back(cc_.cursor());
    }
    lane_.reset();
    interleave(cc_, boundaries, lanes_.registers() - lanes_.held() - registers_taken_);
  }
  facts_.forget_range(loop.variable);
}

/// Masks that are the same in every iteration, as far as registers last.
void PhaseEmitter::hoist_masks(const Block& body, const std::string& variable) {
  const size_t most_masks = lanes_.wide() ? 4 : 2;
  for (const Statement* statement : body) {
    const auto* loop = std::get_if<Loop>(statement);
    if (loop == nullptr || loop->kind != LoopKind::vector) continue;
    const Dim extent = at(loop->extent);
    const Interval range = facts_.range(extent);
    if (mentions(extent, variable) || range.high > most_unrolled) continue;
    for (int64_t first = 0; first < range.high; first += lanes_.count()) {
      if (range.low >= first + lanes_.count() || scopes_.back().masks.size() >= most_masks) continue;
      std::string name;
      mask_of(extent - Dim(first), name);
    }
  }
}

LaneValue PhaseEmitter::mask_of(const Dim& rest, std::string& name) {
  name = rest.to_string();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->masks.find(name);
    if (found != scope->masks.end()) return found->second;
  }
  const LaneValue mask =
      rest.is_constant() ? lanes_.first_lanes(rest.value()) : lanes_.first_lanes(integers_.value(rest));
  scopes_.back().masks[name] = mask;
  return mask;
}

// Versions
// ---------------------------------------------------------------------------------------------------------

template <class Body>
void PhaseEmitter::emit_versions(const Block& body, const std::string& variable, const Body& make) {
  std::vector<Dim> needed;
  if (versions_ < most_versions) needed = conditions_of(body, program_, facts_, literals_, variable);
  if (needed.empty()) return make();
  ++versions_;
  const Label general = cc_.newLabel(), done = cc_.newLabel();
  for (const Dim& condition : needed) {
    const Gp margin = integers_.value(condition);
    cc_.test(margin, margin);
    cc_.js(general);
  }
  const size_t assumptions = facts_.assumptions();
  for (const Dim& condition : needed) facts_.assume_nonnegative(facts_.resolve(condition));
  forget_addresses();
  scopes_.emplace_back();
  make();
  scopes_.pop_back();
  facts_.forget(assumptions);
  forget_addresses();
  cc_.jmp(done);
  cc_.bind(general);
  scopes_.emplace_back();
  make();
  scopes_.pop_back();
  cc_.bind(done);
}

}  // namespace axrun::jit::x86
