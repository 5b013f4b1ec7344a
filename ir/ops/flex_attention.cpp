// FlexAttention of ai.onnx.preview without its modifier graphs: softmax(scale Q K^T) V with grouped heads.
#include "ir/ops/compute.h"
#include "ir/ops/heads.h"
#include "ir/ops/requirements.h"
#include "ir/ops/softmax.h"

namespace axrun::ir {
namespace {

/// Q [B, heads, L, E], K [B, key heads, S, E], V [B, key heads, S, Ev]; query heads are named factors: (key
/// head, member of its group).
void define_flex_attention(const OperatorContext& context, Builder& b) {
  for (const char* modifier : {"score_mod", "prob_mod"}) {
    if (context.has_attribute(modifier)) context.unsupported(std::string("attribute '") + modifier + "'");
  }
  const TensorRef q = real_operand(b, context, 0);
  const TensorRef k = typed_operand(b, context, 1, {q.type()});
  const TensorRef v = typed_operand(b, context, 2, {q.type()});
  for (int input : {0, 1, 2}) require_rank(context, input, 4);
  const Dim batch = q.dims()[0];
  const Dim key_heads = k.dims()[1];
  const Dim queries = q.dims()[2];
  const Dim keys = k.dims()[2];
  const Dim size = q.dims()[3];
  context.check(context.may_be_at_least(key_heads, 1), "there are no key heads");
  context.check(context.equal(floor_mod(q.dims()[1], key_heads), Dim(0)), "the query heads make no groups");
  check_dims(context, k, {batch, key_heads, keys, size}, "K");
  check_dims(context, v, {batch, key_heads, keys, v.dims()[3]}, "V");
  const Dim group = floor_div(q.dims()[1], key_heads);
  const ElementType type = compute_type(q.type());
  const ElementType precision = type_attribute(context, "softmax_precision", type);
  context.check(is_real_type(precision), "attribute 'softmax_precision' is not a float type");
  const TensorRef products = b.reduce_grouped(
      Monoid::Kind::sum, {batch, key_heads, group, queries, keys}, {{0}, {1, 2}, {3}, {4}}, {size},
      [&](const Indices& i, const Indices& r) {
        return widen(q({i[0], i[1] * group + i[2], i[3], r[0]})) * widen(k({i[0], i[1], i[4], r[0]}));
      });
  const double given = context.real("scale", 0);
  const auto score = [&](const Indices& i) {
    if (context.has_attribute("scale")) return products(i) * given;
    return products(i) / sqrt(cast(type, b.extent(size)));
  };
  const SoftmaxParts parts = softmax_parts(b, products.dims(), {3}, score);
  const TensorRef probability =
      b.map(products.dims(), [&](const Indices& i) { return softmax_at(parts, i); });
  b.output(b.reduce_grouped(Monoid::Kind::sum, {batch, key_heads, group, queries, v.dims()[3]},
                            {{0}, {1, 2}, {3}, {4}}, {keys}, [&](const Indices& i, const Indices& r) {
                              const Scalar weight = probability({i[0], i[1] * group + i[2], i[3], r[0]});
                              return cast(q.type(), weight * widen(v({i[0], i[1], r[0], i[4]})));
                            }));
}

}  // namespace

void flex_attention_operators(std::vector<OperatorEntry>& table) {
  table.push_back({"ai.onnx.preview", "FlexAttention", 1, define_flex_attention});
}

}  // namespace axrun::ir
