#include "ir/ops/compute.h"

#include <fmt/format.h>

#include <algorithm>

namespace axrun::ir {

ElementType compute_type(ElementType type) {
  const bool narrow = is_float(type) && type != ElementType::f32 && type != ElementType::f64;
  return narrow ? ElementType::f32 : type;
}

Scalar widen(const Scalar& x) { return cast(compute_type(x.type()), x); }

Scalar rounded(ElementType type, const Scalar& x) {
  // Between equal types cast() is no node, so the value goes through f64, which holds what is computed.
  return cast(type, cast(ElementType::f64, x));
}

bool is_real_type(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f32 ||
         type == ElementType::f64;
}

TensorRef real_operand(Builder& b, const OperatorContext& context, int k) {
  return typed_operand(b, context, k,
                       {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64});
}

TensorRef typed_operand(Builder& b, const OperatorContext& context, int k,
                        std::initializer_list<ElementType> allowed) {
  const ElementType type = context.type(k);
  if (std::find(allowed.begin(), allowed.end(), type) == allowed.end()) {
    context.fail(fmt::format("input {} may not be of type {}", k, name_of(type)));
  }
  return operand(b, context, k);
}

void check_dims(const OperatorContext& context, const TensorRef& x, const Dims& dims,
                const std::string& what) {
  bool fits = x.dims().size() == dims.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) fits = context.equal(x.dims()[d], dims[d]);
  if (!fits) {
    context.fail(fmt::format("{} has shape {}, not {}", what, to_string(x.dims()), to_string(dims)));
  }
}

TensorRef shaped_operand(Builder& b, const OperatorContext& context, int k, const Dims& dims,
                         const std::string& what) {
  const TensorRef x = operand(b, context, k);
  check_dims(context, x, dims, what);
  return x;
}

int64_t bounded_integer(const OperatorContext& context, std::string_view name, int64_t otherwise, int64_t low,
                        int64_t high) {
  const int64_t value = context.integer(name, otherwise);
  if (value < low || value > high) {
    context.fail(fmt::format("attribute '{}' is {}, outside {}..{}", name, value, low, high));
  }
  return value;
}

int wanted_outputs(const OperatorContext& context) {
  int count = context.outputs();
  while (count > 0 && !context.wants(count - 1)) --count;
  return count;
}

Scalar count_of(Builder& b, ElementType type, const Dims& dims) {
  return cast(type, b.extent(product(dims)));
}

Scalar only_element(const OperatorContext& context, Builder& b, const TensorRef& x, const std::string& what) {
  for (const Dim& dim : x.dims()) {
    if (!context.is_one(dim)) {
      context.fail(fmt::format("{} has shape {}, not one element", what, to_string(x.dims())));
    }
  }
  return x(Indices(x.dims().size(), b.integer(0)));
}

Dims joined(const Dims& a, const Dims& b) {
  Dims result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

Indices joined(const Indices& a, const Indices& b) {
  Indices result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

Dims part(const Dims& dims, size_t first, size_t last) {
  return Dims(dims.begin() + static_cast<std::ptrdiff_t>(first),
              dims.begin() + static_cast<std::ptrdiff_t>(last));
}

Indices part(const Indices& indices, size_t first, size_t last) {
  return Indices(indices.begin() + static_cast<std::ptrdiff_t>(first),
                 indices.begin() + static_cast<std::ptrdiff_t>(last));
}

}  // namespace axrun::ir
