// com.microsoft: contractions fused with what follows them.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"

namespace axrun::ir {
namespace {

/// An activation by its name, with up to three parameters; those left out (NaN) have ONNX's defaults.
struct FusedActivation {
  std::string name;
  double alpha;
  double beta;
  double gamma;

  double alpha_or(double value) const { return std::isnan(alpha) ? value : alpha; }
  double beta_or(double value) const { return std::isnan(beta) ? value : beta; }

  Scalar at(const OperatorContext& context, const Scalar& x) const {
    Builder& b = x.builder();
    const Scalar zero = b.literal(x.type(), 0);
    if (name.empty()) return x;
    if (name == "Relu") return max(x, zero);
    if (name == "Tanh") return tanh(x);
    if (name == "Sigmoid") return sigmoid(x);
    if (name == "LeakyRelu") return select(x < zero, x * alpha_or(0.01F), x);
    if (name == "ThresholdedRelu") return select(x > alpha_or(1), x, zero);
    if (name == "Elu") return select(x < zero, (exp(x) - 1.0) * alpha_or(1), x);
    if (name == "Softplus") return softplus(x);
    if (name == "Softsign") return x / (abs(x) + 1.0);
    if (name == "ScaledTanh") return tanh(x * beta_or(1)) * alpha_or(1);
    if (name == "ParametricSoftplus") return softplus(x * beta_or(1)) * alpha_or(1);
    if (name == "HardSigmoid") return min(max(x * alpha_or(0.2F) + beta_or(0.5), zero), 1);
    if (name == "HardSwish") return x * min(max(x * (1.0 / 6) + 0.5, zero), 1);
    if (name == "Clip")
      return min(max(x, alpha_or(std::numeric_limits<float>::lowest())),
                 beta_or(std::numeric_limits<float>::max()));
    context.unsupported(fmt::format("activation '{}'", name));
  }
};

TensorRef activated(const OperatorContext& context, Builder& b, const TensorRef& x,
                    const FusedActivation& activation) {
  return b.map(x.dims(),
               [&](const Indices& i) { return cast(x.type(), activation.at(context, widen(x(i)))); });
}

/// Gemm, then an activation with parameters activation_alpha, _beta and _gamma.
void fused_gemm(const OperatorContext& context, Builder& b) {
  const double none_given = std::nan("");
  const FusedActivation activation = {
      context.string("activation", ""),
      context.real("activation_alpha", context.real("leaky_relu_alpha", none_given)),
      context.real("activation_beta", none_given), context.real("activation_gamma", none_given)};
  b.output(activated(context, b, result_of(context, b, "Gemm", 13, 3), activation));
}

/// Conv, plus Z of its result's shape, then an activation with parameters in activation_params.
void fused_conv(const OperatorContext& context, Builder& b) {
  auto parameters = context.reals("activation_params");
  parameters.resize(3, std::nan(""));
  const FusedActivation activation = {context.string("activation", ""), parameters[0], parameters[1],
                                      parameters[2]};
  TensorRef y = result_of(context, b, "Conv", 11, 3);
  if (context.has(3)) {
    const TensorRef z = shaped_operand(b, context, 3, y.dims(), "Z");
    context.check(z.type() == y.type(), "Z must have the type of X");
    y = b.map(y.dims(), [&](const Indices& i) { return y(i) + z(i); });
  }
  b.output(activated(context, b, y, activation));
}

}  // namespace

void microsoft_fused_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "FusedGemm", 1, fused_gemm},
                             {microsoft_domain, "FusedConv", 1, fused_conv}});
}

}  // namespace axrun::ir
