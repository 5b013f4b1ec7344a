#include <cmath>
#include <numbers>

#include "onnx_import/gradient/rules.h"

namespace axrun::onnx_import::gradient {
namespace {

/// y = f(x), of which `slope` is the derivative.
template <auto slope>
void unary(Step& s) {
  s.result[0] = s.grad[0] * slope(s, s.in[0], s.out[0]);
}

void zero(Step&) {}

void add(Step& s) {
  for (size_t k = 0; k < s.in.size(); ++k) {
    if (s.wants(k)) s.result[k] = s.w.reduced_to(s.grad[0], s.in[k]);
  }
}

void mean(Step& s) {
  const Var share = s.grad[0] * (1.0 / static_cast<double>(s.in.size()));
  for (size_t k = 0; k < s.in.size(); ++k) {
    if (s.wants(k)) s.result[k] = s.w.reduced_to(share, s.in[k]);
  }
}

void sub(Step& s) {
  if (s.wants(0)) s.result[0] = s.w.reduced_to(s.grad[0], s.in[0]);
  if (s.wants(1)) s.result[1] = s.w.reduced_to(-s.grad[0], s.in[1]);
}

void mul(Step& s) {
  if (s.wants(0)) s.result[0] = s.w.reduced_to(s.grad[0] * s.in[1], s.in[0]);
  if (s.wants(1)) s.result[1] = s.w.reduced_to(s.grad[0] * s.in[0], s.in[1]);
}

void div(Step& s) {
  if (s.wants(0)) s.result[0] = s.w.reduced_to(s.grad[0] / s.in[1], s.in[0]);
  if (s.wants(1)) s.result[1] = s.w.reduced_to(-(s.grad[0] * s.out[0] / s.in[1]), s.in[1]);
}

/// 0 where the exponent is 0, and by the exponent where 0 is raised to what is not negative.
void pow(Step& s) {
  const Var x = s.in[0], y = s.out[0], g = s.grad[0], zero = s.w.number(0, x);
  const Var exponent = s.w.cast_like(s.in[1], x);
  const auto is_zero = [&](Var v) { return s.w.node("Equal", {v, zero}); };
  if (s.wants(0)) {
    const Var slope = exponent * s.w.node("Pow", {x, exponent + -1.0});
    s.result[0] = s.w.reduced_to(g * s.w.where(is_zero(exponent), zero, slope), x);
  }
  if (s.wants(1)) {
    const Var flat = s.w.node("And", {is_zero(x), s.w.node("GreaterOrEqual", {exponent, zero})});
    s.result[1] = s.w.reduced_to(g * s.w.where(flat, zero, y * s.w.node("Log", {x})), s.in[1]);
  }
}

/// Max and Min: the first input that is the result gets the derivative.
void extremum(Step& s) {
  Var taken = s.w.none();
  const Var zero = s.w.number(0, s.out[0]);
  for (size_t k = 0; k < s.in.size(); ++k) {
    const Var equal = s.w.node("Equal", {s.in[k], s.out[0]});
    const Var mine = taken.present() ? s.w.node("And", {equal, s.w.node("Not", {taken})}) : equal;
    if (s.wants(k)) s.result[k] = s.w.reduced_to(s.w.where(mine, s.grad[0], zero), s.in[k]);
    taken = taken.present() ? s.w.node("Or", {taken, equal}) : equal;
  }
}

void where(Step& s) {
  const Var zero = s.w.number(0, s.out[0]);
  if (s.wants(1)) s.result[1] = s.w.reduced_to(s.w.where(s.in[0], s.grad[0], zero), s.in[1]);
  if (s.wants(2)) s.result[2] = s.w.reduced_to(s.w.where(s.in[0], zero, s.grad[0]), s.in[2]);
}

void prelu(Step& s) {
  const Var x = s.in[0], g = s.grad[0], below = x < 0;
  if (s.wants(0)) s.result[0] = s.w.where(below, g * s.in[1], g);
  if (s.wants(1)) s.result[1] = s.w.reduced_to(s.w.where(below, g * x, s.w.number(0, x)), s.in[1]);
}

void cast(Step& s) { s.result[0] = s.w.cast_like(s.grad[0], s.in[0]); }

void dropout(Step& s) {
  const bool is_training =
      s.version() >= 12 && s.has(2) &&
      !(s.context.operand(2).constant != nullptr && s.context.constant(2).get_int(0) == 0);
  if (!is_training) {
    s.result[0] = s.grad[0];
    return;
  }
  if (s.out.size() < 2 || !s.out[1].present())
    s.refuse("training without the output that says what was dropped");
  const Var g = s.grad[0], kept = s.w.cast_like(s.out[1], g);
  const Var ratio = s.has(1) ? s.w.cast_like(s.in[1], g) : s.w.number(0.5, g);
  // Nothing is scaled outside of training, which only the run may know.
  const Var scaled = g * kept / (1.0 - ratio);
  s.result[0] = s.w.where(s.in[2], scaled, g);
}

Var half(Step& s, Var x) { return s.w.number(0.5, x); }
Var node(Step& s, const char* op, Var x) { return s.w.node(op, {x}); }
Var choose(Step& s, Var condition, double a, double b, Var like) {
  return s.w.where(condition, s.w.number(a, like), s.w.number(b, like));
}

constexpr double selu_alpha = 1.67326319217681884765625, selu_gamma = 1.05070102214813232421875;

}  // namespace

void elementwise_rules(Rules& rules) {
  for (const char* op : {"Add", "Sum"}) rules[op] = add;
  rules["Mean"] = mean;
  rules["Sub"] = sub;
  rules["Mul"] = mul;
  rules["Div"] = div;
  rules["Pow"] = pow;
  for (const char* op : {"Max", "Min"}) rules[op] = extremum;
  rules["Where"] = where;
  rules["PRelu"] = prelu;
  for (const char* op : {"Cast", "CastLike"}) rules[op] = cast;
  rules["Dropout"] = dropout;
  for (const char* op : {"Sign", "Floor", "Ceil", "Round", "Hardmax"}) rules[op] = zero;
  rules["Identity"] = [](Step& s) { s.result[0] = s.grad[0]; };
  rules["Neg"] = [](Step& s) { s.result[0] = -s.grad[0]; };
  rules["Abs"] = unary<[](Step& s, Var x, Var) { return node(s, "Sign", x); }>;
  rules["Exp"] = unary<[](Step&, Var, Var y) { return y; }>;
  rules["Log"] = [](Step& s) { s.result[0] = s.grad[0] / s.in[0]; };
  rules["Sqrt"] = unary<[](Step& s, Var x, Var y) { return half(s, x) / y; }>;
  rules["Reciprocal"] = unary<[](Step&, Var, Var y) { return -(y * y); }>;
  rules["Sin"] = unary<[](Step& s, Var x, Var) { return node(s, "Cos", x); }>;
  rules["Cos"] = unary<[](Step& s, Var x, Var) { return -node(s, "Sin", x); }>;
  rules["Tan"] = unary<[](Step&, Var, Var y) { return y * y + 1.0; }>;
  rules["Asin"] = unary<[](Step& s, Var x, Var) { return 1.0 / node(s, "Sqrt", 1.0 - x * x); }>;
  rules["Acos"] = unary<[](Step& s, Var x, Var) { return -1.0 / node(s, "Sqrt", 1.0 - x * x); }>;
  rules["Atan"] = unary<[](Step&, Var x, Var) { return 1.0 / (x * x + 1.0); }>;
  rules["Sinh"] = unary<[](Step& s, Var x, Var) { return node(s, "Cosh", x); }>;
  rules["Cosh"] = unary<[](Step& s, Var x, Var) { return node(s, "Sinh", x); }>;
  rules["Asinh"] = unary<[](Step& s, Var x, Var) { return 1.0 / node(s, "Sqrt", x * x + 1.0); }>;
  rules["Acosh"] = unary<[](Step& s, Var x, Var) { return 1.0 / node(s, "Sqrt", x * x + -1.0); }>;
  rules["Atanh"] = unary<[](Step&, Var x, Var) { return 1.0 / (1.0 - x * x); }>;
  rules["Erf"] =
      unary<[](Step& s, Var x, Var) { return node(s, "Exp", -(x * x)) * (2 / std::sqrt(std::numbers::pi)); }>;
  rules["Relu"] = unary<[](Step& s, Var x, Var) { return choose(s, x > 0, 1, 0, x); }>;
  rules["LeakyRelu"] =
      unary<[](Step& s, Var x, Var) { return choose(s, x < 0, s.context.real("alpha", 0.01), 1, x); }>;
  rules["ThresholdedRelu"] =
      unary<[](Step& s, Var x, Var) { return choose(s, x > s.context.real("alpha", 1), 1, 0, x); }>;
  rules["Elu"] = unary<[](Step& s, Var x, Var y) {
    return s.w.where(x < 0, y + s.context.real("alpha", 1), s.w.number(1, x));
  }>;
  rules["Selu"] = unary<[](Step& s, Var x, Var y) {
    const double gamma = s.context.real("gamma", selu_gamma);
    return s.w.where(x > 0, s.w.number(gamma, x), y + gamma * s.context.real("alpha", selu_alpha));
  }>;
  rules["Celu"] = unary<[](Step& s, Var x, Var y) {
    return s.w.where(x > 0, s.w.number(1, x), y * (1 / s.context.real("alpha", 1)) + 1.0);
  }>;
  rules["Sigmoid"] = unary<[](Step&, Var, Var y) { return y * (1.0 - y); }>;
  rules["Tanh"] = unary<[](Step&, Var, Var y) { return 1.0 - y * y; }>;
  rules["Softplus"] = unary<[](Step& s, Var x, Var) { return node(s, "Sigmoid", x); }>;
  rules["Softsign"] = unary<[](Step& s, Var x, Var) {
    const Var root = node(s, "Abs", x) + 1.0;
    return 1.0 / (root * root);
  }>;
  rules["HardSigmoid"] = unary<[](Step& s, Var x, Var y) {
    const Var inside = s.w.node("And", {y > 0, y < 1});
    return choose(s, inside, s.context.real("alpha", 0.2), 0, x);
  }>;
  rules["Shrink"] = unary<[](Step& s, Var x, Var) {
    return choose(s, node(s, "Abs", x) > s.context.real("lambd", 0.5), 1, 0, x);
  }>;
}

}  // namespace axrun::onnx_import::gradient
