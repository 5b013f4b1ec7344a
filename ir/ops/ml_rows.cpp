#include "ir/ops/ml_rows.h"

#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {

Scalar FeatureRows::at(const Scalar& row, const Scalar& feature) const {
  const Scalar value = x.rank() == 1 ? x({feature}) : x({row, feature});
  return is_float(value.type()) ? value : cast(ElementType::f64, value);
}

FeatureRows feature_rows(Builder& b, const OperatorContext& context, int input) {
  const TensorRef x = typed_operand(b, context, input,
                                    {ElementType::f32, ElementType::f64, ElementType::i32, ElementType::i64});
  if (x.rank() == 1) return {x, Dim(1), x.dims()[0]};
  context.check(x.rank() == 2,
                fmt::format("input {} has shape {}; [N, F] or [F] is needed", input, to_string(x.dims())));
  return {x, x.dims()[0], x.dims()[1]};
}

PostTransform post_transform_attribute(const OperatorContext& context) {
  const std::string name = context.string("post_transform", "NONE");
  if (name == "NONE") return PostTransform::none;
  if (name == "SOFTMAX") return PostTransform::softmax;
  if (name == "LOGISTIC") return PostTransform::logistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::softmax_zero;
  if (name == "PROBIT") return PostTransform::probit;
  context.fail(fmt::format("post_transform '{}' is unknown", name));
}

Scalar probit(const Scalar& x) {
  constexpr double a = 0.147;
  const Scalar y = 2.0 * x - 1.0;
  const Scalar logarithm = log((1.0 - y) * (1.0 + y));
  const Scalar half = logarithm * 0.5 + 2 / (std::numbers::pi * a);
  const Scalar magnitude = sqrt(sqrt(half * half - logarithm * (1 / a)) - half);
  return select(y < 0.0, -magnitude, magnitude) * std::numbers::sqrt2;
}

namespace {

/// exp(score - highest) over its sum. With `skip_zeros`, scores within 1e-7 of zero stay out of the sum and
/// are only scaled, so that a class nothing voted for keeps a score of zero.
TensorRef softmax_rows(Builder& b, const TensorRef& scores, bool skip_zeros) {
  constexpr double zero = 1e-7;
  const Dims& dims = scores.dims();
  const TensorRef highest =
      b.reduce(Monoid::Kind::max, {dims[0]}, {dims[1]}, [&](const Indices& i, const Indices& r) {
        return scores({i[0], r[0]});
      });
  const auto is_zero = [&](const Scalar& score) { return abs(score) <= zero; };
  const TensorRef sum = b.sum({dims[0]}, {dims[1]}, [&](const Indices& i, const Indices& r) {
    const Scalar score = scores({i[0], r[0]});
    const Scalar term = exp(score - highest(i));
    return skip_zeros ? select(is_zero(score), b.literal(score.type(), 0), term) : term;
  });
  return b.map(dims, [&](const Indices& i) {
    const Scalar score = scores(i);
    const Scalar top = highest({i[0]});
    const Scalar term = exp(score - top);
    return (skip_zeros ? select(is_zero(score), score * exp(-top), term) : term) / sum({i[0]});
  });
}

}  // namespace

TensorRef post_transform(Builder& b, PostTransform transform, const TensorRef& scores) {
  switch (transform) {
    case PostTransform::none:
      return scores;
    case PostTransform::softmax:
      return softmax_rows(b, scores, false);
    case PostTransform::softmax_zero:
      return softmax_rows(b, scores, true);
    case PostTransform::logistic:
      return b.map(scores.dims(), [&](const Indices& i) { return 1.0 / (exp(-scores(i)) + 1.0); });
    case PostTransform::probit:
      return b.map(scores.dims(), [&](const Indices& i) { return probit(scores(i)); });
  }
  return scores;
}

TensorRef two_scores(const OperatorContext& context, Builder& b, PostTransform transform,
                     const TensorRef& score, bool signed_scores) {
  if (transform == PostTransform::probit) context.unsupported("PROBIT of a single score for two classes");
  return b.map({score.dims()[0], Dim(2)}, [&](const Indices& i) {
    const Scalar s = score({i[0], b.integer(0)});
    const Scalar opposite = signed_scores || transform == PostTransform::logistic ? -s : 1.0 - s;
    const Scalar chosen = select(i[1] == 0, opposite, s);
    return cast(ElementType::f32, transform == PostTransform::logistic ? 1.0 / (exp(-chosen) + 1.0) : chosen);
  });
}

TensorRef highest_class(Builder& b, const TensorRef& scores) {
  const Scalar lowest = is_float(scores.type())
                            ? b.real(scores.type(), -std::numeric_limits<double>::infinity())
                            : b.integer(integer_min(scores.type()), scores.type());
  const std::vector<Scalar> identity = {lowest, b.integer(0)};
  return b.reduce_tuple(
      {scores.dims()[0]}, {scores.dims()[1]}, identity,
      [&](const Indices& i, const Indices& r) {
        return std::vector<Scalar>{scores({i[0], r[0]}), r[0]};
      },
      [](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
        const Scalar better = right[0] > left[0];
        return std::vector<Scalar>{select(better, right[0], left[0]), select(better, right[1], left[1])};
      })[1];
}

ClassLabels class_labels(const OperatorContext& context, std::string_view integers,
                         std::string_view strings) {
  ClassLabels labels{context.integers(integers), context.strings(strings)};
  context.check(labels.integers.empty() != labels.strings.empty(),
                fmt::format("exactly one of the attributes '{}' and '{}' is needed", integers, strings));
  return labels;
}

TensorRef labels_of(Builder& b, const ClassLabels& labels, const TensorRef& classes) {
  if (labels.is_string()) return choose_strings(b, classes, labels.strings, "");
  const ConstantTable table(b, ElementType::i64, labels.integers);
  return b.map(classes.dims(), [&](const Indices& i) { return table.at(classes(i)); });
}

}  // namespace axrun::ir
