// The optimizers of ai.onnx.preview.training: Adagrad, Adam and Momentum. One node updates several tensors;
// inputs are R, T, then all tensors, all gradients and all accumulators.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/loss.h"

namespace axrun::ir {
namespace {

/// One optimized tensor with what belongs to it.
struct Optimized {
  TensorRef value;
  TensorRef gradient;
  std::vector<TensorRef> accumulators;
};

struct Optimizer {
  TensorRef rate;
  TensorRef count;
  std::vector<Optimized> tensors;

  Scalar rate_as(const OperatorContext& context, Builder& b, ElementType type) const {
    return cast(type, only_element(context, b, rate, "R"));
  }
  Scalar steps(const OperatorContext& context, Builder& b) const {
    return only_element(context, b, count, "T");
  }
};

Optimizer optimizer_of(const OperatorContext& context, Builder& b, int accumulators) {
  Optimizer optimizer;
  const std::initializer_list<ElementType> floats = {ElementType::f32, ElementType::f64};
  optimizer.rate = typed_operand(b, context, 0, floats);
  optimizer.count = typed_operand(b, context, 1, {ElementType::i64});
  const int kinds = 2 + accumulators;
  const int tensors = (context.inputs() - 2) / kinds;
  if (tensors < 1 || context.inputs() != 2 + tensors * kinds) {
    context.fail(fmt::format("{} inputs are not a multiple of {} after R and T", context.inputs(), kinds));
  }
  for (int t = 0; t < tensors; ++t) {
    Optimized o;
    o.value = typed_operand(b, context, 2 + t, floats);
    const auto companion = [&](int kind) {
      const int k = 2 + kind * tensors + t;
      context.check(context.type(k) == o.value.type(), "a tensor and its companions must have one type");
      return shaped_operand(b, context, k, o.value.dims(), fmt::format("input {}", k));
    };
    o.gradient = companion(1);
    for (int a = 0; a < accumulators; ++a) o.accumulators.push_back(companion(2 + a));
    optimizer.tensors.push_back(o);
  }
  return optimizer;
}

/// The gradient with that of the penalty norm_coefficient / 2 * |x|^2.
Scalar regularized(const OperatorContext& context, const Optimized& o, const Indices& i) {
  return o.value(i) * context.real("norm_coefficient", 0) + o.gradient(i);
}

void output_all(Builder& b, const std::vector<TensorRef>& tensors) {
  for (const TensorRef& tensor : tensors) b.output(tensor);
}

void define_adagrad(const OperatorContext& context, Builder& b) {
  const Optimizer optimizer = optimizer_of(context, b, 1);
  const double decay = context.real("decay_factor", 0);
  const double epsilon = context.real("epsilon", 1e-6F);
  std::vector<TensorRef> values;
  std::vector<TensorRef> sums;
  for (const Optimized& o : optimizer.tensors) {
    const ElementType type = o.value.type();
    const TensorRef sum = b.map(o.value.dims(), [&](const Indices& i) {
      const Scalar g = regularized(context, o, i);
      return o.accumulators[0](i) + g * g;
    });
    values.push_back(b.map(o.value.dims(), [&](const Indices& i) {
      const Scalar steps = cast(type, optimizer.steps(context, b));
      const Scalar rate = optimizer.rate_as(context, b, type) / (steps * decay + 1.0);
      return o.value(i) - rate * regularized(context, o, i) / (sqrt(sum(i)) + epsilon);
    }));
    sums.push_back(sum);
  }
  output_all(b, values);
  output_all(b, sums);
}

void define_adam(const OperatorContext& context, Builder& b) {
  const Optimizer optimizer = optimizer_of(context, b, 2);
  const double alpha = context.real("alpha", 0.9F);
  const double beta = context.real("beta", 0.999F);
  const double epsilon = context.real("epsilon", 1e-6F);
  const double post = context.real("norm_coefficient_post", 0);
  std::vector<TensorRef> values;
  std::vector<TensorRef> means;
  std::vector<TensorRef> squares;
  for (const Optimized& o : optimizer.tensors) {
    const ElementType type = o.value.type();
    const TensorRef mean = b.map(o.value.dims(), [&](const Indices& i) {
      return o.accumulators[0](i) * alpha + regularized(context, o, i) * (1 - alpha);
    });
    const TensorRef square = b.map(o.value.dims(), [&](const Indices& i) {
      const Scalar g = regularized(context, o, i);
      return o.accumulators[1](i) * beta + g * g * (1 - beta);
    });
    values.push_back(b.map(o.value.dims(), [&](const Indices& i) {
      const Scalar steps = optimizer.steps(context, b);
      const Scalar rate = optimizer.rate_as(context, b, type);
      const auto decayed = [&](double base) { return 1.0 - pow(b.real(type, base), cast(type, steps)); };
      const Scalar adjusted = select(steps > 0, rate * sqrt(decayed(beta)) / decayed(alpha), rate);
      return (o.value(i) - adjusted * mean(i) / (sqrt(square(i)) + epsilon)) * (1 - post);
    }));
    means.push_back(mean);
    squares.push_back(square);
  }
  output_all(b, values);
  output_all(b, means);
  output_all(b, squares);
}

void define_momentum(const OperatorContext& context, Builder& b) {
  const Optimizer optimizer = optimizer_of(context, b, 1);
  const double alpha = context.real("alpha", 0);
  const double beta = context.real("beta", 1);
  const std::string mode = context.string("mode", "standard");
  context.check(mode == "standard" || mode == "nesterov", "attribute 'mode' may not be '" + mode + "'");
  std::vector<TensorRef> values;
  std::vector<TensorRef> momenta;
  for (const Optimized& o : optimizer.tensors) {
    const ElementType type = o.value.type();
    const TensorRef momentum = b.map(o.value.dims(), [&](const Indices& i) {
      const Scalar scale = select(optimizer.steps(context, b) > 0, b.real(type, beta), b.real(type, 1));
      return o.accumulators[0](i) * alpha + scale * regularized(context, o, i);
    });
    values.push_back(b.map(o.value.dims(), [&](const Indices& i) {
      const Scalar direction =
          mode == "standard" ? momentum(i) : regularized(context, o, i) + momentum(i) * alpha;
      return o.value(i) - optimizer.rate_as(context, b, type) * direction;
    }));
    momenta.push_back(momentum);
  }
  output_all(b, values);
  output_all(b, momenta);
}

}  // namespace

void training_operators(std::vector<OperatorEntry>& table) {
  constexpr std::string_view domain = "ai.onnx.preview.training";
  table.insert(table.end(), {
                                {domain, "Adagrad", 1, define_adagrad},
                                {domain, "Adam", 1, define_adam},
                                {domain, "Momentum", 1, define_momentum},
                            });
}

}  // namespace axrun::ir
