#include "runtime/control/body_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/control/graph_operators.h"

namespace axrun::runtime {

using ir::Tensor;

void CarriedValue::offer(const RuntimeValue& now, RuntimeValue& place) {
  offered_ = nullptr;
  const bool plain = now.kind == ir::ValueKind::tensor && now.tensor.size() > 0 &&
                     now.tensor.type() != ir::ElementType::string;
  if (!plain || is_given_elsewhere_) {
    place = RuntimeValue();
    return;
  }
  Tensor& free = own_[0].defined() && own_[0].data() == now.tensor.data() ? own_[1] : own_[0];
  if (!free.defined() || free.type() != now.tensor.type() || free.shape() != now.tensor.shape())
    free = Tensor::allocate_uninitialized(now.tensor.type(), now.tensor.shape());
  offered_ = free.data();
  // From the third run on it mostly is there already: what the run before the last gave.
  const bool is_there = place.tensor.data() == offered_ && place.tensor.type() == free.type() &&
                        place.tensor.shape() == free.shape() && place.kind == ir::ValueKind::tensor;
  if (!is_there) place = RuntimeValue(free);
  place.type = now.type;
}

void CarriedValue::taken(const RuntimeValue& result) {
  if (offered_ != nullptr && result.tensor.data() != offered_) is_given_elsewhere_ = true;
}

StackedValue::StackedValue(const ir::Node& node, int64_t axis, bool backwards, int64_t expected)
    : node_(node), axis_(axis), backwards_(backwards), capacity_(std::max<int64_t>(expected, 1)) {}

Tensor StackedValue::room_for(int64_t slices) const {
  ir::Shape shape = shape_;
  shape.insert(shape.begin() + axis_, slices);
  return Tensor::allocate_uninitialized(stored_, shape);
}

void StackedValue::start(const Tensor& first) {
  axis_ = normal_axis(node_, axis_, first.rank() + 1);
  stored_ = first.type();
  shape_ = first.shape();
  bytes_ = first.bytes();
  side_by_side_ =
      stored_ != ir::ElementType::string &&
      std::all_of(shape_.begin(), shape_.begin() + axis_, [](int64_t extent) { return extent == 1; });
  if (side_by_side_) whole_ = room_for(capacity_);
}

char* StackedValue::next() const {
  const int64_t index = backwards_ ? capacity_ - 1 - count_ : count_;
  return const_cast<char*>(whole_.as<char>()) + static_cast<size_t>(index) * bytes_;
}

void StackedValue::offer(RuntimeValue& place) {
  if (!side_by_side_) {
    place = RuntimeValue();
    return;
  }
  if (count_ == capacity_) {
    capacity_ *= 2;
    const Tensor before = std::move(whole_);
    whole_ = room_for(capacity_);
    if (before.bytes() > 0) std::memcpy(whole_.data(), before.data(), before.bytes());
  }
  if (place.kind != ir::ValueKind::tensor) place = RuntimeValue();
  place.tensor.lend(stored_, shape_, next());
  place.type = declared_;
}

void StackedValue::add(const RuntimeValue& slice) {
  if (slice.kind != ir::ValueKind::tensor || !slice.tensor.defined())
    fail_at(node_, "a scan output of the body is not a tensor");
  const Tensor& tensor = slice.tensor;
  declared_ = slice.type;
  if (count_ == 0) {
    start(tensor);
  } else if (tensor.type() != stored_ || tensor.shape() != shape_) {
    fail_at(node_, fmt::format("a scan output of the body is {} {} after {} {}", ir::name_of(tensor.type()),
                               ir::to_string(tensor.shape()), ir::name_of(stored_), ir::to_string(shape_)));
  }
  if (!side_by_side_) {
    slices_.push_back(tensor);
  } else if (bytes_ > 0 && tensor.data() != next()) {
    std::memcpy(next(), tensor.data(), bytes_);
  }
  ++count_;
}

RuntimeValue StackedValue::whole() {
  if (side_by_side_) {
    const bool full = count_ == capacity_;
    return {full ? std::move(whole_) : slice(whole_, static_cast<int>(axis_), 0, count_), declared_};
  }
  if (backwards_) std::reverse(slices_.begin(), slices_.end());
  return {stack(slices_, static_cast<int>(axis_)), declared_};
}

}  // namespace axrun::runtime
