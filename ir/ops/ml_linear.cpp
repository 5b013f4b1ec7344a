// ai.onnx.ml: LinearRegressor and LinearClassifier.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"
#include "ir/ops/machine_learning.h"
#include "ir/ops/ml_rows.h"

namespace axrun::ir {
namespace {

/// x * coefficients^T + intercepts: [rows, targets].
TensorRef linear_scores(const OperatorContext& context, Builder& b, const FeatureRows& x, size_t targets) {
  const auto coefficients = context.reals("coefficients");
  const auto intercepts = context.reals("intercepts");
  context.check(targets > 0 && coefficients.size() % targets == 0,
                fmt::format("{} coefficients for {} targets", coefficients.size(), targets));
  const Dim features(static_cast<int64_t>(coefficients.size() / targets));
  context.check(context.equal(features, x.features),
                fmt::format("{} coefficients for {} targets of {} features", coefficients.size(), targets,
                            x.features.to_string()));
  context.check(intercepts.empty() || intercepts.size() == targets,
                fmt::format("{} intercepts for {} targets", intercepts.size(), targets));
  Tensor weights = Tensor::allocate(ElementType::f32, {static_cast<int64_t>(targets), features.value()});
  for (size_t k = 0; k < coefficients.size(); ++k) weights.set_real(static_cast<int64_t>(k), coefficients[k]);
  const TensorRef w = constant_tensor(b, weights);
  const Dims dims = {x.rows, Dim(static_cast<int64_t>(targets))};
  const TensorRef products = b.sum(dims, {features}, [&](const Indices& i, const Indices& r) {
    const Scalar value = x.at(i[0], r[0]);
    return value * cast(value.type(), w({i[1], r[0]}));
  });
  if (intercepts.empty()) return products;
  const ConstantTable added(b, products.type(), intercepts);
  return b.map(dims, [&](const Indices& i) { return products(i) + added.at(i[1]); });
}

TensorRef to_f32(Builder& b, const TensorRef& x) {
  if (x.type() == ElementType::f32) return x;
  return b.map(x.dims(), [&](const Indices& i) { return cast(ElementType::f32, x(i)); });
}

/// A single target is left as it is by every transform but PROBIT, as in ONNX Runtime.
void linear_regressor(const OperatorContext& context, Builder& b) {
  const int64_t targets = bounded_integer(context, "targets", 1, 1, int64_t{1} << 24);
  const FeatureRows x = feature_rows(b, context, 0);
  const TensorRef scores = linear_scores(context, b, x, static_cast<size_t>(targets));
  PostTransform transform = post_transform_attribute(context);
  if (targets == 1 && transform != PostTransform::probit) transform = PostTransform::none;
  b.output(to_f32(b, post_transform(b, transform, scores)));
}

/// One row of coefficients per class, or a single one whose score decides between two classes. Labels are
/// decided before the transform.
void linear_classifier(const OperatorContext& context, Builder& b) {
  const FeatureRows x = feature_rows(b, context, 0);
  ClassLabels labels = class_labels(context, "classlabels_ints", "classlabels_strings");
  const size_t intercepts = context.reals("intercepts").size();
  const size_t targets = intercepts > 0 ? intercepts : labels.count();
  PostTransform transform = post_transform_attribute(context);
  const TensorRef scores = linear_scores(context, b, x, targets);

  if (targets > 1) {
    context.check(labels.count() == targets,
                  fmt::format("{} labels for {} classes", labels.count(), targets));
    b.output(labels_of(b, labels, highest_class(b, scores)));
    b.output(to_f32(b, post_transform(b, transform, scores)));
    return;
  }
  const bool two_columns = labels.count() == 2;
  if (!two_columns) labels = labels.is_string() ? ClassLabels{{}, {"0", "1"}} : ClassLabels{{0, 1}, {}};
  const TensorRef classes = b.map({x.rows}, [&](const Indices& i) {
    return cast(ElementType::i64, scores({i[0], b.integer(0)}) > 0.0);
  });
  b.output(labels_of(b, labels, classes));
  if (!two_columns) {
    if (transform != PostTransform::probit) transform = PostTransform::none;
    b.output(to_f32(b, post_transform(b, transform, scores)));
    return;
  }
  b.output(two_scores(context, b, transform, scores, false));
}

}  // namespace

void linear_model_operators(std::vector<OperatorEntry>& table) {
  constexpr std::string_view domain = "ai.onnx.ml";
  table.push_back({domain, "LinearRegressor", 1, linear_regressor});
  table.push_back({domain, "LinearClassifier", 1, linear_classifier});
}

}  // namespace axrun::ir
