// TopK by counting: an element's rank is the number of elements of its line that come before it, which is
// also its place in the result.

#include <fmt/format.h>

#include "ir/ops/indexing_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// A strict total order of the elements of a line: by value, NaN above every number, then by position.
Scalar comes_before(const Scalar& a, const Scalar& a_position, const Scalar& b, const Scalar& b_position,
                    bool largest) {
  Scalar above = largest ? a > b : a < b;
  Scalar same = a == b;
  if (is_float(a.type())) {
    const Scalar a_nan = unary(ScalarOp::is_nan, a);
    const Scalar b_nan = unary(ScalarOp::is_nan, b);
    above = logical_or(above, largest ? logical_and(a_nan, !b_nan) : logical_and(b_nan, !a_nan));
    same = logical_or(same, logical_and(a_nan, b_nan));
  }
  return logical_or(above, logical_and(same, a_position < b_position));
}

void build_top_k(const OperatorContext& context, Builder& b, const Dim& k) {
  require_type(context, 0, TypeClass::number);
  const TensorRef x = operand(b, context, 0);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", -1), x.rank()));
  const bool largest = flag(context, "largest", true);
  const Dim length = x.dims()[axis];
  context.check(context.may_be_at_least(k, 0), "k is negative");
  const Dim excess = k - length;
  context.check(context.may_be_at_least(0, excess),
                fmt::format("k = {} but the axis has {} elements", k.to_string(), length.to_string()));
  const TensorRef rank = b.sum(x.dims(), {length}, [&](const Indices& i, const Indices& other) {
    Indices at = i;
    at[axis] = other[0];
    return cast(ElementType::i64, comes_before(x(at), other[0], x(i), i[axis], largest));
  });
  Dims dims = x.dims();
  dims[axis] = k;
  const auto place = [&](const TensorRef& result, const std::function<Scalar(const Indices&)>& value) {
    return b.scatter(result, x.dims(), ScatterCombine::assign, [&](const Indices& i) {
      Indices target = i;
      target[axis] = rank(i);
      return Builder::Update{target, value(i), rank(i) < k};
    });
  };
  const TensorRef no_values = b.map(dims, [&](const Indices&) { return b.literal(x.type(), 0); });
  b.output(place(no_values, [&](const Indices& i) { return x(i); }));
  const TensorRef no_indices = b.map(dims, [&](const Indices&) { return b.integer(0); });
  b.output(place(no_indices, [&](const Indices& i) { return i[axis]; }));
}

void define_top_k_attribute(const OperatorContext& context, Builder& b) {
  context.check(context.has_attribute("k"), "attribute 'k' is missing");
  build_top_k(context, b, context.integer("k", 0));
}

void define_top_k(const OperatorContext& context, Builder& b) {
  build_top_k(context, b, single_size(context, 1, "k"));
}

}  // namespace

void top_k_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "TopK", 1, define_top_k_attribute}, {"", "TopK", 10, define_top_k}});
}

}  // namespace axrun::ir
