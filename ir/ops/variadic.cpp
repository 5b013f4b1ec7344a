// Max, Min, Sum and Mean over any number of inputs, and Clip.

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// The inputs folded from left to right at every position of their broadcast shape, then finished.
void map_inputs(const OperatorContext& context, Builder& b, ScalarOp op,
                const std::function<Scalar(const Scalar&)>& finish) {
  context.check(context.inputs() > 0, "at least one input is needed");
  std::vector<TensorRef> inputs;
  std::vector<Dims> shapes;
  for (int k = 0; k < context.inputs(); ++k) {
    require_type(context, k, TypeClass::number);
    require_same_type(context, 0, k);
    inputs.push_back(operand(b, context, k));
    shapes.push_back(inputs.back().dims());
  }
  const Dims dims = context.broadcast(shapes);
  b.output(b.map(dims, [&](const Indices& i) {
    Scalar folded = broadcast_load(context, inputs[0], i, dims);
    for (size_t k = 1; k < inputs.size(); ++k) {
      folded = binary(op, folded, broadcast_load(context, inputs[k], i, dims));
    }
    return finish(folded);
  }));
}

template <ScalarOp op>
void define_fold(const OperatorContext& context, Builder& b) {
  map_inputs(context, b, op, [](const Scalar& x) { return x; });
}

void define_mean(const OperatorContext& context, Builder& b) {
  const int64_t count = context.inputs();
  map_inputs(context, b, ScalarOp::add, [&](const Scalar& sum) { return sum / count; });
}

/// Bounds as attributes, each optional.
void define_clip_attributes(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::floating);
  map_elements(context, b, [&](const Scalar& x) {
    Scalar clipped = x;
    if (context.has_attribute("min")) clipped = max(clipped, b.real(x.type(), context.real("min", 0)));
    if (context.has_attribute("max")) clipped = min(clipped, b.real(x.type(), context.real("max", 0)));
    return clipped;
  });
}

/// Bounds as inputs of one element, each optional. Where min > max the result is max.
void define_clip(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  TensorRef low;
  TensorRef high;
  if (context.has(1)) {
    require_same_type(context, 0, 1);
    low = operand(b, context, 1);
  }
  if (context.has(2)) {
    require_same_type(context, 0, 2);
    high = operand(b, context, 2);
  }
  map_elements(context, b, [&](const Scalar& x) {
    Scalar clipped = x;
    if (low.defined()) clipped = max(clipped, only_element(context, b, low, "min"));
    if (high.defined()) clipped = min(clipped, only_element(context, b, high, "max"));
    return clipped;
  });
}

}  // namespace

void variadic_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Clip", 1, define_clip_attributes},
                             {"", "Clip", 11, define_clip},
                             {"", "Max", 1, define_fold<ScalarOp::max>},
                             {"", "Mean", 1, define_mean},
                             {"", "Min", 1, define_fold<ScalarOp::min>},
                             {"", "Sum", 1, define_fold<ScalarOp::add>}});
}

}  // namespace axrun::ir
