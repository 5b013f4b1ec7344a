// Dropout, as inference runs it and as training does.
#include "ir/ops/compute.h"
#include "ir/ops/random_bits.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// The ratio of what is dropped, where something is; training mode has to be known.
double dropped_ratio(const OperatorContext& context) {
  if (context.version() < 12 || !context.has(2)) return 0;
  const Tensor& training = context.constant(2);
  context.check(training.size() == 1, "training_mode must have one element");
  if (training.get_int(0) == 0) return 0;
  double ratio = 0.5;
  if (context.has(1)) {
    const Tensor& given = context.constant(1);
    context.check(given.size() == 1, "the ratio must have one element");
    ratio = given.get_real(0);
  }
  context.check(ratio >= 0 && ratio < 1, "the ratio must be in 0..1");
  return ratio;
}

/// The identity, with a mask that keeps everything: boolean since opset 10, of the input's type before. In
/// training mode each element is dropped with probability `ratio` and what stays is scaled by 1 / (1 -
/// ratio).
void define_dropout(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  const double ratio = dropped_ratio(context);
  const TensorRef x = operand(b, context, 0);
  if (ratio == 0) {
    b.output(b.map(x.dims(), [&](const Indices& i) { return x(i); }));
    if (!context.wants(1)) return;
    const ElementType mask = context.version() >= 10 ? ElementType::boolean : x.type();
    b.output(b.map(x.dims(), [&](const Indices&) { return b.literal(mask, 1); }));
    return;
  }
  context.check(is_float(x.type()), "integers cannot be scaled");
  const RandomBits generator(b, context, x.dims());
  const TensorRef kept = b.map(
      x.dims(), [&](const Indices& i) { return generator.uniform(i, 53) >= ratio; }, "kept");
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar value = widen(x(i));
    const Scalar scaled = value * b.literal(value.type(), 1 / (1 - ratio));
    return cast(x.type(), select(kept(i), scaled, b.literal(value.type(), 0)));
  }));
  if (context.wants(1)) b.output(kept);
}

}  // namespace

void dropout_operators(std::vector<OperatorEntry>& table) {
  table.push_back({"", "Dropout", 1, define_dropout});
}

}  // namespace axrun::ir
