#include "runtime/value.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/dim.h"
#include "ir/error.h"

namespace axrun::runtime {

using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using ir::ValueKind;

namespace {

RuntimeValue container(ValueKind kind, std::vector<RuntimeValue> items) {
  RuntimeValue value;
  value.kind = kind;
  value.items = std::make_shared<const std::vector<RuntimeValue>>(std::move(items));
  return value;
}

/// Copies `rows` runs of `run` elements; strides in elements.
void copy_runs(const Tensor& from, int64_t from_start, int64_t from_stride, Tensor& to, int64_t to_start,
               int64_t to_stride, int64_t rows, int64_t run) {
  if (run == 0) return;
  if (from.type() == ElementType::string) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < run; ++i) {
        to.strings()[to_start + r * to_stride + i] = from.strings()[from_start + r * from_stride + i];
      }
    }
    return;
  }
  const auto element = static_cast<int64_t>(ir::size_of(from.type()));
  const char* source = from.as<char>() + from_start * element;
  char* target = to.as<char>() + to_start * element;
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(target + r * to_stride * element, source + r * from_stride * element,
                static_cast<size_t>(run * element));
  }
}

struct AxisSplit {
  int64_t outer = 1, extent = 1, inner = 1;
};

AxisSplit split_at(const Shape& shape, int axis) {
  AxisSplit split;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int>(d) < axis) split.outer *= shape[d];
    if (static_cast<int>(d) == axis) split.extent = shape[d];
    if (static_cast<int>(d) > axis) split.inner *= shape[d];
  }
  return split;
}

[[noreturn]] void fail_to_join(const Tensor& first, const Tensor& other, int axis) {
  throw Error(Fault::user, fmt::format("cannot join {} {} and {} {} along axis {}", ir::name_of(first.type()),
                                       ir::to_string(first.shape()), ir::name_of(other.type()),
                                       ir::to_string(other.shape()), axis));
}

}  // namespace

RuntimeValue RuntimeValue::sequence(std::vector<RuntimeValue> items) {
  return container(ValueKind::sequence, std::move(items));
}
RuntimeValue RuntimeValue::optional(std::vector<RuntimeValue> items) {
  return container(ValueKind::optional, std::move(items));
}
RuntimeValue RuntimeValue::map(Tensor keys, Tensor values) {
  std::vector<RuntimeValue> items;  // moved, which a list in braces would not be
  items.reserve(2);
  items.emplace_back(std::move(keys));
  items.emplace_back(std::move(values));
  return container(ValueKind::map, std::move(items));
}

RuntimeValue narrowed(const RuntimeValue& value) {
  if (value.items) {
    std::vector<RuntimeValue> items;
    for (const RuntimeValue& item : *value.items) items.push_back(narrowed(item));
    return container(value.kind, std::move(items));
  }
  if (!value.tensor.defined() || value.tensor.type() == value.type) return value;
  return RuntimeValue(value.tensor.converted(value.type));
}

namespace {

/// Elements [begin, end) along the axis, as a tensor of the given shape.
Tensor copied(const Tensor& x, int axis, int64_t begin, int64_t end, const Shape& shape) {
  AXRUN_ASSERT(begin >= 0 && begin <= end && end <= x.shape()[static_cast<size_t>(axis)]);
  Tensor result = Tensor::allocate(x.type(), shape);
  const AxisSplit split = split_at(x.shape(), axis);
  copy_runs(x, begin * split.inner, split.extent * split.inner, result, 0, (end - begin) * split.inner,
            split.outer, (end - begin) * split.inner);
  return result;
}

}  // namespace

Tensor slice(const Tensor& x, int axis, int64_t begin, int64_t end) {
  AXRUN_ASSERT(axis >= 0 && axis < x.rank());
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = end - begin;
  return copied(x, axis, begin, end, shape);
}

Tensor take(const Tensor& x, int axis, int64_t index, bool keep) {
  if (keep) return slice(x, axis, index, index + 1);
  AXRUN_ASSERT(axis >= 0 && axis < x.rank());
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return copied(x, axis, index, index + 1, shape);
}

Tensor concatenate(const std::vector<Tensor>& parts, int axis) {
  AXRUN_ASSERT(!parts.empty());
  Shape shape = parts[0].shape();
  const auto at = static_cast<size_t>(axis);
  AXRUN_ASSERT(at < shape.size());
  shape[at] = 0;
  for (const Tensor& part : parts) {
    Shape other = part.shape();
    const bool fits = other.size() == shape.size() && part.type() == parts[0].type();
    if (fits) shape[at] += other[at];
    if (fits) other[at] = shape[at];
    if (!fits || other != shape) fail_to_join(parts[0], part, axis);
  }
  Tensor result = Tensor::allocate(parts[0].type(), shape);
  const AxisSplit whole = split_at(shape, axis);
  int64_t done = 0;
  for (const Tensor& part : parts) {
    const int64_t run = part.shape()[at] * whole.inner;
    copy_runs(part, 0, run, result, done, whole.extent * whole.inner, whole.outer, run);
    done += run;
  }
  return result;
}

Tensor stack(const std::vector<Tensor>& parts, int axis) {
  std::vector<Tensor> raised;
  raised.reserve(parts.size());
  for (const Tensor& part : parts) {
    Shape shape = part.shape();
    if (shape != parts[0].shape()) fail_to_join(parts[0], part, axis);
    shape.insert(shape.begin() + axis, 1);
    raised.push_back(part.reshaped(shape));
  }
  return concatenate(raised, axis);
}

}  // namespace axrun::runtime
