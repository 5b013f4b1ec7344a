#include <cmath>
#include <numbers>

#include "onnx_import/gradient/rules.h"

namespace axrun::onnx_import::gradient {
namespace {

using Values = std::vector<Var>;

Values hard_swish(Step& s) {
  const ir::Attribute sixth = [] {
    ir::Attribute attribute;
    attribute.kind = ir::Attribute::Kind::real;
    attribute.real = 1.0 / 6;
    return attribute;
  }();
  return {s.in[0] * s.w.node("HardSigmoid", {s.in[0]}, {{"alpha", sixth}})};
}

Values swish(Step& s) {
  const double alpha = s.context.real("alpha", 1);
  return {s.in[0] * s.w.node("Sigmoid", {alpha == 1 ? s.in[0] : s.in[0] * alpha})};
}

Values mish(Step& s) { return {s.in[0] * s.w.node("Tanh", {s.w.node("Softplus", {s.in[0]})})}; }

Values gelu(Step& s) {
  const Var x = s.in[0];
  Var phase;
  if (s.context.string("approximate", "none") == "tanh") {
    constexpr double cubic = 0.044715;
    phase = s.w.node("Tanh", {(x + x * x * x * cubic) * std::sqrt(2 / std::numbers::pi)});
  } else {
    phase = s.w.node("Erf", {x * std::sqrt(0.5)});
  }
  return {x * 0.5 * (phase + 1.0)};
}

Values clip(Step& s) {
  Var y = s.in[0];
  if (s.version() < 11) {
    if (s.context.has_attribute("min")) y = s.w.node("Max", {y, s.w.number(s.context.real("min", 0), y)});
    if (s.context.has_attribute("max")) y = s.w.node("Min", {y, s.w.number(s.context.real("max", 0), y)});
  } else {
    if (s.has(1)) y = s.w.node("Max", {y, s.in[1]});
    if (s.has(2)) y = s.w.node("Min", {y, s.in[2]});
  }
  return {s.w.node("Identity", {y})};
}

}  // namespace

void activation_parts(PartsTable& parts) {
  parts["HardSwish"] = hard_swish;
  parts["Swish"] = swish;
  parts["Mish"] = mish;
  parts["Gelu"] = gelu;
  parts["Clip"] = clip;
}

}  // namespace axrun::onnx_import::gradient
