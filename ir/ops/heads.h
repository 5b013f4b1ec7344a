#pragma once

#include "ir/operator.h"

namespace axrun::ir {

/// A tensor of attention heads, [batch, heads, length, size] or packed as [batch, length, heads * size].
struct Heads {
  TensorRef tensor;
  bool packed = false;
  Dim batch;
  Dim heads;
  Dim length;
  Dim size;

  Scalar operator()(const Scalar& batch_index, const Scalar& head, const Scalar& position,
                    const Scalar& element) const;
};

/// Input k with its heads; `packed_heads` is their number where the input has rank 3 and must be positive
/// then.
Heads heads_of(const OperatorContext& context, Builder& b, int k, int64_t packed_heads);

/// Attention, RotaryEmbedding, CausalConvWithState and LinearAttention of ai.onnx, FlexAttention of its preview.
void attention_operators(std::vector<OperatorEntry>& table);
void flex_attention_operators(std::vector<OperatorEntry>& table);
void rotary_embedding_operators(std::vector<OperatorEntry>& table);
void stateful_sequence_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
