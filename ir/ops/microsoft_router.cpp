// com.microsoft: MoEGroupRouter, which experts a token goes to where experts are chosen by groups.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// How many of the numbers 0 .. size - 1 come before number `own` (an axis of `dims`, the last one): larger
/// scores do, and of equal ones the first.
TensorRef places(Builder& b, const Dims& dims, const Dim& size,
                 const std::function<Scalar(const Indices& i, const Scalar& other)>& score,
                 const std::function<Scalar(const Indices& i)>& own,
                 const std::function<Scalar(const Indices& i, const Scalar& other)>& counts) {
  return b.sum(dims, {size}, [&](const Indices& i, const Indices& r) {
    const Scalar mine = score(i, own(i)), other = score(i, r[0]);
    const Scalar before = logical_or(other > mine, logical_and(other == mine, r[0] < own(i)));
    return cast(i64, logical_and(counts(i, r[0]), before));
  });
}

/// The choice of experts, from the scores [rows, experts] of each. NaN is worth less than any number.
class GroupedChoice {
 public:
  GroupedChoice(const OperatorContext& context, Builder& b, const TensorRef& scores)
      : b_(b), rows_(scores.dims()[0]), experts_(scores.dims()[1]) {
    const Scalar least = b.real(f32, -std::numeric_limits<double>::infinity());
    scores_ = b.map(scores.dims(), [&](const Indices& i) {
      return select(unary(ScalarOp::is_nan, scores(i)), least, scores(i));
    });
    constexpr int64_t most = int64_t{1} << 30;
    const int64_t groups = bounded_integer(context, "n_group", 1, 1, most);
    const int64_t chosen_groups = bounded_integer(context, "topk_group", 1, 1, groups);
    const int64_t judged = bounded_integer(context, "group_topk", 2, 1, most);
    size_ = divided(context, experts_, Dim(groups), "the experts");
    chosen_ = bounded_integer(context, "top_k", 0, 1, most);
    const Dim open = size_ * chosen_groups;
    context.check(context.may_be_at_least(open, chosen_),
                  fmt::format("{} experts of {} are to be chosen", chosen_, open.to_string()));
    if (chosen_groups < groups) choose_groups(Dim(groups), chosen_groups, judged);
    place_ = places(
        b, {rows_, experts_}, experts_,
        [&](const Indices& i, const Scalar& e) {
          return scores_({i[0], e});
        },
        [](const Indices& i) { return i[1]; },
        [&](const Indices& i, const Scalar& e) { return is_open(i[0], e); });
  }

  Scalar operator()(const Indices& i) const { return logical_and(is_open(i[0], i[1]), place_(i) < chosen_); }

 private:
  /// A group is as good as the sum of its `judged` best experts.
  void choose_groups(const Dim& groups, int64_t chosen, int64_t judged) {
    const auto all = [&](const Indices&, const Scalar&) { return b_.boolean(true); };
    const auto of_group = [&](const Indices& i, const Scalar& k) {
      return scores_({i[0], i[1] * size_ + k});
    };
    const TensorRef inner = places(
        b_, {rows_, groups, size_}, size_, of_group, [](const Indices& i) { return i[2]; }, all);
    const TensorRef worth = b_.sum({rows_, groups}, {size_}, [&](const Indices& i, const Indices& r) {
      return select(inner({i[0], i[1], r[0]}) < judged, of_group(i, r[0]), b_.real(f32, 0));
    });
    const TensorRef outer = places(
        b_, {rows_, groups}, groups,
        [&](const Indices& i, const Scalar& g) {
          return worth({i[0], g});
        },
        [](const Indices& i) { return i[1]; }, all);
    open_ = b_.map({rows_, groups}, [&](const Indices& i) { return cast(i64, outer(i) < chosen); });
  }

  Scalar is_open(const Scalar& row, const Scalar& expert) const {
    return open_.defined() ? open_({row, floor_div(expert, size_)}) == 1 : b_.boolean(true);
  }

  Builder& b_;
  TensorRef scores_;
  Dim rows_;
  Dim experts_;
  Dim size_;  ///< of a group
  int64_t chosen_ = 1;
  TensorRef open_;   ///< 1 for groups that experts are taken from, [rows, groups]; undefined: for all
  TensorRef place_;  ///< of an expert among those of open groups
};

/// Inputs: logits (..., experts), expert_bias, projection_weight. Without the latter logits are what it would
/// make of them.
void moe_group_router(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {f32, f16, bf16});
  const TensorRef bias = typed_operand(b, context, 1, {f32});
  require_rank(context, 1, 1);
  const Dim experts = bias.dims()[0];
  context.check(x.rank() > 0, "logits are a scalar");
  const bool is_full = context.wants(1) || context.wants(2);
  context.check(!is_full || (context.wants(1) && context.wants(2) && !context.wants(0)),
                "selection_scores and router_weights are given together, and without router_probs");
  TensorRef logits;
  if (context.has(2)) {
    context.check(is_full, "projection_weight is for selection_scores and router_weights");
    require_rank(context, 0, 2);
    const Dim width = x.dims()[1];
    context.check(!width.is_constant() || (width.value() > 0 && width.value() % 256 == 0),
                  "the width must be a multiple of 256");
    const TensorRef w = shaped_operand(b, context, 2, {experts, width}, "projection_weight");
    context.check(w.type() == x.type(), "projection_weight must have the type of logits");
    logits = b.sum({x.dims()[0], experts}, {width}, [&](const Indices& i, const Indices& r) {
      return widen(x({i[0], r[0]})) * widen(w({i[1], r[0]}));
    });
  } else {
    const Dims outer = part(x.dims(), 0, x.dims().size() - 1);
    check_dims(context, x, joined(outer, {experts}), "logits");
    logits = x.rank() == 2 ? x : b.reshape(x, {product(outer), experts});
  }
  const TensorRef weights = b.map(logits.dims(), [&](const Indices& i) { return sigmoid(widen(logits(i))); });
  const TensorRef scores = b.map(logits.dims(), [&](const Indices& i) { return weights(i) + bias({i[1]}); });
  if (is_full) {
    context.check(context.integer("n_group", 1) == 1 && context.integer("topk_group", 1) == 1,
                  "all scores are given where there is one group");
    b.output(b.map(scores.dims(), [&](const Indices& i) { return cast(x.type(), weights(i)); }));  // unread
    b.output(scores);
    b.output(weights);
    return;
  }
  const GroupedChoice chosen(context, b, scores);
  const double otherwise = context.real("router_sentinel", -10000);
  b.output(b.map(scores.dims(), [&](const Indices& i) {
    return cast(x.type(), select(chosen(i), log(max(weights(i), 1e-20F)), b.real(f32, otherwise)));
  }));
}

}  // namespace

void microsoft_router_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "MoEGroupRouter", 1, moe_group_router});
}

}  // namespace axrun::ir
