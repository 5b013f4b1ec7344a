#pragma once

#include <cstdint>

#include "runtime/operators/attention_core.h"
#include "runtime/plan/port_sizes.h"

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

/// The same of a mask that was read, for other extents; the dims of what is absent are empty.
bool resize_attention_mask(const AttentionExtents& extents, const Extents& mask_dims,
                           const Extents& bias_dims, AttentionMask& mask);

/// An input of four dimensions that broadcasts to the logits: its strides, 0 where it does.
template <typename Dims>
void broadcast_strides(const Dims& shape, int64_t (&strides)[4]) {
  int64_t stride = 1;
  for (size_t d = 4; d-- > 0; stride *= shape[d]) strides[d] = shape[d] == 1 ? 0 : stride;
}

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
