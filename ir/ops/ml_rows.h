#pragma once

#include <string>
#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

/// The usual input of ai.onnx.ml: N rows of F features, [N, F], or one row, [F]. f32, f64, i32 or i64.
struct FeatureRows {
  TensorRef x;
  Dim rows;
  Dim features;

  /// A feature as a real number: f32 as it is, the other types as f64.
  Scalar at(const Scalar& row, const Scalar& feature) const;
};
FeatureRows feature_rows(Builder& b, const OperatorContext& context, int input);

/// What the operators of ai.onnx.ml do to a row of scores before they answer it.
enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };
PostTransform post_transform_attribute(const OperatorContext& context);
/// scores: [N, C], real. Result: the same shape.
TensorRef post_transform(Builder& b, PostTransform transform, const TensorRef& scores);
/// The approximate inverse of the normal distribution function that runtimes use for PROBIT (Winitzki's
/// inverse error function, a = 0.147).
Scalar probit(const Scalar& x);

/// Scores of two classes where a single one, [N, 1], decides: -s and s through LOGISTIC, 1 - s and s
/// otherwise (or -s and s where `signed_scores`). These rules, and that the other transforms do not apply,
/// are ONNX Runtime's; PROBIT is refused.
TensorRef two_scores(const OperatorContext& context, Builder& b, PostTransform transform,
                     const TensorRef& score, bool signed_scores);
/// Number of the highest score of each row of [N, C], the first one of equal ones: [N], i64.
TensorRef highest_class(Builder& b, const TensorRef& scores);

/// The labels of a classifier: 64-bit integers or strings, one per class.
struct ClassLabels {
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
  bool is_string() const { return !strings.empty(); }
  size_t count() const { return is_string() ? strings.size() : integers.size(); }
};
/// Reads the two attributes; exactly one must be there.
ClassLabels class_labels(const OperatorContext& context, std::string_view integers, std::string_view strings);
/// The labels of class numbers (i64, any shape, each in 0..count-1).
TensorRef labels_of(Builder& b, const ClassLabels& labels, const TensorRef& classes);

}  // namespace axrun::ir
