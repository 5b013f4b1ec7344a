// com.microsoft: mixtures of experts (ONNX Runtime's ContribOperators.md). Only the chosen experts are
// computed: which ones they are is an index that data give.
#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// The matrices of one layer of all experts, [experts, columns, depth].
struct Layer {
  std::function<Scalar(const Scalar& expert, const Scalar& column, const Scalar& depth)> weight;
  Dim columns;
  Dim depth;
  TensorRef bias;  ///< [experts, columns], or undefined
};

enum class Gating : uint8_t { plain, separate, interleaved, halves };

/// What MoE and QMoE share.
class Mixture {
 public:
  Mixture(const OperatorContext& context, Builder& b) : context_(context), b_(b) {
    const TensorRef x = real_operand(b, context, 0);
    context.check(x.rank() == 2 || x.rank() == 3, "the input must have rank 2 or 3");
    dims_ = x.dims();
    type_ = x.type();
    compute_ = compute_type(type_);
    const Dims leading = part(dims_, 0, dims_.size() - 1);
    rows_ = product(leading);
    input_ = leading.size() == 1 ? x : b.reshape(x, {rows_, dims_.back()});
    require_rank(context, 1, 2);
    experts_ = context.dims(1)[1];
    logits_ = typed_operand(b, context, 1, {type_});
    check_dims(context, logits_, {rows_, experts_}, "router_probs");
    if (flag(context, "use_sparse_mixer", false)) context.unsupported("the sparse mixer");
    if (flag(context, "swiglu_limit_after_activation", false)) {
      context.unsupported("attribute 'swiglu_limit_after_activation'");
    }
    activation_ = context.string("activation_type", "relu");
    gated_ = activation_ == "swiglu" || activation_ == "geglu";
    constexpr const char* known[] = {"relu", "relu2", "gelu", "silu", "identity", "swiglu", "geglu"};
    context.check(std::find(std::begin(known), std::end(known), activation_) != std::end(known),
                  fmt::format("activation_type '{}' is unknown", activation_));
    const int64_t fusion = bounded_integer(context, "swiglu_fusion", 0, 0, 2);
    gating_ = !gated_       ? Gating::plain
              : fusion == 0 ? Gating::separate
              : fusion == 1 ? Gating::interleaved
                            : Gating::halves;
    const int64_t most = experts_.is_constant() ? experts_.value() : std::numeric_limits<int32_t>::max();
    chosen_ = bounded_integer(context, "k", 1, 1, most);
  }

  const Dim& rows() const { return rows_; }
  const Dim& experts() const { return experts_; }
  const Dim& hidden() const { return dims_.back(); }
  ElementType compute() const { return compute_; }
  ElementType type() const { return type_; }
  bool fused() const { return gating_ == Gating::interleaved || gating_ == Gating::halves; }

  void read_bias(Layer& layer, int k) {
    if (!context_.has(k)) return;
    layer.bias = typed_operand(b_, context_, k, {type_});
    check_dims(context_, layer.bias, {experts_, layer.columns}, fmt::format("the bias of input {}", k));
  }

  /// `third` has no columns where it is not given. aggregation: what weighs the experts instead of the
  /// routers' softmax; may be undefined.
  void define(const Layer& first, const Layer& second, const Layer* third, const TensorRef& aggregation) {
    context_.check((gating_ == Gating::separate) <= (third != nullptr), "fc3_experts_weights are missing");
    context_.check(!fused() || third == nullptr, "fused gates have no fc3_experts_weights");
    choose(aggregation);
    const TensorRef lower = layer(first, [&](const Indices& at) { return widen(input_({at[0], at[2]})); });
    TensorRef upper;
    if (third != nullptr) {
      upper = layer(*third, [&](const Indices& at) { return widen(input_({at[0], at[2]})); });
    }
    const TensorRef inner = b_.map({rows_, Dim(chosen_), second.depth}, [&](const Indices& i) {
      if (gating_ == Gating::interleaved) {
        return gate(lower({i[0], i[1], i[2] * 2}), lower({i[0], i[1], i[2] * 2 + 1}));
      }
      if (gating_ == Gating::halves) return gate(lower(i), lower({i[0], i[1], i[2] + second.depth}));
      if (gating_ == Gating::separate) return gate(lower(i), upper(i));
      const Scalar value = activate(lower(i));
      return upper.defined() ? value * upper(i) : value;
    });
    const TensorRef outer = layer(second, [&](const Indices& at) { return inner(at); });
    const TensorRef mixed =
        b_.sum({rows_, hidden()}, {Dim(chosen_)}, [&](const Indices& i, const Indices& r) {
          return share_({i[0], r[0]}) * outer({i[0], r[0], i[1]});
        });
    const TensorRef result = converted(b_, mixed, type_);
    b_.output(dims_.size() == 2 ? result : b_.reshape(result, dims_));
  }

 private:
  /// The experts of every row, best first, and what each one's answer is worth. Of equal ones the first wins.
  void choose(const TensorRef& aggregation) {
    const auto logit = [&](const Scalar& row, const Scalar& e) { return widen(logits_({row, e})); };
    const TensorRef place = b_.sum({rows_, experts_}, {experts_}, [&](const Indices& i, const Indices& r) {
      const Scalar own = logit(i[0], i[1]), other = logit(i[0], r[0]);
      const Scalar before = logical_or(other > own, logical_and(other == own, r[0] < i[1]));
      return cast(i64, before);
    });
    expert_ = b_.sum({rows_, Dim(chosen_)}, {experts_}, [&](const Indices& i, const Indices& r) {
      return select(place({i[0], r[0]}) == i[1], r[0], b_.integer(0));
    });
    if (aggregation.defined()) {
      share_ = b_.map({rows_, Dim(chosen_)}, [&](const Indices& i) {
        return widen(aggregation({i[0], expert_(i)}));
      });
      return;
    }
    const TensorRef largest =
        b_.reduce(Monoid::Kind::max, {rows_}, {experts_},
                  [&](const Indices& i, const Indices& r) { return logit(i[0], r[0]); });
    const auto power = [&](const Scalar& row, const Scalar& e) {
      return exp(logit(row, e) - largest({row}));
    };
    // Of the chosen ones only, where their shares are to add up to 1.
    const bool normalised = flag(context_, "normalize_routing_weights", false);
    const TensorRef total = b_.sum({rows_}, {experts_}, [&](const Indices& i, const Indices& r) {
      const Scalar value = power(i[0], r[0]);
      if (!normalised) return value;
      return select(place({i[0], r[0]}) < chosen_, value, b_.real(compute_, 0));
    });
    share_ = b_.map({rows_, Dim(chosen_)},
                    [&](const Indices& i) { return power(i[0], expert_(i)) / total({i[0]}); });
  }

  /// [rows, chosen, columns]; `value` gets row, number of the choice, depth.
  TensorRef layer(const Layer& layer, const std::function<Scalar(const Indices&)>& value) {
    const TensorRef product =
        b_.sum({rows_, Dim(chosen_), layer.columns}, {layer.depth}, [&](const Indices& i, const Indices& r) {
          return value({i[0], i[1], r[0]}) * layer.weight(expert_({i[0], i[1]}), i[2], r[0]);
        });
    if (!layer.bias.defined()) return product;
    return b_.map(product.dims(), [&](const Indices& i) {
      return product(i) + widen(layer.bias({expert_({i[0], i[1]}), i[2]}));
    });
  }

  Scalar activate(const Scalar& x) const {
    if (activation_ == "identity") return x;
    if (activation_ == "silu") return x * sigmoid(x);
    if (activation_ == "gelu") return tanh_gelu(x);
    const Scalar positive = max(x, 0.0);
    return activation_ == "relu2" ? positive * positive : positive;
  }

  static Scalar tanh_gelu(const Scalar& x) {
    return x * 0.5 * (tanh((x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi)) + 1.0);
  }

  Scalar gate(const Scalar& given, const Scalar& linear) const {
    if (activation_ == "geglu") return tanh_gelu(given) * linear;
    Scalar g = given, l = linear;
    if (context_.has_attribute("swiglu_limit")) {
      const double limit = context_.real("swiglu_limit", 0);
      g = min(g, limit);
      l = max(min(l, limit), -limit);
    }
    return g * sigmoid(g * context_.real("activation_alpha", 1)) * (l + context_.real("activation_beta", 0));
  }

  const OperatorContext& context_;
  Builder& b_;
  Dims dims_;
  Dim rows_;
  Dim experts_;
  ElementType type_ = ElementType::f32;
  ElementType compute_ = ElementType::f32;
  TensorRef input_;
  TensorRef logits_;
  std::string activation_;
  bool gated_ = false;
  Gating gating_ = Gating::plain;
  int64_t chosen_ = 1;
  TensorRef expert_;  ///< [rows, chosen]
  TensorRef share_;   ///< [rows, chosen]
};

/// Inputs: the layer's weights and bias at `k` and k + 1.
Layer float_layer(const OperatorContext& context, Builder& b, Mixture& mixture, int k, const Dim& depth) {
  const TensorRef w = typed_operand(b, context, k, {mixture.type()});
  require_rank(context, k, 3);
  check_dims(context, w, {mixture.experts(), w.dims()[1], depth}, fmt::format("input {}", k));
  Layer layer{[w](const Scalar& e, const Scalar& n, const Scalar& d) {
                return widen(w({e, n, d}));
              },
              w.dims()[1],
              depth,
              {}};
  mixture.read_bias(layer, k + 1);
  return layer;
}

Dim inner_size(const Mixture& mixture, const Dim& columns, const OperatorContext& context) {
  return mixture.fused() ? divided(context, columns, Dim(2), "the fused columns") : columns;
}

void moe(const OperatorContext& context, Builder& b) {
  Mixture mixture(context, b);
  const Layer first = float_layer(context, b, mixture, 2, mixture.hidden());
  const Dim inner = inner_size(mixture, first.columns, context);
  const Layer second = float_layer(context, b, mixture, 4, inner);
  context.check(context.equal(second.columns, mixture.hidden()), "fc2_experts_weights do not fit the input");
  if (!context.has(6)) return mixture.define(first, second, nullptr, {});
  const Layer third = float_layer(context, b, mixture, 6, mixture.hidden());
  mixture.define(first, second, &third, {});
}

/// A layer of 2, 4 or 8 bits, an element's bits in rows of bytes, the first in the lowest ones. Inputs:
/// weights, scales and bias at `k`, zero points at `zeros_input`.
Layer quantised_layer(const OperatorContext& context, Builder& b, Mixture& mixture, int k, int zeros_input,
                      int64_t bits, const Dim& depth) {
  const ElementType u8 = ElementType::u8;
  const int64_t per_byte = 8 / bits;
  const TensorRef w = typed_operand(b, context, k, {u8});
  require_rank(context, k, 3);
  const Dim columns = w.dims()[1];
  check_dims(context, w, {mixture.experts(), columns, ceil_div(depth, Dim(per_byte))},
             fmt::format("input {}", k));
  const int64_t block = bounded_integer(context, "block_size", 0, 0, int64_t{1} << 30);
  const Dim blocks = block > 0 ? ceil_div(depth, Dim(block)) : Dim(1);
  const TensorRef scales = real_operand(b, context, k + 1);
  Dims scale_dims = {mixture.experts(), columns};
  if (block > 0) scale_dims.push_back(blocks);
  check_dims(context, scales, scale_dims, fmt::format("the scales of input {}", k));
  TensorRef zeros;
  if (context.has(zeros_input)) {
    zeros = typed_operand(b, context, zeros_input, {u8});
    const Dims packed = block > 0 ? Dims{mixture.experts(), columns, ceil_div(blocks, Dim(per_byte))}
                                  : Dims{mixture.experts(), ceil_div(columns, Dim(per_byte))};
    check_dims(context, zeros, packed, fmt::format("the zero points of input {}", k));
  }
  const ElementType type = mixture.compute();
  // Element `at` of what is packed along its last axis.
  const auto field = [per_byte, bits, type](const TensorRef& x, Indices at) {
    if (per_byte == 1) return cast(type, x(at));
    const Scalar shift = cast(ElementType::u8, floor_mod(at.back(), per_byte) * bits);
    at.back() = floor_div(at.back(), per_byte);
    const Scalar mask = at[0].builder().integer((int64_t{1} << bits) - 1, ElementType::u8);
    return cast(type, binary(ScalarOp::bit_and, binary(ScalarOp::shift_right, x(at), shift), mask));
  };
  const auto weight = [=](const Scalar& e, const Scalar& n, const Scalar& d) {
    Indices at = {e, n};
    if (block > 0) at.push_back(floor_div(d, block));
    const double middle = static_cast<double>(int64_t{1} << (bits - 1));
    const Scalar value = field(w, {e, n, d});
    const Scalar centred = zeros.defined() ? value - field(zeros, at) : value - middle;
    return centred * cast(type, scales(at));
  };
  Layer layer{weight, columns, depth, {}};
  mixture.read_bias(layer, k + 2);
  return layer;
}

void qmoe(const OperatorContext& context, Builder& b) {
  if (const std::string kind = context.string("quant_type", "int"); kind != "int") {
    context.unsupported(fmt::format("quant_type '{}'", kind));
  }
  for (int k = 15; k < context.inputs(); ++k) {
    if (context.has(k)) context.unsupported(fmt::format("input {}", k));
  }
  if (context.integer("weights_prepacked", -1) > 0) context.unsupported("weights_prepacked");
  const int64_t common = context.integer("expert_weight_bits", 4);
  const auto bits_of = [&](const char* name) {
    const int64_t bits = context.integer(name, common);
    if (bits != 2 && bits != 4 && bits != 8) context.unsupported(fmt::format("weights of {} bits", bits));
    return bits;
  };
  Mixture mixture(context, b);
  const Layer first =
      quantised_layer(context, b, mixture, 2, 11, bits_of("fc1_expert_weight_bits"), mixture.hidden());
  const Dim inner = inner_size(mixture, first.columns, context);
  const Layer second = quantised_layer(context, b, mixture, 5, 12, bits_of("fc2_expert_weight_bits"), inner);
  context.check(context.equal(second.columns, mixture.hidden()), "fc2_experts_weights do not fit the input");
  TensorRef aggregation;
  if (context.has(14)) {
    aggregation = typed_operand(b, context, 14, {mixture.type()});
    check_dims(context, aggregation, {mixture.rows(), mixture.experts()}, "router_weights");
  }
  if (!context.has(8)) return mixture.define(first, second, nullptr, aggregation);
  const Layer third =
      quantised_layer(context, b, mixture, 8, 13, bits_of("fc3_expert_weight_bits"), mixture.hidden());
  mixture.define(first, second, &third, aggregation);
}

}  // namespace

void microsoft_expert_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "MoE", 1, moe}, {microsoft_domain, "QMoE", 1, qmoe}});
}

}  // namespace axrun::ir
