#pragma once

#include <functional>

#include "ir/ops/attention.h"

namespace axrun::ir {

// What the attention operators of com.microsoft share.

/// What is added to the logits: masks and biases. Masked positions get mask_filter_value; those that
/// causality hides, the lowest f32.
class LogitTerms {
 public:
  /// `past` is the length of the past states: query s stands at key past + s. Reads the attributes
  /// mask_filter_value and unidirectional.
  LogitTerms(const OperatorContext& context, Builder& b, const AttentionShape& shape, const Dim& past);
  /// The keys lie in a buffer of shape.keys places, and `past` is data: those after the last query do not
  /// exist, nor do those for which a mask or bias has no column.
  LogitTerms(const OperatorContext& context, Builder& b, const AttentionShape& shape,
             std::function<Scalar()> past);

  /// Mask of input k, where present: lengths (B), ends and starts (2B), keys (B, T), queries and keys (B, S,
  /// T), or the square mask of Megatron (B, 1, M, M). A mask of one column for more keys masks nothing.
  void read_mask(int k);
  /// Input k, where present: (B or 1, heads or 1, S, T).
  void read_bias(int k);

  /// The logit at (batch, head, query, key) of a scaled product.
  Scalar apply(const Indices& i, const Scalar& product) const;
  /// Whether there is such a key: all but those at the end of a buffer are.
  Scalar exists(const Scalar& key) const;

 private:
  LogitTerms(const OperatorContext& context, Builder& b, const AttentionShape& shape,
             std::function<Scalar()> past, bool buffered);
  void read_buffered_mask();
  Scalar kept(const Indices& i) const;
  Scalar bias_at(const Indices& i) const;

  const OperatorContext& context_;
  Builder& b_;
  AttentionShape shape_;
  std::function<Scalar()> past_;
  bool buffered_;
  Dims columns_;  ///< that masks and biases have for a buffer's keys
  double filter_ = 0;
  bool causal_ = false;
  TensorRef mask_;
  bool has_starts_ = false;
  TensorRef bias_;
};

/// The attribute `name`, a number of heads.
Dim head_count(const OperatorContext& context, std::string_view name);
/// size / parts, refused unless it divides.
Dim divided(const OperatorContext& context, const Dim& size, const Dim& parts, std::string_view what);
/// x as a tensor of `type`.
TensorRef converted(Builder& b, const TensorRef& x, ElementType type);

}  // namespace axrun::ir
