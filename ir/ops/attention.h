#pragma once

#include <functional>

#include "ir/operator.h"

namespace axrun::ir {

/// Scaled dot-product attention over separate heads.
struct AttentionShape {
  Dim batch;
  Dim heads;
  Dim queries;     ///< length of the query sequence
  Dim keys;        ///< length of the key and value sequence
  Dim key_size;    ///< of one head
  Dim value_size;  ///< of one head

  Dims scores() const { return {batch, heads, queries, keys}; }
};

/// What the operators feed into it. Elements are given at (batch, head, position, component), as reals of one
/// compute type.
struct AttentionTerms {
  Builder::MapBody query;
  Builder::MapBody key;
  Builder::MapBody value;
  /// The logit at (batch, head, query, key) of a scaled product.
  std::function<Scalar(const Indices&, const Scalar& product)> logit;
  Scalar scale;
  /// Softmax with one more logit per head, which takes its share of the probability and has no value; or
  /// undefined.
  std::function<Scalar(const Scalar& head)> sink;
};

struct AttentionResult {
  TensorRef output;  ///< [batch, queries, heads * value_size]
  TensorRef logits;  ///< [batch, heads, queries, keys], like the next one
  TensorRef probabilities;
};

/// output = softmax(logit(query key^T * scale)) value.
AttentionResult attention(Builder& b, const AttentionShape& shape, const AttentionTerms& terms);

/// The attribute `scale`, or 1 / sqrt(size) where it is absent or 0.
Scalar attention_scale(const OperatorContext& context, Builder& b, ElementType type, const Dim& size);

/// Past and new states of one kind as one tensor [batch, heads, past + added, size]: `added` is given at
/// (batch, head, position, component). `past` may be undefined.
TensorRef joined_states(Builder& b, const TensorRef& past, const Dims& added_dims, ElementType type,
                        const Builder::MapBody& added);

/// Rotary position embedding of a vector given by its components: the pairs (k, k + half), or (2k, 2k + 1)
/// where interleaved, of the first 2 * half components are turned by the angle whose cosine and sine are
/// given; the others stay.
Scalar rotated(const Scalar& component, const Dim& half, bool interleaved,
               const std::function<Scalar(const Scalar&)>& at,
               const std::function<Scalar(const Scalar&)>& cosine,
               const std::function<Scalar(const Scalar&)>& sine);

}  // namespace axrun::ir
