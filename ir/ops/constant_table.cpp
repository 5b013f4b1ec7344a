#include "ir/ops/constant_table.h"

#include <algorithm>
#include <cstring>

#include "ir/error.h"

namespace axrun::ir {
namespace {

constexpr int64_t longest_chain = 16;

bool all_equal(const Tensor& values) {
  const auto* bytes = values.as<char>();
  const size_t step = size_of(values.type());
  for (int64_t k = 1; k < values.size(); ++k) {
    if (std::memcmp(bytes, bytes + static_cast<size_t>(k) * step, step) != 0) return false;
  }
  return true;
}

Scalar literal_of(Builder& b, const Tensor& values, int64_t k) {
  return is_float(values.type()) ? b.real(values.type(), values.get_real(k))
                                 : b.integer(values.get_int(k), values.type());
}

}  // namespace

TensorRef constant_tensor(Builder& b, const Tensor& value) {
  return b.opaque("constant", {}, {{value.type(), to_dims(value.shape())}},
                  std::make_shared<const Tensor>(value))[0];
}

ConstantTable::ConstantTable(Builder& b, ElementType type, const std::vector<double>& values) {
  Tensor tensor = Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  choose(b, tensor);
}

ConstantTable::ConstantTable(Builder& b, ElementType type, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
  choose(b, tensor);
}

void ConstantTable::choose(Builder& b, const Tensor& values) {
  AXRUN_ASSERT(values.size() > 0);
  if (all_equal(values)) {
    literals_ = {literal_of(b, values, 0)};
  } else if (values.size() <= longest_chain) {
    for (int64_t k = 0; k < values.size(); ++k) literals_.push_back(literal_of(b, values, k));
  } else {
    tensor_ = constant_tensor(b, values);
  }
}

Scalar ConstantTable::at(const Scalar& index) const {
  if (tensor_.defined()) return tensor_({index});
  // The conditions in order, so that programs list them as their text reads.
  std::vector<Scalar> is_at;
  for (size_t k = 0; k + 1 < literals_.size(); ++k) is_at.push_back(index == static_cast<int64_t>(k));
  Scalar value = literals_.back();
  for (size_t k = is_at.size(); k-- > 0;) value = select(is_at[k], literals_[k], value);
  return value;
}

}  // namespace axrun::ir
