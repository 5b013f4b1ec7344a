// Where values live while a plan runs: the stages of PlanBuilder that decide it.

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

size_t PlanBuilder::bytes_of(ValueId id) const {
  constexpr int64_t most = int64_t{1} << 40;
  const auto too_large = [&] {
    return Error(Fault::user, fmt::format("a tensor of shape {} is too large", ir::to_string(shape_of(id))));
  };
  if (form_) {
    const PlanForm::Bytes& known = form_->bytes[static_cast<size_t>(id)];
    const int64_t bytes = known.number >= 0 ? numbers_[static_cast<size_t>(known.number)] : known.bytes;
    if (bytes > most) throw too_large();
    return static_cast<size_t>(bytes);
  }
  const ValueFact& fact = this->fact(id);
  const int64_t count = ir::product(*fact.dims).value();
  const size_t element = ir::size_of(fact.type);
  if (count > most / static_cast<int64_t>(std::max<size_t>(element, 1))) throw too_large();
  return static_cast<size_t>(count) * element;
}

ir::Shape PlanBuilder::shape_of(ValueId id) const {
  const int32_t place = form_ ? (*form_->places)[static_cast<size_t>(id)] : -1;
  if (place < 0 || form_->open_facts[static_cast<size_t>(place)].dims.empty())
    return *ir::constant_dims(*(form_ ? (*form_->facts)[static_cast<size_t>(id)] : fact(id)).dims);
  ir::Shape shape;
  for (const size_t number : form_->open_facts[static_cast<size_t>(place)].dims)
    shape.push_back(numbers_[number]);
  return shape;
}

void PlanBuilder::place_values() {
  using Kind = ValuePlace::Kind;
  const size_t values = graph_->values.size();
  auto places = std::make_shared<PlanPlaces>();
  places->live_in = live_in_;
  plan_->graph_ = graph_;
  plan_->facts_ = facts_;

  // 1. Places that are given.
  std::vector<ValuePlace> fixed(values);
  for (size_t id = 0; id < values; ++id) {
    const ir::Tensor& constant = fact(static_cast<ValueId>(id)).constant;
    if (slot_[id]) fixed[id].kind = Kind::slot;
    if (!constant.defined()) continue;
    const bool has_address =
        constant.type() != ir::ElementType::string && !told_by_sizes(static_cast<ValueId>(id));
    fixed[id] = {Kind::constant, 0, has_address ? constant.data() : nullptr};
  }
  for (size_t k = 0; k < live_in_.size(); ++k) {
    const auto id = static_cast<size_t>(live_in_[k]);
    if (!fact(static_cast<ValueId>(id)).constant.defined()) fixed[id] = {Kind::input, k, nullptr};
  }
  // 2. Life of each set of values that share a buffer.
  const int end = static_cast<int>(plan_->steps_.size());
  std::vector<int> first(values, end), last(values, -1);
  std::vector<bool> touched(values, false);
  for (int s = 0; s < end; ++s) {
    const Step& step = plan_->steps_[static_cast<size_t>(s)];
    places->widest_step =
        std::max({places->widest_step, step.work->inputs.size(), step.work->outputs.size()});
    const auto touch = [&](ValueId id) {
      if (id == ir::absent) return;
      touched[static_cast<size_t>(id)] = true;
      const auto at = static_cast<size_t>(root(id));
      first[at] = std::min(first[at], s);
      last[at] = std::max(last[at], s);
    };
    for (ValueId id : step.work->inputs) touch(id);
    for (ValueId id : step.work->outputs) touch(id);
    if (step.bodies) {
      for (ValueId id : ir::reads_of(*step.work->node)) touch(id);
    }
  }
  for (ValueId id : tail_live_in_) {
    touched[static_cast<size_t>(id)] = true;
    last[static_cast<size_t>(root(id))] = end;
  }
  // What is a part of another value lives as long as that, and nothing takes over the place of either.
  std::vector<bool> pinned(values, false);
  for (const auto& part : parts_) {
    pinned[static_cast<size_t>(part.first)] = true;
    pinned[static_cast<size_t>(root(part.second.part))] = true;
  }
  std::vector<int> output_of(values, -1);  // per root: the graph output whose buffer it uses
  for (size_t k = 0; k < graph_->outputs.size(); ++k) {
    const ValueId id = graph_->outputs[k];
    places->output_types.push_back(fact(id).type);
    if (!outputs_[k] || pending_[static_cast<size_t>(id)]) continue;
    const auto at = static_cast<size_t>(root(id));
    if (fixed[at].kind != Kind::nowhere || output_of[at] >= 0 || pinned[at]) {
      touched[static_cast<size_t>(id)] = true;
      places->copies.push_back({id, k});
      last[at] = end;
      continue;
    }
    output_of[at] = static_cast<int>(k);
    places->outputs.push_back({k, id});
  }
  for (const auto& part : parts_) {
    const auto own = static_cast<size_t>(part.first);
    const auto whole = static_cast<size_t>(outermost(part.first));
    first[whole] = std::min(first[whole], first[own]);
    last[whole] = std::max(last[whole], last[own]);
  }
  // 3. A result may take over the buffer of an input that ends with its step.
  if (options_.reuse_buffers) {
    for (int s = 0; s < end; ++s) {
      const Step& step = plan_->steps_[static_cast<size_t>(s)];
      if (!step.kernel || step.work->outputs.empty() || step.work->outputs[0] == ir::absent) continue;
      for (int k : step.kernel->in_place()) {
        if (static_cast<size_t>(k) >= step.work->inputs.size() ||
            step.work->inputs[static_cast<size_t>(k)] == ir::absent)
          continue;
        const ValueId from = root(step.work->inputs[static_cast<size_t>(k)]);
        const ValueId to = root(step.work->outputs[0]);
        const auto f = static_cast<size_t>(from);
        const auto t = static_cast<size_t>(to);
        if (from == to || fixed[f].kind != Kind::nowhere || last[f] != s || output_of[f] >= 0 ||
            first[t] != s || pinned[f] || pinned[t])
          continue;
        if (bytes_of(from) != bytes_of(to)) continue;
        // The same buffer, as another view or at another position, may be read in another order.
        const auto same_buffer = [&](ValueId id) { return id != ir::absent && root(id) == from; };
        const bool other_view =
            std::count_if(step.work->inputs.begin(), step.work->inputs.end(), same_buffer) > 1;
        if (other_view) continue;
        join(from, to);
        places->shared.push_back({static_cast<size_t>(s), k, from, to});
        first[t] = first[f];
        break;
      }
    }
  }
  // 4. The arena.
  std::vector<BufferLife> lives;
  for (size_t id = 0; id < values; ++id) {
    if (root(static_cast<ValueId>(id)) != static_cast<ValueId>(id) || last[id] < 0) continue;
    if (fixed[id].kind != Kind::nowhere || output_of[id] >= 0) continue;
    if (parts_.count(static_cast<ValueId>(id)) != 0) continue;
    fixed[id] = {Kind::arena, lives.size(), nullptr};
    lives.push_back({bytes_of(static_cast<ValueId>(id)), first[id], last[id]});
    places->buffers.push_back({static_cast<ValueId>(id), first[id], last[id]});
  }
  places->order = MemoryOrder(lives);
  const auto place_part = [&](ValueId id, const auto& self) -> void {
    ValuePlace& own = fixed[static_cast<size_t>(id)];
    if (own.kind != Kind::nowhere) return;
    const Part& part = parts_.at(id);
    const ValueId whole = root(part.part);
    if (parts_.count(whole) != 0) self(whole, self);
    const ValuePlace& in = fixed[static_cast<size_t>(whole)];
    AXRUN_ASSERT(in.kind == Kind::arena);
    own = {Kind::arena, places->buffers.size() + places->parts.size(), nullptr};
    places->parts.push_back({in.index, part.before});
  };
  for (const auto& part : parts_) place_part(part.first, place_part);
  for (size_t id = 0; id < values; ++id) {
    if (output_of[id] >= 0) fixed[id] = {Kind::output, static_cast<size_t>(output_of[id]), nullptr};
  }
  places->of.resize(values);
  for (size_t id = 0; id < values; ++id) {
    const auto at = static_cast<size_t>(root(static_cast<ValueId>(id)));
    const size_t of = fixed[id].kind == Kind::constant ? id : at;
    places->of[id] = fixed[of];
    if (touched[id] && fixed[of].kind == Kind::constant && told_by_sizes(static_cast<ValueId>(of)))
      places->own_constants.push_back({static_cast<ValueId>(id), static_cast<ValueId>(of)});
  }
  list_places(*places);
  plan_->places_ = std::move(places);
  lay_buffers();
}

void PlanBuilder::list_places(PlanPlaces& places) const {
  using Kind = ValuePlace::Kind;
  for (size_t id = 0; id < places.of.size(); ++id) {
    const Kind kind = places.of[id].kind;
    if (kind == Kind::input || kind == Kind::output) places.bound.push_back(static_cast<ValueId>(id));
    if (kind == Kind::slot) places.in_slots.push_back(static_cast<ValueId>(id));
  }
  const auto pass_on = [&](ValueId id) {
    if (id == ir::absent || slot_[static_cast<size_t>(id)] || !fact(id).dims ||
        !ir::constant_dims(*fact(id).dims))
      return;
    places.passed_on.push_back(id);
  };
  for (const Step& step : plan_->steps_) {
    if (step.kernel) continue;
    for (const ValueId id : step.work->inputs) pass_on(id);
    for (const ValueId id : ir::reads_of(*step.work->node)) pass_on(id);
  }
  for (const ValueId id : tail_live_in_) pass_on(id);
  for (const PlanPlaces::OutputCopy& copy : places.copies) pass_on(copy.value);
}

bool PlanBuilder::told_by_sizes(ValueId id) const {
  const int32_t place = form_ ? (*form_->places)[static_cast<size_t>(id)] : -1;
  return place >= 0 && !form_->open_facts[static_cast<size_t>(place)].elements.empty();
}

ir::Tensor PlanBuilder::constant_of(ValueId id) const {
  // Kernels that know where it is have it from the facts.
  if (facts_.size() > 0) return fact(id).constant;
  return form_->constant_at(form_->open_facts[static_cast<size_t>((*form_->places)[static_cast<size_t>(id)])],
                            numbers_);
}

void PlanBuilder::lay_buffers() {
  const PlanPlaces& places = *plan_->places_;
  std::vector<BufferLife> lives;
  lives.reserve(places.buffers.size());
  for (const PlanPlaces::Buffer& buffer : places.buffers)
    lives.push_back({bytes_of(buffer.owner), buffer.first, buffer.last});
  MemoryPlan memory = form_ && options_.reuse_buffers
                          ? places.last_memory->at(std::move(lives), places.order)
                          : plan_memory(lives, places.order, options_.reuse_buffers);
  for (const PlanPlaces::Part& part : places.parts) {
    size_t offset = memory.offsets[part.in];
    for (const ValueId id : part.before) offset += bytes_of(id);
    memory.offsets.push_back(offset);
  }
  plan_->offsets_ = std::move(memory.offsets);
  plan_->scratch_offset_ = memory.bytes;
  plan_->arena_bytes_ = memory.bytes + scratch_bytes_;
  size_t needed = plan_->arena_bytes_;
  for (const PlanPlaces::Output& output : places.outputs) needed += bytes_of(output.value);
  if (needed > options_.memory_limit) {
    throw Error(Fault::user,
                fmt::format("a run with these shapes needs {} MiB, more than the {} MiB that may be used",
                            needed >> 20, options_.memory_limit >> 20));
  }
  plan_->output_shapes_.resize(graph_->outputs.size());
  for (const PlanPlaces::Output& output : places.outputs)
    plan_->output_shapes_[output.index] = shape_of(output.value);
  if (!places.passed_on.empty()) plan_->shapes_.resize(places.of.size());
  for (const ValueId id : places.passed_on) plan_->shapes_[static_cast<size_t>(id)] = shape_of(id);
  for (const PlanPlaces::OwnConstant& constant : places.own_constants)
    plan_->own_constants_.push_back(constant_of(constant.of));
}

}  // namespace axrun::runtime
