#include "onnx_import/gradient/rules.h"

namespace axrun::onnx_import::gradient {
namespace {

/// A reduction's result (or its derivative) with the reduced dimensions as ones, so that it broadcasts to the
/// input.
Var kept(Step& s, Var y, Var axes) {
  if (s.context.integer("noop_with_empty_axes", 0) != 0 && !axes.present()) s.refuse("noop_with_empty_axes");
  if (s.context.integer("keepdims", 1) != 0 || !axes.present()) return y;
  return s.w.node("Unsqueeze", {y, axes});
}

/// `slope` gets x, y and y's derivative, both broadcasting to x.
template <auto slope>
void reduction(Step& s) {
  const Var axes = axes_of(s);
  s.result[0] = slope(s, s.in[0], kept(s, s.out[0], axes), kept(s, s.grad[0], axes));
}

Var over(Step& s, Var g, Var x) { return s.w.node("Expand", {g, s.w.shape(x)}); }

/// Those that are the largest share it.
void shared_extremum(Step& s) {
  const Var axes = axes_of(s), x = s.in[0], g = kept(s, s.grad[0], axes);
  const Var is_largest = s.w.cast_like(s.w.node("Equal", {x, kept(s, s.out[0], axes)}), x);
  std::vector<Var> inputs = {is_largest};
  if (axes.present()) inputs.push_back(axes);
  s.result[0] = is_largest * (g / s.w.node("ReduceSum", inputs, {{"keepdims", integer(1)}}));
}

/// Softmax before version 13 took all dimensions from the axis on together.
Var softmax_axes(Step& s) {
  if (s.version() >= 13) return s.w.constant({s.context.integer("axis", -1)});
  const int rank = s.context.rank(0);
  return s.w.constant(range(s.context.axis(s.context.integer("axis", 1), rank), rank));
}

Var sum_along(Step& s, Var x) {
  return s.w.node("ReduceSum", {x, softmax_axes(s)}, {{"keepdims", integer(1)}});
}

void softmax(Step& s) {
  const Var y = s.out[0], g = s.grad[0];
  s.result[0] = y * (g - sum_along(s, g * y));
}

void log_softmax(Step& s) {
  const Var g = s.grad[0];
  s.result[0] = g - s.w.node("Exp", {s.out[0]}) * sum_along(s, g);
}

}  // namespace

Var axes_of(Step& s) {
  if (s.has(1)) {
    const ir::Tensor* known = s.context.operand(1).constant;
    return known != nullptr && known->size() == 0 ? s.w.none() : s.in[1];
  }
  const std::vector<int64_t> axes = s.context.integers("axes");
  return axes.empty() ? s.w.none() : s.w.constant(axes);
}

std::vector<int64_t> range(int64_t first, int64_t last) {
  std::vector<int64_t> numbers;
  for (int64_t k = first; k < last; ++k) numbers.push_back(k);
  return numbers;
}

void reduction_rules(Rules& rules) {
  rules["ReduceSum"] = reduction<[](Step& s, Var x, Var, Var g) { return over(s, g, x); }>;
  rules["ReduceMean"] = reduction<[](Step& s, Var x, Var y, Var g) {
    const Var count = s.w.cast_like(s.w.node("Size", {x}) / s.w.node("Size", {y}), x);
    return over(s, g / count, x);
  }>;
  for (const char* op : {"ReduceMax", "ReduceMin"}) rules[op] = shared_extremum;
  rules["ReduceL1"] = reduction<[](Step& s, Var x, Var, Var g) { return s.w.node("Sign", {x}) * g; }>;
  // 0 for a vector of zeros.
  rules["ReduceL2"] = reduction<[](Step& s, Var x, Var y, Var g) {
    const Var zero = s.w.number(0, x);
    return x * s.w.where(s.w.node("Equal", {y, zero}), zero, g / y);
  }>;
  rules["ReduceSumSquare"] = reduction<[](Step&, Var x, Var, Var g) { return x * g * 2.0; }>;
  rules["ReduceLogSum"] =
      reduction<[](Step& s, Var x, Var y, Var g) { return over(s, g / s.w.node("Exp", {y}), x); }>;
  rules["ReduceLogSumExp"] =
      reduction<[](Step& s, Var x, Var y, Var g) { return s.w.node("Exp", {x - y}) * g; }>;
  rules["Softmax"] = softmax;
  rules["LogSoftmax"] = log_softmax;
}

}  // namespace axrun::onnx_import::gradient
