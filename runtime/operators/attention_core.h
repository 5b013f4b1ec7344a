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

  const float* at(int64_t batch, int64_t head, int64_t position) const {
    return data + batch * batch_stride + head * head_stride + position * row_stride;
  }
};

/// Vectors [batch][heads][rows][size], and [batch][rows][heads * size].
HeadRows states(const float* data, int64_t heads, int64_t rows, int64_t size);
HeadRows side_by_side(const float* data, int64_t heads, int64_t rows, int64_t size);

/// Extents of scaled dot-product attention over separate heads, float32.
struct AttentionExtents {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, key_size = 0, value_size = 0;
  int64_t past = 0;       ///< query s stands at key past + s
  int64_t key_heads = 0;  ///< head h has the keys of h / group(); 0: as many as heads

  int64_t groups() const { return key_heads > 0 ? key_heads : heads; }
  int64_t group() const { return heads / groups(); }
};

/// Keys first .. last - 1.
struct KeyRange {
  int64_t first = 0, last = 0;
};

/// What an operator does to the logits. Called by several threads at once.
class LogitRule {
 public:
  virtual ~LogitRule() = default;
  /// The keys that a query may see: a part of 0 .. keys, or last <= first. The others are not even
  /// multiplied.
  virtual KeyRange visible(int64_t batch, int64_t query) const = 0;
  /// Changes the scaled products of a query with these keys (logits[0] is that of keys.first) into logits.
  /// False: it sees none of them, and its result is 0.
  virtual bool change(int64_t batch, int64_t head, int64_t query, KeyRange keys, float* logits) const = 0;
};

/// Makes the states of a key head ready, by whichever thread comes to need them.
using PrepareStates = FunctionRef<void(int64_t batch, int64_t key_head)>;

struct AttentionOperands {
  HeadRows query, key, value;
  HeadRows output;                         ///< written; heads and rows as AttentionExtents says
  const LogitRule* rule = nullptr;         ///< null: every query sees every key
  const float* sink = nullptr;             ///< [heads]: one more logit per head, which has no value
  const PrepareStates* prepare = nullptr;  ///< called once per batch and key head, before they are read
};

/// output = softmax(rule(cap tanh(scale query key^T / cap))) value, without the cap where it is 0. A query
/// that sees no key gives NaN, as the definition of softmax does, or 0 if there is a sink or the rule says
/// so.
///
/// Blocks of queries, of all heads that share their keys, are worked off by one thread each, so that keys
/// are read once per block and logits stay in the cache.
class AttentionCore {
 public:
  AttentionCore() = default;
  AttentionCore(const AttentionExtents& extents, float scale, float softcap, int threads);

  size_t scratch_bytes() const { return worker_bytes_ * static_cast<size_t>(threads_); }
  void run(const AttentionOperands& operands, ThreadPool& pool, void* scratch) const;
  double flops() const;

 private:
  /// Queries first .. first + count - 1 of the heads that share a key head.
  struct Block {
    int64_t batch = 0, key_head = 0, first = 0, count = 0;
  };
  struct Buffers;

  Buffers buffers_at(void* scratch) const;
  void run_block(const AttentionOperands& operands, const Block& block, void* scratch,
                 ThreadPool& pool) const;
  void probabilities(const AttentionOperands& operands, const Block& block, KeyRange keys, float* scores,
                     ThreadPool& pool) const;

  AttentionExtents x_;
  float scale_ = 1, softcap_ = 0;
  int threads_ = 1;
  int64_t block_queries_ = 1, blocks_ = 0, block_rows_ = 1;
  size_t worker_bytes_ = 0;
};

/// The attribute `scale` of com.microsoft's operators, or 1 / sqrt(key_size) where it is absent or 0.
float attention_scale(const StepContext& context, int64_t key_size);

/// to[batch][head][first + position] = from[batch][head][position] + bias[head * size + component].
void copy_heads(const AttentionExtents& extents, int64_t rows, int64_t size, const HeadRows& from,
                const float* bias, const HeadRows& to, int64_t first);

/// Rows of `size` floats, `from_stride` and `to_stride` apart.
void copy_rows(int64_t rows, int64_t size, const float* from, int64_t from_stride, float* to,
               int64_t to_stride);

}  // namespace axrun::runtime
