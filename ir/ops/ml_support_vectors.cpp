// ai.onnx.ml: SVMRegressor and SVMClassifier, laid out as libsvm and liblinear write their models.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"
#include "ir/ops/machine_learning.h"
#include "ir/ops/ml_pairwise.h"
#include "ir/ops/ml_rows.h"

namespace axrun::ir {
namespace {

constexpr size_t most_weights = size_t{1} << 27;

Dim dim_of(size_t n) { return Dim(static_cast<int64_t>(n)); }

TensorRef constant_matrix(Builder& b, size_t rows, size_t columns, const std::vector<double>& values) {
  Tensor matrix =
      Tensor::allocate(ElementType::f32, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)});
  for (size_t k = 0; k < values.size(); ++k) matrix.set_real(static_cast<int64_t>(k), values[k]);
  return constant_tensor(b, matrix);
}

/// kernel(x[n], vectors[v]) of every row and vector: [rows, count].
TensorRef kernel_values(const OperatorContext& context, Builder& b, const FeatureRows& x, size_t count,
                        const std::vector<double>& vectors, const std::string& kernel) {
  context.check(
      count > 0 && vectors.size() % count == 0 && context.equal(dim_of(vectors.size() / count), x.features),
      fmt::format("{} numbers for {} vectors of {} features", vectors.size(), count, x.features.to_string()));
  std::vector<double> parameters = context.reals("kernel_params");
  if (parameters.empty()) parameters = {0, 0, 0};
  context.check(parameters.size() == 3, "kernel_params must be gamma, coef0 and degree");
  const double gamma = parameters[0];
  const double coef0 = parameters[1];
  const double degree = parameters[2];
  const TensorRef v = constant_matrix(b, count, vectors.size() / count, vectors);
  const Dims dims = {x.rows, dim_of(count)};
  const TensorRef sums = b.sum(dims, {x.features}, [&](const Indices& i, const Indices& r) {
    const Scalar value = x.at(i[0], r[0]);
    const Scalar other = cast(value.type(), v({i[1], r[0]}));
    return kernel == "RBF" ? (value - other) * (value - other) : value * other;
  });
  if (kernel == "LINEAR") return sums;
  return b.map(dims, [&](const Indices& i) {
    const Scalar sum = sums(i);
    if (kernel == "RBF") return exp(sum * -gamma);
    if (kernel == "POLY") return pow(sum * gamma + coef0, degree);
    return tanh(sum * gamma + coef0);
  });
}

std::string kernel_attribute(const OperatorContext& context) {
  const std::string kernel = context.string("kernel_type", "LINEAR");
  context.check(kernel == "LINEAR" || kernel == "POLY" || kernel == "RBF" || kernel == "SIGMOID",
                fmt::format("kernel_type '{}' is unknown", kernel));
  return kernel;
}

/// x * weights^T + constants, weights [columns, depth]: [rows, columns].
TensorRef weighted(const OperatorContext& context, Builder& b, const TensorRef& x, size_t columns,
                   const std::vector<double>& weights, const std::vector<double>& constants) {
  context.check(weights.size() / columns * columns == weights.size() &&
                    context.equal(dim_of(weights.size() / columns), x.dims()[1]),
                fmt::format("{} coefficients do not fit", weights.size()));
  const TensorRef w = constant_matrix(b, columns, weights.size() / columns, weights);
  const Dims dims = {x.dims()[0], dim_of(columns)};
  const TensorRef sums = b.sum(dims, {x.dims()[1]}, [&](const Indices& i, const Indices& r) {
    return x({i[0], r[0]}) * cast(x.type(), w({i[1], r[0]}));
  });
  const ConstantTable added(b, x.type(), constants);
  return b.map(dims, [&](const Indices& i) { return sums(i) + added.at(i[1]); });
}

/// The rows of the input as a real matrix.
TensorRef matrix_of(Builder& b, const FeatureRows& x) {
  return b.map({x.rows, x.features}, [&](const Indices& i) { return x.at(i[0], i[1]); });
}

TensorRef to_f32(Builder& b, const TensorRef& x) {
  return b.map(x.dims(), [&](const Indices& i) { return cast(ElementType::f32, x(i)); });
}

void svm_regressor(const OperatorContext& context, Builder& b) {
  const FeatureRows x = feature_rows(b, context, 0);
  const auto coefficients = context.reals("coefficients");
  const auto rho = context.reals("rho");
  const int64_t supports = bounded_integer(context, "n_supports", 0, 0, int64_t{1} << 27);
  context.check(!coefficients.empty() && !rho.empty(), "coefficients and rho are needed");
  if (post_transform_attribute(context) != PostTransform::none) context.unsupported("a post_transform");
  const TensorRef terms = supports > 0
                              ? kernel_values(context, b, x, static_cast<size_t>(supports),
                                              context.reals("support_vectors"), kernel_attribute(context))
                              : matrix_of(b, x);
  const TensorRef sums = weighted(context, b, terms, 1, coefficients, {rho[0]});
  if (context.integer("one_class", 0) == 0) {
    b.output(to_f32(b, sums));
    return;
  }
  b.output(b.map(sums.dims(), [&](const Indices& i) {
    return select(sums(i) > 0.0, b.real(ElementType::f32, 1), b.real(ElementType::f32, -1));
  }));
}

/// liblinear: a score per class, the highest wins. With two classes the sign decides, as in ONNX Runtime.
void linear_svm_classifier(const OperatorContext& context, Builder& b, const FeatureRows& x,
                           const ClassLabels& labels) {
  const auto coefficients = context.reals("coefficients");
  const auto rho = context.reals("rho");
  const size_t classes = labels.count();
  const TensorRef scores = weighted(context, b, matrix_of(b, x), classes, coefficients, {rho[0]});
  TensorRef winner = highest_class(b, scores);
  if (classes == 2 && !context.has_attribute("prob_a")) {
    bool all_positive = true;
    for (double c : coefficients) all_positive = all_positive && c >= 0;
    const TensorRef first = winner;
    winner = b.map({x.rows}, [&](const Indices& i) {
      const Scalar highest = scores({i[0], first(i)});
      const Scalar second = all_positive ? highest >= 0.5 : highest > 0.0;
      return select(second, b.integer(1), first(i));
    });
  }
  b.output(labels_of(b, labels, winner));
  b.output(to_f32(b, post_transform(b, post_transform_attribute(context), scores)));
}

/// libsvm: a decision for each pair of classes; the class with most votes wins. The coefficients of a vector
/// of class i against class j stand in row j - 1 when j > i, and in row j otherwise.
void kernel_svm_classifier(const OperatorContext& context, Builder& b, const FeatureRows& x,
                           const ClassLabels& labels, const std::vector<int64_t>& vectors_per_class) {
  const size_t classes = labels.count();
  std::vector<size_t> start = {0};
  for (int64_t count : vectors_per_class) {
    context.check(count >= 0 && count <= int64_t{1} << 27, "vectors_per_class is out of range");
    start.push_back(start.back() + static_cast<size_t>(count));
  }
  const size_t vectors = start.back();
  const auto coefficients = context.reals("coefficients");
  const auto rho = context.reals("rho");
  const size_t pairs = classes * (classes - 1) / 2;
  context.check(vectors_per_class.size() == classes, "vectors_per_class must have one entry per class");
  context.check(vectors > 0 && vectors <= most_weights / pairs, "too many vectors and classes");
  context.check(
      coefficients.size() == (classes - 1) * vectors,
      fmt::format("{} coefficients for {} classes and {} vectors", coefficients.size(), classes, vectors));
  context.check(rho.size() == pairs,
                fmt::format("{} values of rho for {} pairs of classes", rho.size(), pairs));

  std::vector<double> weights(pairs * vectors, 0);
  size_t pair = 0;
  for (size_t i = 0; i < classes; ++i) {
    for (size_t j = i + 1; j < classes; ++j, ++pair) {
      for (size_t v = start[i]; v < start[i + 1]; ++v) {
        weights[pair * vectors + v] = coefficients[(j - 1) * vectors + v];
      }
      for (size_t v = start[j]; v < start[j + 1]; ++v) {
        weights[pair * vectors + v] = coefficients[i * vectors + v];
      }
    }
  }
  const TensorRef kernels =
      kernel_values(context, b, x, vectors, context.reals("support_vectors"), kernel_attribute(context));
  const TensorRef decisions = weighted(context, b, kernels, pairs, weights, rho);
  b.output(labels_of(b, labels, highest_class(b, pairwise_votes(b, decisions, classes))));

  const PostTransform transform = post_transform_attribute(context);
  const auto prob_a = context.reals("prob_a");
  const auto prob_b = context.reals("prob_b");
  context.check(prob_a.size() == prob_b.size() && (prob_a.empty() || prob_a.size() == pairs),
                "prob_a and prob_b must have one value per pair of classes");
  if (!prob_a.empty()) {
    const TensorRef probabilities = pairwise_probabilities(b, decisions, classes, prob_a, prob_b);
    b.output(to_f32(b, post_transform(b, transform, probabilities)));
    return;
  }
  if (classes > 2) {
    b.output(to_f32(b, post_transform(b, transform, decisions)));
    return;
  }
  b.output(two_scores(context, b, transform, decisions, transform == PostTransform::none));
}

void svm_classifier(const OperatorContext& context, Builder& b) {
  const FeatureRows x = feature_rows(b, context, 0);
  const ClassLabels labels = class_labels(context, "classlabels_ints", "classlabels_strings");
  context.check(labels.count() >= 2 && labels.count() < 65536, "between 2 and 65535 classes are needed");
  context.check(!context.reals("rho").empty(), "rho is needed");
  const auto vectors_per_class = context.integers("vectors_per_class");
  bool has_vectors = false;
  for (int64_t count : vectors_per_class) has_vectors = has_vectors || count != 0;
  if (has_vectors) {
    kernel_svm_classifier(context, b, x, labels, vectors_per_class);
  } else {
    linear_svm_classifier(context, b, x, labels);
  }
}

}  // namespace

void support_vector_operators(std::vector<OperatorEntry>& table) {
  constexpr std::string_view domain = "ai.onnx.ml";
  table.push_back({domain, "SVMRegressor", 1, svm_regressor});
  table.push_back({domain, "SVMClassifier", 1, svm_classifier});
}

}  // namespace axrun::ir
