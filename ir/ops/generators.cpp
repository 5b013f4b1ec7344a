// Tensors made from attributes and sizes: Constant, ConstantOfShape, EyeLike, Range.

#include <fmt/format.h>

#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// The tensor that one of Constant's attributes holds.
Tensor attribute_value(const OperatorContext& context) {
  if (context.has_attribute("sparse_value")) context.unsupported("attribute 'sparse_value'");
  if (const Tensor* value = context.tensor("value")) return *value;
  if (context.has_attribute("value_float"))
    return Tensor::scalar(ElementType::f32, context.real("value_float", 0));
  if (context.has_attribute("value_int"))
    return Tensor::from_i64({context.integer("value_int", 0)}).reshaped({});
  if (context.has_attribute("value_ints")) return Tensor::from_i64(context.integers("value_ints"));
  if (context.has_attribute("value_string"))
    return Tensor::from_strings({}, {context.string("value_string", "")});
  if (context.has_attribute("value_strings")) {
    std::vector<std::string> values = context.strings("value_strings");
    const auto count = static_cast<int64_t>(values.size());
    return Tensor::from_strings({count}, std::move(values));
  }
  context.check(context.has_attribute("value_floats"), "it has no value");
  const std::vector<double> values = context.reals("value_floats");
  Tensor tensor = Tensor::allocate(ElementType::f32, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return tensor;
}

/// Element k of a tensor of numbers or booleans.
Scalar literal_of(Builder& b, const Tensor& tensor, int64_t k) {
  if (is_float(tensor.type())) return b.real(tensor.type(), tensor.get_real(k));
  return b.integer(tensor.get_int(k), tensor.type());
}

void define_constant(const OperatorContext& context, Builder& b) {
  const Tensor value = attribute_value(context);
  context.check(value.defined(), "its value is empty");
  if (value.size() != 1 || value.type() == ElementType::string) return b.output(constant_tensor(b, value));
  b.output(b.map(to_dims(value.shape()), [&](const Indices&) { return literal_of(b, value, 0); }));
}

void define_constant_of_shape(const OperatorContext& context, Builder& b) {
  const Dims dims = context.elements(0);
  for (const Dim& dim : dims) context.check(context.may_be_at_least(dim, 0), "a size is negative");
  const Tensor* given = context.tensor("value");
  context.check(given == nullptr || given->size() == 1, "attribute 'value' must have one element");
  const Tensor value = given != nullptr ? *given : Tensor::scalar(ElementType::f32, 0);
  context.check(value.type() != ElementType::string, "attribute 'value' must not be a string");
  b.output(b.map(dims, [&](const Indices&) { return literal_of(b, value, 0); }));
}

/// Ones on the k-th diagonal of a matrix shaped like the input.
void define_eye_like(const OperatorContext& context, Builder& b) {
  require_rank(context, 0, 2);
  const ElementType type =
      context.has_attribute("dtype") ? type_attribute(context, "dtype") : context.type(0);
  context.check(type != ElementType::string, "there is no string matrix with ones");
  const int64_t diagonal = context.integer("k", 0);
  declare_for_dims(b, context, 0);
  b.output(b.map(context.dims(0), [&](const Indices& i) {
    return select(i[1] - i[0] == diagonal, b.literal(type, 1), b.literal(type, 0));
  }));
}

/// start + i * delta for i below (limit - start) / delta rounded up.
void define_integer_range(const OperatorContext& context, Builder& b) {
  const Dim start = single_size(context, 0, "start");
  const Dim limit = single_size(context, 1, "limit");
  const int64_t delta = context.fixed(single_size(context, 2, "delta"));
  context.check(delta != 0, "delta is 0");
  const Dim span = delta > 0 ? limit - start : start - limit;
  const Dim stride = delta > 0 ? Dim(delta) : Dim(0) - Dim(delta);
  const Dim count = max(ceil_div(span, stride), Dim(0));
  const ElementType type = context.type(0);
  b.output(b.map({count}, [&](const Indices& i) { return cast(type, i[0] * delta + start); }));
}

void define_range(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  require_same_type(context, 0, 1);
  require_same_type(context, 0, 2);
  const ElementType type = context.type(0);
  if (!is_float(type)) return define_integer_range(context, b);
  const auto single = [&](int k) {
    const Tensor& value = context.constant(k);
    context.check(value.size() == 1, "start, limit and delta must be single numbers");
    return value.get_real(0);
  };
  const double start = single(0);
  const double delta = single(2);
  // A size that became a float: from a whole number, in ones.
  const Dims* const limit = context.operand(1).elements;
  constexpr double largest_whole = 1 << 24;
  const bool counts = limit != nullptr && limit->size() == 1 && delta == 1 && start == std::floor(start) &&
                      std::abs(start) <= largest_whole;
  Dim length;
  if (counts) {
    length = max((*limit)[0] - Dim(static_cast<int64_t>(start)), Dim(0));
  } else {
    const double count = std::ceil((single(1) - start) / delta);
    constexpr double longest = 1e12;
    context.check(count <= longest, "start, limit and delta give no length");
    length = Dim(count > 0 ? static_cast<int64_t>(count) : 0);
  }
  b.output(b.map({length}, [&](const Indices& i) {
    const Scalar steps = cast(ElementType::f64, i[0]);
    return cast(type, b.real(ElementType::f64, start) + steps * b.real(ElementType::f64, delta));
  }));
}

}  // namespace

void generator_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Constant", 1, define_constant},
                             {"", "ConstantOfShape", 9, define_constant_of_shape},
                             {"", "EyeLike", 9, define_eye_like},
                             {"", "Range", 11, define_range}});
}

}  // namespace axrun::ir
