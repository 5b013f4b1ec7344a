#include "runtime/plan/frame.h"

#include <cstring>
#include <utility>

#include "ir/error.h"

namespace axrun::runtime {

using Kind = ValuePlace::Kind;

Frame::Frame(const Plan& plan) : arena(plan.arena_bytes_), pointers(plan.places_.size(), nullptr) {
  bool has_slots = false;
  for (size_t id = 0; id < plan.places_.size(); ++id) {
    const ValuePlace& place = plan.places_[id];
    if (place.kind == Kind::constant) pointers[id] = const_cast<void*>(place.address);
    if (place.kind == Kind::arena) pointers[id] = static_cast<char*>(arena.data()) + place.offset;
    has_slots |= place.kind == Kind::slot;
  }
  if (has_slots) slots.resize(plan.places_.size());
  call_inputs.resize(plan.widest_step_);
  call_outputs.resize(plan.widest_step_);
}

void Frame::bind(const Plan& plan, const std::vector<RuntimeValue>& values,
                 std::vector<RuntimeValue>& results) {
  live_in = &values;
  outputs = &results;
  for (const ir::ValueId value : plan.bound_) {
    const auto id = static_cast<size_t>(value);
    const ValuePlace& place = plan.places_[id];
    if (place.kind == Kind::input) {
      pointers[id] = const_cast<void*>(values[place.index].tensor.data());
    } else {
      RuntimeValue& result = results[place.index];
      // Values of other types and shapes may have lived here before: what the output itself is decides.
      const ir::ElementType type = plan.facts_[static_cast<size_t>(plan.graph_->outputs[place.index])].type;
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
  for (const ir::ValueId id : plan.in_slots_) slots[static_cast<size_t>(id)] = RuntimeValue();
}

RuntimeValue Frame::value(const Plan& plan, ir::ValueId id) const {
  RuntimeValue value;
  read(plan, id, value);
  return value;
}

void Frame::read(const Plan& plan, ir::ValueId id, RuntimeValue& to) const {
  const auto at = static_cast<size_t>(id);
  const ValuePlace& place = plan.places_[at];
  const ir::ValueFact& fact = plan.facts_[at];
  if (place.kind == Kind::input && plan.live_in_[place.index] == id) {
    to = (*live_in)[place.index];
    return;
  }
  if (place.kind == Kind::slot) {
    to = slots[at];
    return;
  }
  if (to.kind != ir::ValueKind::tensor) to = RuntimeValue();
  if (fact.constant.defined()) {
    to.tensor = fact.constant;
    to.type = fact.constant.type();
  } else {
    // A constant's place, of a value that is no constant itself, is that of a view of one.
    AXRUN_ASSERT(place.kind != Kind::nowhere && place.kind != Kind::slot);
    const ir::Shape& known = plan.shapes_[at];
    to.tensor.lend(fact.type, known.empty() ? *ir::constant_dims(*fact.dims) : known, pointers[at]);
    to.type = fact.type;
  }
}

void Frame::put(const Plan& plan, ir::ValueId id, RuntimeValue value) {
  const auto at = static_cast<size_t>(id);
  const ValuePlace& place = plan.places_[at];
  if (place.kind == Kind::slot) {
    slots[at] = std::move(value);
    return;
  }
  if (place.kind == Kind::constant) return;
  const ir::ValueFact& fact = plan.facts_[at];
  AXRUN_ASSERT(place.kind == Kind::arena || place.kind == Kind::output);
  AXRUN_ASSERT(value.tensor.type() == fact.type && value.tensor.shape() == *ir::constant_dims(*fact.dims));
  if (value.tensor.bytes() > 0) std::memcpy(pointers[at], value.tensor.data(), value.tensor.bytes());
}

}  // namespace axrun::runtime
