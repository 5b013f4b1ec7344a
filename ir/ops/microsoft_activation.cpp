// com.microsoft: activations.
#include <fmt/format.h>

#include <numbers>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"

namespace axrun::ir {
namespace {

Scalar gelu(const Scalar& x) { return x * 0.5 * (erf(x * (std::numbers::sqrt2 / 2)) + 1.0); }

Scalar fast_gelu(const Scalar& x) {
  const Scalar inner = x + x * x * x * 0.044715;
  return x * 0.5 * (tanh(inner * (std::numbers::sqrt2 * std::numbers::inv_sqrtpi)) + 1.0);
}

/// rule(x + bias), the bias running along the last dimension; without input 1, rule(x).
template <Scalar (*rule)(const Scalar&), bool bias_required>
void with_bias(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  TensorRef bias;
  if (bias_required || context.has(1)) {
    context.check(x.rank() > 0, "a scalar takes no bias");
    bias = real_operand(b, context, 1);
    check_dims(context, bias, {x.dims().back()}, "the bias");
  }
  b.output(b.map(x.dims(), [&](const Indices& i) {
    Scalar value = widen(x(i));
    if (bias.defined()) value = value + cast(value.type(), bias({i.back()}));
    return cast(x.type(), rule(value));
  }));
}

/// x * sigmoid(alpha * x).
void quick_gelu(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const double alpha = context.real("alpha", 1.702F);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar value = widen(x(i));
    return cast(x.type(), value * sigmoid(value * alpha));
  }));
}

}  // namespace

void microsoft_activation_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "BiasGelu", 1, with_bias<gelu, true>},
                             {microsoft_domain, "FastGelu", 1, with_bias<fast_gelu, false>},
                             {microsoft_domain, "Gelu", 1, with_bias<gelu, false>},
                             {microsoft_domain, "QuickGelu", 1, quick_gelu}});
}

}  // namespace axrun::ir
