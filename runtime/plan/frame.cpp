#include "runtime/plan/frame.h"

#include <cstring>
#include <utility>

#include "ir/error.h"
#include "ir/lasting.h"

namespace axrun::runtime {

using Kind = ValuePlace::Kind;

Frame::Frame(const Plan& plan) : arena(plan.arena_bytes_), pointers(plan.places_->of.size(), nullptr) {
  const PlanPlaces& places = *plan.places_;
  for (size_t id = 0; id < places.of.size(); ++id) {
    if (places.of[id].kind == Kind::constant) pointers[id] = const_cast<void*>(places.of[id].address);
  }
  point(plan);
  if (!places.in_slots.empty()) slots.resize(places.of.size());
  call_inputs.resize(places.widest_step);
  call_outputs.resize(places.widest_step);
}

void Frame::move_to(const Plan& plan) {
  // Sizes that grow from run to run are not to make each run's arena anew.
  if (arena.size() < plan.arena_bytes_) arena = AlignedBuffer(plan.arena_bytes_ + plan.arena_bytes_ / 4);
  point(plan);
}

void Frame::point(const Plan& plan) {
  plan_id_ = plan.id();
  const PlanPlaces& places = *plan.places_;
  for (size_t id = 0; id < places.of.size(); ++id) {
    if (places.of[id].kind == Kind::arena)
      pointers[id] = static_cast<char*>(arena.data()) + plan.offsets_[places.of[id].index];
  }
  for (size_t k = 0; k < places.own_constants.size(); ++k)
    pointers[static_cast<size_t>(places.own_constants[k].id)] =
        const_cast<void*>(plan.own_constants_[k].data());
}

void Frame::bind(const Plan& plan, const std::vector<RuntimeValue>& values,
                 std::vector<RuntimeValue>& results) {
  live_in = &values;
  outputs = &results;
  for (const ir::ValueId value : plan.places_->bound) {
    const auto id = static_cast<size_t>(value);
    const ValuePlace& place = plan.places_->of[id];
    if (place.kind == Kind::input) {
      pointers[id] = const_cast<void*>(values[place.index].tensor.data());
    } else {
      RuntimeValue& result = results[place.index];
      // Values of other types and shapes may have lived here before: what the output itself is decides.
      const ir::ElementType type = plan.places_->output_types[place.index];
      const ir::Shape& shape = plan.output_shapes_[place.index];
      const bool fits = result.kind == ir::ValueKind::tensor && result.tensor.type() == type &&
                        result.tensor.shape() == shape;
      if (!fits) result = RuntimeValue(ir::Tensor::allocate_uninitialized(type, shape));
      pointers[id] = result.tensor.data();
    }
  }
}

void Frame::release(const Plan& plan) {
  live_in = nullptr;
  outputs = nullptr;
  for (const ir::ValueId id : plan.places_->in_slots) slots[static_cast<size_t>(id)] = RuntimeValue();
}

RuntimeValue Frame::value(const Plan& plan, ir::ValueId id) const {
  RuntimeValue value;
  read(plan, id, value);
  return value;
}

void Frame::read(const Plan& plan, ir::ValueId id, RuntimeValue& to) const {
  const auto at = static_cast<size_t>(id);
  const ValuePlace& place = plan.places_->of[at];
  if (place.kind == Kind::input && plan.places_->live_in[place.index] == id) {
    to = (*live_in)[place.index];
    return;
  }
  if (place.kind == Kind::slot) {
    to = slots[at];
    return;
  }
  if (to.kind != ir::ValueKind::tensor) to = RuntimeValue();
  const ir::ValueFact& fact = plan.fact(id);
  if (fact.constant.defined()) {
    to.tensor = fact.constant;
    to.type = fact.constant.type();
  } else {
    // A constant's place, of a value that is no constant itself, is that of a view of one.
    AXRUN_ASSERT(place.kind != Kind::nowhere && place.kind != Kind::slot);
    static const auto& none = lasting(ir::Shape());
    const ir::Shape& known = plan.shapes_.empty() ? none : plan.shapes_[at];
    to.tensor.lend(fact.type, known.empty() ? *ir::constant_dims(*fact.dims) : known, pointers[at]);
    to.type = fact.type;
  }
}

void Frame::put(const Plan& plan, ir::ValueId id, RuntimeValue value) {
  const auto at = static_cast<size_t>(id);
  const ValuePlace& place = plan.places_->of[at];
  if (place.kind == Kind::slot) {
    slots[at] = std::move(value);
    return;
  }
  if (place.kind == Kind::constant) return;
  const ir::ValueFact& fact = plan.fact(id);
  AXRUN_ASSERT(place.kind == Kind::arena || place.kind == Kind::output);
  AXRUN_ASSERT(value.tensor.type() == fact.type && value.tensor.shape() == *ir::constant_dims(*fact.dims));
  if (value.tensor.bytes() > 0) std::memcpy(pointers[at], value.tensor.data(), value.tensor.bytes());
}

}  // namespace axrun::runtime
