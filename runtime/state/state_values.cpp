#include "runtime/state/state_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error_place.h"
#include "ir/lasting.h"
#include "runtime/plan/state_buffers.h"

namespace axrun::runtime {
namespace {

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

[[noreturn]] void refuse(const StatefulModel::Kept& kept, const std::string& why) {
  throw PlacedError(Fault::user, fmt::format("state of input '{}': {}", kept.input, why),
                    ErrorPlace::of_input(kept.input));
}

}  // namespace

StateValue::Buffer::Buffer(ir::Tensor tensor, uint64_t state, std::shared_ptr<std::atomic<int64_t>> count)
    : memory(std::move(tensor)), writer(state), count_(std::move(count)) {
  *count_ += static_cast<int64_t>(memory.bytes());
}

StateValue::Buffer::~Buffer() { *count_ -= static_cast<int64_t>(memory.bytes()); }

/// As long as the value may become.
ir::Shape StateValue::whole(const ir::Shape& shape) const {
  ir::Shape whole = shape;
  if (kept_->feed.grows) whole[*kept_->feed.grows] = capacity_;
  return whole;
}

std::shared_ptr<StateValue::Buffer> StateValue::new_buffer(const ir::Shape& shape) const {
  return buffer_of(ir::Tensor::allocate(kept_->type, whole(shape)));
}

std::shared_ptr<StateValue::Buffer> StateValue::buffer_of(ir::Tensor tensor) const {
  return std::make_shared<Buffer>(std::move(tensor), state_, bytes_);
}

StateValue StateValue::for_state(uint64_t state) const {
  StateValue other = *this;
  other.state_ = state;
  other.spare_.reset();
  return other;
}

void StateValue::reset() {
  has_value_ = false;
  growth_ = 0;
}

void StateValue::set(const ir::Tensor& value) {
  const ir::Dims& dims = kept_->dims;
  bool fits = value.type() == kept_->type && value.shape().size() == dims.size();
  for (size_t d = 0; fits && d < dims.size(); ++d)
    fits = !dims[d].is_constant() || dims[d].value() == value.shape()[d];
  if (!fits) {
    refuse(*kept_, fmt::format("it cannot be {} {}, the model takes {} {}", ir::name_of(value.type()),
                               ir::to_string(value.shape()), ir::name_of(kept_->type), ir::to_string(dims)));
  }
  require_room(value.shape());
  if (is_in_place()) {
    buffer_ = new_buffer(value.shape());
    copy_positions(value, buffer_->memory, *kept_->feed.grows, value.shape()[*kept_->feed.grows]);
  } else {
    memory_ = buffer_of(value.clone());
  }
  shape_ = value.shape();
  growth_ = 0;
  has_value_ = true;
}

ir::Tensor StateValue::get() const {
  if (!has_value_) return {};
  if (!is_in_place()) return ir::Tensor::borrow(kept_->type, shape_, memory_->memory.data()).clone();
  ir::Tensor value = ir::Tensor::allocate(kept_->type, shape_);
  copy_positions(buffer_->memory, value, *kept_->feed.grows, length());
  return value;
}

int64_t StateValue::length() const {
  return has_value_ && kept_->feed.grows ? shape_[*kept_->feed.grows] : 0;
}

void StateValue::require_room(const ir::Shape& shape) const {
  const auto axis = kept_->feed.grows;
  if (!axis || shape[*axis] <= capacity_) return;
  refuse(*kept_, fmt::format("it has a capacity of {}: there is no room for {}", capacity_, shape[*axis]));
}

void StateValue::begin(const std::vector<RuntimeValue>& inputs) {
  shape_.clear();
  for (size_t d = 0; d < kept_->dims.size(); ++d) {
    const auto& seen = kept_->seen[d];
    if (kept_->feed.grows == d) {
      shape_.push_back(0);
    } else if (kept_->dims[d].is_constant()) {
      shape_.push_back(kept_->dims[d].value());
    } else if (seen && seen->axis < inputs[seen->input].tensor.shape().size()) {
      shape_.push_back(inputs[seen->input].tensor.shape()[seen->axis]);
    } else {
      refuse(*kept_,
             fmt::format("no other input says how long dimension {} ('{}') is: it needs a first value", d,
                         kept_->dims[d].to_string()));
    }
  }
  if (is_in_place()) {
    const bool serves = buffer_ && buffer_->memory.shape() == whole(shape_) && buffer_.use_count() == 1;
    if (!serves) buffer_ = new_buffer(shape_);
  } else {
    memory_ = new_buffer(shape_);
  }
}

void StateValue::own_buffer() {
  if (buffer_->writer.load(std::memory_order_relaxed) == state_) return;
  if (buffer_.use_count() == 1) {
    // What the states that have had it have read and written comes before.
    std::atomic_thread_fence(std::memory_order_acquire);
    buffer_->writer = state_;
    return;
  }
  auto own = new_buffer(shape_);
  copy_positions(buffer_->memory, own->memory, *kept_->feed.grows, length());
  buffer_ = std::move(own);
}

void StateValue::give(std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs) {
  if (!has_value_) begin(inputs);
  const StateFeed& feed = kept_->feed;
  inputs[feed.input].type = outputs[feed.output].type = kept_->type;
  if (is_in_place()) {
    give_in_place(inputs, outputs);
  } else {
    give_anew(inputs, outputs);
  }
}

void StateValue::give_in_place(std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs) {
  own_buffer();
  const StateFeed& feed = kept_->feed;
  ir::Tensor& memory = buffer_->memory;
  inputs[feed.input].tensor.lend(kept_->type, shape_, memory.data());
  inputs[*feed.buffer].type = kept_->type;
  for (RuntimeValue* value : {&inputs[*feed.buffer], &outputs[feed.output]})
    value->tensor.lend(kept_->type, memory.shape(), memory.data());
  static const auto& one = lasting(ir::Shape{1});
  outputs[*feed.length].tensor.lend(ir::ElementType::i64, one, &filled_);
  outputs[*feed.length].type = ir::ElementType::i64;
}

void StateValue::give_anew(std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs) {
  const StateFeed& feed = kept_->feed;
  inputs[feed.input].tensor.lend(kept_->type, shape_, memory_->memory.data());
  // As much longer as the last run has made it, most likely: what does not fit is made anew.
  next_shape_ = shape_;
  if (feed.grows) next_shape_[*feed.grows] = std::min(capacity_, next_shape_[*feed.grows] + growth_);
  if (!spare_ || spare_->memory.size() < ir::element_count(next_shape_)) spare_ = new_buffer(shape_);
  outputs[feed.output].tensor.lend(kept_->type, next_shape_, spare_->memory.data());
}

void StateValue::check(const std::vector<RuntimeValue>& outputs) const {
  if (!is_in_place()) require_room(outputs[kept_->feed.output].tensor.shape());
}

void StateValue::take(std::vector<RuntimeValue>& outputs) {
  const StateFeed& feed = kept_->feed;
  ir::Tensor& result = outputs[feed.output].tensor;
  has_value_ = true;
  if (is_in_place()) {
    const int64_t filled = outputs[*feed.length].tensor.get_int(0);
    // The reference tier has memory of its own.
    if (result.data() != buffer_->memory.data()) copy_positions(result, buffer_->memory, *feed.grows, filled);
    shape_[*feed.grows] = filled;
    return;
  }
  if (feed.grows) growth_ = result.shape()[*feed.grows] - shape_[*feed.grows];
  shape_ = result.shape();
  std::shared_ptr<Buffer> next = std::move(spare_);
  if (result.data() != next->memory.data()) {
    const bool is_own = result.keeps_buffer() && result.data() != memory_->memory.data();
    next = buffer_of(is_own ? result : result.clone());
  }
  // Another state may have the same value.
  spare_ = memory_.use_count() == 1 ? std::move(memory_) : nullptr;
  memory_ = std::move(next);
}

StateValues::StateValues(std::shared_ptr<StatefulModel> model, int64_t capacity)
    : model_(std::move(model)), capacity_(capacity) {
  const uint64_t number = next_number();
  for (const StatefulModel::Kept& kept : model_->kept())
    values_.emplace_back(kept, capacity, number, model_->state_bytes_count());
  inputs.resize(model_->session().inputs.size());
  outputs.resize(model_->session().outputs.size());
}

StateValues::StateValues(const StateValues& like) : model_(like.model_), capacity_(like.capacity_) {
  const uint64_t number = next_number();
  for (const StateValue& value : like.values_) values_.push_back(value.for_state(number));
  inputs.resize(like.inputs.size());
  outputs.resize(like.outputs.size());
}

std::unique_ptr<StateValues> StateValues::fork() const {
  const Use use(*this);
  return std::unique_ptr<StateValues>(new StateValues(*this));
}

StateValue& StateValues::value_of(const std::string& input) {
  const auto value = std::find_if(values_.begin(), values_.end(),
                                  [&](const StateValue& one) { return one.kept().input == input; });
  if (value == values_.end()) throw Error(Fault::user, fmt::format("the state has no input '{}'", input));
  return *value;
}

StateValues::Use::Use(const StateValues& state) : state_(state) {
  if (state.in_use_.exchange(true, std::memory_order_acquire))
    throw Error(Fault::user, "the state is in use: a state takes one run at a time");
}

}  // namespace axrun::runtime
