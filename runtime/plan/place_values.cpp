// Where values live while a plan runs: the stages of PlanBuilder that decide it.

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

namespace {

size_t bytes_of(const ValueFact& fact) {
  const int64_t count = ir::product(*fact.dims).value();
  const size_t element = ir::size_of(fact.type);
  if (static_cast<uint64_t>(count) > (uint64_t{1} << 40) / std::max<size_t>(element, 1)) {
    throw Error(Fault::user, fmt::format("a tensor of shape {} is too large", ir::to_string(*fact.dims)));
  }
  return static_cast<size_t>(count) * element;
}

}  // namespace

void PlanBuilder::place_values() {
  using Kind = ValuePlace::Kind;
  const size_t values = graph_->values.size();
  plan_->places_.assign(values, {});
  plan_->graph_ = graph_;
  plan_->live_in_ = live_in_;
  plan_->facts_ = facts_;

  // 1. Places that are given.
  std::vector<ValuePlace> fixed(values);
  for (size_t id = 0; id < values; ++id) {
    const ir::Tensor& constant = plan_->facts_[id].constant;
    if (slot_[id]) fixed[id].kind = Kind::slot;
    if (constant.defined() && constant.type() != ir::ElementType::string) {
      fixed[id] = {Kind::constant, 0, 0, constant.data()};
    } else if (constant.defined()) {
      fixed[id] = {Kind::constant, 0, 0, nullptr};
    }
  }
  for (size_t k = 0; k < live_in_.size(); ++k) {
    const auto id = static_cast<size_t>(live_in_[k]);
    if (!plan_->facts_[id].constant.defined()) fixed[id] = {Kind::input, k, 0, nullptr};
  }
  // 2. Life of each set of values that share a buffer.
  const int end = static_cast<int>(plan_->steps_.size());
  std::vector<int> first(values, end), last(values, -1);
  for (int s = 0; s < end; ++s) {
    const Step& step = plan_->steps_[static_cast<size_t>(s)];
    plan_->widest_step_ = std::max({plan_->widest_step_, step.inputs.size(), step.outputs.size()});
    const auto touch = [&](ValueId id) {
      if (id == ir::absent) return;
      const auto at = static_cast<size_t>(root(id));
      first[at] = std::min(first[at], s);
      last[at] = std::max(last[at], s);
    };
    for (ValueId id : step.inputs) touch(id);
    for (ValueId id : step.outputs) touch(id);
    if (step.bodies) {
      for (ValueId id : ir::reads_of(*step.node)) touch(id);
    }
  }
  for (ValueId id : tail_live_in_) last[static_cast<size_t>(root(id))] = end;
  // What is a part of another value lives as long as that, and nothing takes over the place of either.
  std::vector<bool> pinned(values, false);
  for (const auto& part : parts_) {
    pinned[static_cast<size_t>(part.first)] = true;
    pinned[static_cast<size_t>(root(part.second.part))] = true;
  }
  std::vector<int> output_of(values, -1);  // per root: the graph output whose buffer it uses
  plan_->output_shapes_.resize(graph_->outputs.size());
  for (size_t k = 0; k < graph_->outputs.size(); ++k) {
    const ValueId id = graph_->outputs[k];
    if (!outputs_[k] || pending_[static_cast<size_t>(id)]) continue;
    const auto at = static_cast<size_t>(root(id));
    if (fixed[at].kind != Kind::nowhere || output_of[at] >= 0 || pinned[at]) {
      plan_->copies_.push_back({id, k});
      last[at] = end;
      continue;
    }
    output_of[at] = static_cast<int>(k);
    plan_->output_shapes_[k] = *ir::constant_dims(*plan_->facts_[static_cast<size_t>(id)].dims);
  }
  for (const auto& part : parts_) {
    const auto own = static_cast<size_t>(part.first);
    const auto whole = static_cast<size_t>(outermost(part.first).part);
    first[whole] = std::min(first[whole], first[own]);
    last[whole] = std::max(last[whole], last[own]);
  }
  // 3. A result may take over the buffer of an input that ends with its step.
  if (options_.reuse_buffers) {
    for (int s = 0; s < end; ++s) {
      const Step& step = plan_->steps_[static_cast<size_t>(s)];
      if (!step.kernel || step.outputs.empty() || step.outputs[0] == ir::absent) continue;
      for (int k : step.kernel->in_place()) {
        if (static_cast<size_t>(k) >= step.inputs.size() || step.inputs[static_cast<size_t>(k)] == ir::absent)
          continue;
        const ValueId from = root(step.inputs[static_cast<size_t>(k)]);
        const ValueId to = root(step.outputs[0]);
        const auto f = static_cast<size_t>(from);
        const auto t = static_cast<size_t>(to);
        if (from == to || fixed[f].kind != Kind::nowhere || last[f] != s || output_of[f] >= 0 ||
            first[t] != s || pinned[f] || pinned[t])
          continue;
        if (bytes_of(plan_->facts_[f]) != bytes_of(plan_->facts_[t])) continue;
        // The same buffer, as another view or at another position, may be read in another order.
        const auto same_buffer = [&](ValueId id) { return id != ir::absent && root(id) == from; };
        const bool other_view = std::count_if(step.inputs.begin(), step.inputs.end(), same_buffer) > 1;
        if (other_view) continue;
        join(from, to);
        first[t] = first[f];
        break;
      }
    }
  }
  // 4. The arena.
  std::vector<BufferLife> lives;
  std::vector<size_t> owners;
  for (size_t id = 0; id < values; ++id) {
    if (root(static_cast<ValueId>(id)) != static_cast<ValueId>(id) || last[id] < 0) continue;
    if (fixed[id].kind != Kind::nowhere || output_of[id] >= 0) continue;
    if (parts_.count(static_cast<ValueId>(id)) != 0) continue;
    lives.push_back({bytes_of(plan_->facts_[id]), first[id], last[id]});
    owners.push_back(id);
  }
  const MemoryPlan memory = plan_memory(lives, options_.reuse_buffers);
  for (size_t i = 0; i < owners.size(); ++i) fixed[owners[i]] = {Kind::arena, 0, memory.offsets[i], nullptr};
  for (const auto& part : parts_) {
    const Part place = outermost(part.first);
    const ValuePlace& whole = fixed[static_cast<size_t>(place.part)];
    AXRUN_ASSERT(whole.kind == Kind::arena);
    fixed[static_cast<size_t>(part.first)] = {Kind::arena, 0, whole.offset + place.offset, nullptr};
  }
  for (size_t id = 0; id < values; ++id) {
    if (output_of[id] >= 0) fixed[id] = {Kind::output, static_cast<size_t>(output_of[id]), 0, nullptr};
  }
  for (size_t id = 0; id < values; ++id) {
    const auto at = static_cast<size_t>(root(static_cast<ValueId>(id)));
    plan_->places_[id] = fixed[id].kind == Kind::constant ? fixed[id] : fixed[at];
  }
  plan_->scratch_offset_ = memory.bytes;
  plan_->arena_bytes_ = memory.bytes + scratch_bytes_;
  size_t needed = plan_->arena_bytes_;
  for (size_t id = 0; id < values; ++id) {
    if (output_of[id] >= 0) needed += bytes_of(plan_->facts_[id]);
  }
  if (needed > options_.memory_limit) {
    throw Error(Fault::user,
                fmt::format("a run with these shapes needs {} MiB, more than the {} MiB that may be used",
                            needed >> 20, options_.memory_limit >> 20));
  }
}

void PlanBuilder::list_places() {
  using Kind = ValuePlace::Kind;
  for (size_t id = 0; id < plan_->places_.size(); ++id) {
    const Kind kind = plan_->places_[id].kind;
    if (kind == Kind::input || kind == Kind::output) plan_->bound_.push_back(static_cast<ValueId>(id));
    if (kind == Kind::slot) plan_->in_slots_.push_back(static_cast<ValueId>(id));
  }
  plan_->shapes_.resize(plan_->places_.size());
  const auto pass_on = [&](ValueId id) {
    if (id == ir::absent || slot_[static_cast<size_t>(id)] || !plan_->fact(id).dims ||
        !ir::constant_dims(*plan_->fact(id).dims))
      return;
    plan_->shapes_[static_cast<size_t>(id)] = *ir::constant_dims(*plan_->fact(id).dims);
  };
  for (const Step& step : plan_->steps_) {
    if (step.kernel) continue;
    for (const ValueId id : step.inputs) pass_on(id);
    for (const ValueId id : ir::reads_of(*step.node)) pass_on(id);
  }
  for (const ValueId id : tail_live_in_) pass_on(id);
  for (const OutputCopy& copy : plan_->copies_) pass_on(copy.value);
}

}  // namespace axrun::runtime
