#pragma once

#include <cstdint>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// Vectors of all heads: the one of (batch, head, position) starts at batch * batch_stride + head *
/// head_stride + position * row_stride; its components are contiguous.
struct HeadRows {
  const float* data = nullptr;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
};

/// Extents of scaled dot-product attention over separate heads, float32.
struct AttentionExtents {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, key_size = 0, value_size = 0;
  int64_t past = 0;  ///< query s stands at key past + s
};

/// What is added to the logits of com.microsoft's attention operators.
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

/// output[batch][queries][heads * value_size] = softmax(scale * query key^T + mask) value.
class AttentionCore {
 public:
  AttentionCore() = default;
  AttentionCore(const AttentionExtents& extents, const AttentionMask& mask, float scale, int threads);

  /// Bytes of scratch, given how the rows of keys and values will lie.
  size_t scratch_bytes(const HeadRows& query, const HeadRows& key, const HeadRows& value) const;
  void run(const KernelCall& call, const HeadRows& query, const HeadRows& key, const HeadRows& value,
           float* output, void* scratch) const;
  double flops() const;

 private:
  GemmArguments score_product(const HeadRows& query, const HeadRows& key) const;
  GemmArguments value_product(const HeadRows& value) const;
  void add_mask(const KernelCall& call, float* scores, float* row) const;
  void mask_row(const KernelCall& call, int64_t batch, int64_t query, float* row) const;
  int64_t score_count() const { return x_.batch * x_.heads * x_.queries * x_.keys; }

  AttentionExtents x_;
  AttentionMask mask_;
  float scale_ = 1;
  int threads_ = 1;
};

/// to[batch][head][first + position] = from[batch][head][position] + bias[head * size + component].
void copy_heads(const AttentionExtents& extents, int64_t rows, int64_t size, const HeadRows& from,
                const float* bias, const HeadRows& to, int64_t first);

}  // namespace axrun::runtime
