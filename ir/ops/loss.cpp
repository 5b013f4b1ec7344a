// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "ir/ops/loss.h"

#include "ir/ops/compute.h"
#include "ir/ops/requirements.h"
#include "ir/ops/softmax.h"

namespace axrun::ir {
namespace {

/// Scores [N, C, d...], labels [N, d...] and weights [C], checked.
struct LossInputs {
  TensorRef scores;
  TensorRef labels;
  TensorRef weights;  ///< or undefined
  bool ignores = false;
  int64_t ignored = 0;
  std::string reduction;

  /// The index into the scores of class c at a label's index.
  static Indices score_index(const Indices& i, const Scalar& c) {
    return joined({i[0], c}, part(i, 1, i.size()));
  }
};

LossInputs loss_inputs(const OperatorContext& context, Builder& b) {
  LossInputs in;
  in.scores = real_operand(b, context, 0);
  context.check(in.scores.rank() >= 2, "the scores must have rank 2 or more");
  const Dims& dims = in.scores.dims();
  typed_operand(b, context, 1, {ElementType::i32, ElementType::i64});
  in.labels = shaped_operand(b, context, 1, joined({dims[0]}, part(dims, 2, dims.size())), "the labels");
  if (context.has(2)) {
    context.check(context.type(2) == in.scores.type(), "the weights must have the type of the scores");
    in.weights = shaped_operand(b, context, 2, {dims[1]}, "the weights");
  }
  in.ignores = context.has_attribute("ignore_index");
  in.ignored = context.integer("ignore_index", 0);
  in.reduction = context.string("reduction", "mean");
  context.check(in.reduction == "none" || in.reduction == "sum" || in.reduction == "mean",
                "attribute 'reduction' may not be '" + in.reduction + "'");
  return in;
}

/// -log_probability[label] * weight[label], 0 for the ignored label, and its sum or weighted mean.
TensorRef loss_of(Builder& b, const LossInputs& in, const TensorRef& log_probability) {
  const ElementType type = compute_type(in.scores.type());
  const Dims& dims = in.labels.dims();
  const auto label = [&](const Indices& i) { return cast(ElementType::i64, in.labels(i)); };
  const auto counts = [&](const Indices& i) { return in.ignores ? label(i) != in.ignored : b.boolean(true); };
  const auto weight = [&](const Indices& i) {
    if (in.weights.defined())
      return widen(in.weights.guarded({label(i)}, counts(i), b.real(in.scores.type(), 0)));
    return select(counts(i), b.real(type, 1), b.real(type, 0));
  };
  const auto loss = [&](const Indices& i) {
    const Scalar value = log_probability.guarded(LossInputs::score_index(i, label(i)), counts(i),
                                                 b.real(log_probability.type(), 0));
    return -widen(value) * weight(i);
  };
  const ElementType result = in.scores.type();
  if (in.reduction == "none") return b.map(dims, [&](const Indices& i) { return cast(result, loss(i)); });
  const TensorRef total = b.sum({}, dims, [&](const Indices&, const Indices& r) { return loss(r); });
  if (in.reduction == "sum") return b.map({}, [&](const Indices&) { return cast(result, total({})); });
  if (!in.ignores && !in.weights.defined()) {
    return b.map({}, [&](const Indices&) { return cast(result, total({}) / count_of(b, type, dims)); });
  }
  const TensorRef weights = b.sum({}, dims, [&](const Indices&, const Indices& r) { return weight(r); });
  return b.map({}, [&](const Indices&) { return cast(result, total({}) / weights({})); });
}

void define_negative_log_likelihood(const OperatorContext& context, Builder& b) {
  const LossInputs in = loss_inputs(context, b);
  b.output(loss_of(b, in, in.scores));
}

/// The loss of log softmax over the classes, which is the second output.
void define_softmax_cross_entropy(const OperatorContext& context, Builder& b) {
  const LossInputs in = loss_inputs(context, b);
  const Dims& dims = in.scores.dims();
  const SoftmaxParts parts =
      softmax_parts(b, dims, {1}, [&](const Indices& i) { return widen(in.scores(i)); });
  const TensorRef log_probability = b.map(dims, [&](const Indices& i) {
    const Indices kept = parts.split.kept_of(i);
    return widen(in.scores(i)) - parts.maximum(kept) - log(parts.total(kept));
  });
  b.output(loss_of(b, in, log_probability));
  if (!context.wants(1)) return;
  b.output(b.map(dims, [&](const Indices& i) { return cast(in.scores.type(), log_probability(i)); }));
}

}  // namespace

void loss_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "NegativeLogLikelihoodLoss", 12, define_negative_log_likelihood},
                                {"", "SoftmaxCrossEntropyLoss", 12, define_softmax_cross_entropy},
                            });
  training_operators(table);
}

}  // namespace axrun::ir
