#pragma once

#include <cstdint>

#include "runtime/operators/attention_core.h"

namespace axrun::runtime {

/// What is added to the logits of com.microsoft's Attention and MultiHeadAttention.
struct AttentionMask {
  enum class Kind : uint8_t { none, lengths, ends_and_starts, keys, queries_and_keys, square };
  Kind kind = Kind::none;
  ir::ElementType type = ir::ElementType::undefined;  ///< i32, i64 or boolean
  int port = -1;
  int64_t side = 0;  ///< of the square mask
  float filter = -10000;
  bool causal = false;
  int bias_port = -1;  ///< attention_bias, broadcast to [batch, heads, queries, keys]
  int64_t bias_strides[4] = {};

  bool plain() const { return kind == Kind::none && !causal && bias_port < 0; }
};

/// Reads the mask of input `mask_port` and the bias of input `bias_port`; false when their shapes or types
/// are none of those above.
bool read_attention_mask(const StepContext& context, const AttentionExtents& extents, size_t mask_port,
                         size_t bias_port, AttentionMask& mask);

/// An input of four dimensions that broadcasts to the logits: its strides, 0 where it does.
void broadcast_strides(const ir::Shape& shape, int64_t (&strides)[4]);

/// The mask of one run. `scratch` has mask_scratch_bytes: what is added, spelled out once for all heads.
class MaskRule final : public LogitRule {
 public:
  MaskRule(const AttentionMask& mask, const AttentionExtents& extents, const KernelCall& call, void* scratch);
  KeyRange visible(int64_t batch, int64_t query) const override;
  bool change(int64_t batch, int64_t head, int64_t query, KeyRange keys, float* logits) const override;

 private:
  void spell_out(const void* data, int64_t batch, int64_t query, float* row) const;

  const AttentionMask& mask_;
  const AttentionExtents& x_;
  const float* bias_ = nullptr;
  float* added_ = nullptr;  ///< [batch][rows_][keys]; null: nothing
  int64_t rows_ = 1;        ///< queries, or 1 where all have the same
};
size_t mask_scratch_bytes(const AttentionMask& mask, const AttentionExtents& extents);

}  // namespace axrun::runtime
