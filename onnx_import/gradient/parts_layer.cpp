#include "onnx_import/gradient/rules.h"

namespace axrun::onnx_import::gradient {
namespace {

using Values = std::vector<Var>;

Var mean(Step& s, Var x, const std::vector<int64_t>& axes) {
  return s.w.node("ReduceMean", {x, s.w.constant(axes)}, {{"keepdims", integer(1)}});
}

/// (x - mean) / sqrt(variance + epsilon) over the axes.
Var normalized(Step& s, Var x, const std::vector<int64_t>& axes, double epsilon) {
  const Var centred = x - mean(s, x, axes);
  return centred / s.w.node("Sqrt", {mean(s, centred * centred, axes) + epsilon});
}

/// A vector of one number for each channel, so that it broadcasts to N x C x ...
Var by_channel(Step& s, Var vector, int rank) {
  return rank > 2 ? s.w.node("Unsqueeze", {vector, s.w.constant(range(1, rank - 1))}) : vector;
}

std::vector<int64_t> last_axes(Step& s) {
  const int64_t axis = s.context.integer("axis", -1);
  constexpr int64_t most = 64;
  s.context.check(axis >= -most, "the axis does not exist");
  return axis < 0 ? range(axis, 0) : range(axis, s.context.rank(0));
}

Values layer_normalization(Step& s) {
  Var y = normalized(s, s.in[0], last_axes(s), s.context.real("epsilon", 1e-5)) * s.in[1];
  return {s.has(2) ? y + s.in[2] : y};
}

Values rms_normalization(Step& s) {
  const Var x = s.in[0];
  const Var square = mean(s, x * x, last_axes(s));
  return {x / s.w.node("Sqrt", {square + s.context.real("epsilon", 1e-5)}) * s.in[1]};
}

Values batch_normalization(Step& s) {
  const int rank = s.context.rank(0);
  const double epsilon = s.context.real("epsilon", 1e-5);
  Var x = s.in[0];
  if (s.version() >= 14 && s.context.integer("training_mode", 0) != 0) {
    std::vector<int64_t> axes = range(0, rank);
    s.context.check(rank > 1, "there are no channels");
    axes.erase(axes.begin() + 1);
    x = normalized(s, x, axes, epsilon);
  } else {
    const Var deviation = s.w.node("Sqrt", {s.in[4] + epsilon});
    x = (x - by_channel(s, s.in[3], rank)) / by_channel(s, deviation, rank);
  }
  return {x * by_channel(s, s.in[1], rank) + by_channel(s, s.in[2], rank)};
}

Values instance_normalization(Step& s) {
  const int rank = s.context.rank(0);
  const Var x = normalized(s, s.in[0], range(2, rank), s.context.real("epsilon", 1e-5));
  return {x * by_channel(s, s.in[1], rank) + by_channel(s, s.in[2], rank)};
}

/// Scale and bias were those of groups before version 21.
Values group_normalization(Step& s) {
  const int rank = s.context.rank(0);
  const Var x = s.in[0], one = s.w.constant({1});
  const auto by_group = [&](Var vector) { return s.w.node("Unsqueeze", {vector, one}); };
  Var y = s.w.node("Reshape", {x, s.w.constant({0, s.context.integer("num_groups", 1), -1})});
  y = normalized(s, y, {2}, s.context.real("epsilon", 1e-5));
  if (s.version() < 21) return {s.w.reshape(y * by_group(s.in[1]) + by_group(s.in[2]), s.w.shape(x))};
  y = s.w.reshape(y, s.w.shape(x));
  return {y * by_channel(s, s.in[1], rank) + by_channel(s, s.in[2], rank)};
}

Values mean_variance_normalization(Step& s) {
  std::vector<int64_t> axes = s.context.integers("axes", {0, 2, 3});
  const Var centred = s.in[0] - mean(s, s.in[0], axes);
  constexpr double epsilon = 1e-9;
  return {centred / (s.w.node("Sqrt", {mean(s, centred * centred, axes)}) + epsilon)};
}

Values global_average(Step& s) { return {mean(s, s.in[0], range(2, s.context.rank(0)))}; }

Values global_maximum(Step& s) {
  return {s.w.node("ReduceMax", {s.in[0], s.w.constant(range(2, s.context.rank(0)))},
                   {{"keepdims", integer(1)}})};
}

/// Losses of `x`, logarithms of probabilities by class in dimension 1.
Var likelihood_loss(Step& s, Var x, Var target, Var weight) {
  const Var one = s.w.constant({1});
  Var ignored = s.w.none(), classes = target;
  if (s.context.has_attribute("ignore_index")) {
    ignored = s.w.node(
        "Equal", {target, s.w.number(static_cast<double>(s.context.integer("ignore_index", 0)), target)});
    classes = s.w.where(ignored, s.w.number(0, target), target);
  }
  const Var picked =
      s.w.node("GatherElements", {x, s.w.node("Unsqueeze", {classes, one})}, {{"axis", integer(1)}});
  Var loss = -s.w.node("Squeeze", {picked, one});
  Var weights = weight.present() ? s.w.node("Gather", {weight, classes}) : s.w.filled(1, loss);
  if (ignored.present()) weights = s.w.where(ignored, s.w.number(0, weights), weights);
  loss = loss * weights;
  const std::string reduction = s.context.string("reduction", "mean");
  const auto sum = [&](Var of) { return s.w.node("ReduceSum", {of}, {{"keepdims", integer(0)}}); };
  return reduction == "none" ? loss : reduction == "sum" ? sum(loss) : sum(loss) / sum(weights);
}

Values negative_log_likelihood(Step& s) {
  return {likelihood_loss(s, s.in[0], s.in[1], s.has(2) ? s.in[2] : s.w.none())};
}

Values cross_entropy(Step& s) {
  const Var logarithms = s.w.node("LogSoftmax", {s.in[0]}, {{"axis", integer(1)}});
  return {likelihood_loss(s, logarithms, s.in[1], s.has(2) ? s.in[2] : s.w.none()), logarithms};
}

}  // namespace

void layer_parts(PartsTable& parts) {
  parts["LayerNormalization"] = layer_normalization;
  parts["RMSNormalization"] = rms_normalization;
  parts["BatchNormalization"] = batch_normalization;
  parts["InstanceNormalization"] = instance_normalization;
  parts["GroupNormalization"] = group_normalization;
  parts["MeanVarianceNormalization"] = mean_variance_normalization;
  parts["GlobalAveragePool"] = global_average;
  parts["GlobalMaxPool"] = global_maximum;
  parts["NegativeLogLikelihoodLoss"] = negative_log_likelihood;
  parts["SoftmaxCrossEntropyLoss"] = cross_entropy;
}

}  // namespace axrun::onnx_import::gradient
