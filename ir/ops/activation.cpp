// Activation functions. Attributes are float32 numbers and enter the real arithmetic unrounded, whatever the
// tensor's type.

#include <numbers>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {

Scalar softplus(const Scalar& x) { return max(x, 0) + log(1 + exp(-abs(x))); }

Scalar sigmoid(const Scalar& x) { return 1 / (1 + exp(-x)); }

namespace {

/// A parameter of the operator in the tensor's type, as the real number it is.
Scalar parameter(const Scalar& x, double value) { return x.builder().real(x.type(), value); }

/// Declares the rule of a float activation without parameters.
template <Scalar (*rule)(const Scalar&)>
void define_simple(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::floating);
  map_elements(context, b, rule);
}

/// Type checked, then one parameter per attribute; names with their defaults.
using NamedDefault = std::pair<std::string_view, double>;
using ParametricRule = std::function<Scalar(const Scalar& x, const std::vector<Scalar>& parameters)>;
void map_with(const OperatorContext& context, Builder& b, const std::vector<NamedDefault>& names,
              const ParametricRule& rule) {
  require_type(context, 0, TypeClass::floating);
  map_elements(context, b, [&](const Scalar& x) {
    std::vector<Scalar> parameters;
    for (const auto& [name, otherwise] : names) {
      parameters.push_back(parameter(x, context.real(name, otherwise)));
    }
    return rule(x, parameters);
  });
}

Scalar softsign(const Scalar& x) { return x / (1 + abs(x)); }
Scalar mish(const Scalar& x) { return x * tanh(softplus(x)); }
Scalar hard_swish(const Scalar& x) { return x * max(min(x / 6 + 0.5, 1), 0); }

void define_relu(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  map_elements(context, b, [](const Scalar& x) { return max(x, 0); });
}

void define_leaky_relu(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 0.01F}},
           [](const Scalar& x, const auto& p) { return select(x < 0, p[0] * x, x); });
}

void define_elu(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 1}},
           [](const Scalar& x, const auto& p) { return select(x < 0, p[0] * (exp(x) - 1), x); });
}

void define_selu(const OperatorContext& context, Builder& b) {
  const bool early = context.version() < 6;
  map_with(context, b,
           {{"alpha", early ? 1.6732F : 1.67326319217681884765625F},
            {"gamma", early ? 1.0507F : 1.05070102214813232421875F}},
           [](const Scalar& x, const auto& p) { return p[1] * select(x > 0, x, p[0] * (exp(x) - 1)); });
}

void define_celu(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 1}},
           [](const Scalar& x, const auto& p) { return select(x < 0, p[0] * (exp(x / p[0]) - 1), x); });
}

void define_hard_sigmoid(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 0.2F}, {"beta", 0.5F}},
           [](const Scalar& x, const auto& p) { return max(min(p[0] * x + p[1], 1), 0); });
}

void define_thresholded_relu(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 1}},
           [](const Scalar& x, const auto& p) { return select(x > p[0], x, parameter(x, 0)); });
}

void define_swish(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 1}}, [](const Scalar& x, const auto& p) { return x * sigmoid(p[0] * x); });
}

/// a * sigmoid(alpha * a) * b, of two tensors of one shape.
void define_swiglu(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::floating);
  require_same_type(context, 0, 1);
  const TensorRef gate = operand(b, context, 0);
  const TensorRef linear = shaped_operand(b, context, 1, gate.dims(), "input B");
  const double alpha = context.real("alpha", 1);
  b.output(b.map(gate.dims(), [&](const Indices& i) {
    const Scalar a = gate(i);
    return a * sigmoid(parameter(a, alpha) * a) * linear(i);
  }));
}

void define_gelu(const OperatorContext& context, Builder& b) {
  const std::string approximate = context.string("approximate", "none");
  context.check(approximate == "none" || approximate == "tanh",
                "attribute 'approximate' must be none or tanh");
  require_type(context, 0, TypeClass::floating);
  map_elements(context, b, [&](const Scalar& x) {
    const Scalar half = 0.5 * x;
    if (approximate == "none") return half * (1 + erf(x * parameter(x, std::numbers::sqrt2 / 2)));
    const Scalar inner = x + parameter(x, 0.044715) * x * x * x;
    return half * (1 + tanh(parameter(x, std::numbers::sqrt2 * std::numbers::inv_sqrtpi) * inner));
  });
}

/// The attributes are floats whatever the tensor's type: integers are shrunk as reals and truncated.
void define_shrink(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  const double bias = context.real("bias", 0);
  const double bound = context.real("lambd", 0.5);
  map_elements(context, b, [&](const Scalar& element) {
    const Scalar x = is_float(element.type()) ? element : cast(ElementType::f64, element);
    const Scalar outside = select(x > parameter(x, bound), x - parameter(x, bias), parameter(x, 0));
    return cast(element.type(), select(x < parameter(x, -bound), x + parameter(x, bias), outside));
  });
}

// Removed after opset 1 (experimental), still in old files.
void define_parametric_softplus(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 1}, {"beta", 1}},
           [](const Scalar& x, const auto& p) { return p[0] * softplus(p[1] * x); });
}

void define_scaled_tanh(const OperatorContext& context, Builder& b) {
  map_with(context, b, {{"alpha", 1}, {"beta", 1}},
           [](const Scalar& x, const auto& p) { return p[0] * tanh(p[1] * x); });
}

/// y = slope * x where x < 0. Until opset 6 a slope of more than one element runs along axis 1; then it
/// broadcasts towards x.
void define_prelu(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  require_same_type(context, 0, 1);
  const TensorRef x = operand(b, context, 0);
  const TensorRef slope = operand(b, context, 1);
  const bool per_channel = context.version() < 7 && slope.rank() == 1 && x.rank() > 1;
  if (per_channel) {
    const Dim& size = slope.dims()[0];
    context.check(context.is_one(size) || context.equal(size, x.dims()[1]),
                  "the slope must have one element or one per channel");
  } else {
    context.check(context.broadcasts_to(slope.dims(), x.dims()),
                  "the slope does not broadcast to the input's shape");
  }
  b.output(b.map(x.dims(), [&](const Indices& i) {
    Scalar factor;
    if (per_channel) {
      factor = slope({context.is_one(slope.dims()[0]) ? b.integer(0) : i[1]});
    } else {
      factor = broadcast_load(context, slope, i, x.dims());
    }
    return select(x(i) < 0, factor * x(i), x(i));
  }));
}

}  // namespace

void activation_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Celu", 12, define_celu},
                             {"", "Elu", 1, define_elu},
                             {"", "Gelu", 20, define_gelu},
                             {"", "HardSigmoid", 1, define_hard_sigmoid},
                             {"", "HardSwish", 14, define_simple<hard_swish>},
                             {"", "LeakyRelu", 1, define_leaky_relu},
                             {"", "Mish", 18, define_simple<mish>},
                             {"", "PRelu", 1, define_prelu},
                             {"", "ParametricSoftplus", 1, define_parametric_softplus},
                             {"", "Relu", 1, define_relu},
                             {"", "ScaledTanh", 1, define_scaled_tanh},
                             {"", "Selu", 1, define_selu},
                             {"", "Shrink", 9, define_shrink},
                             {"", "Sigmoid", 1, define_simple<sigmoid>},
                             {"", "Softplus", 1, define_simple<softplus>},
                             {"", "Softsign", 1, define_simple<softsign>},
                             {"", "SwiGLU", 28, define_swiglu},
                             {"", "Swish", 24, define_swish},
                             {"", "ThresholdedRelu", 1, define_thresholded_relu}});
}

}  // namespace axrun::ir
