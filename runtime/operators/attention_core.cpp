#include "runtime/operators/attention_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace axrun::runtime {
namespace {

/// Rows of a block. Packing a key costs as much as some ten products with it, and 128 rows of logits of a
/// thousand keys still fit into the second cache level. Where heads share keys, the rows of a block are fewer
/// queries: causal ones see more alike keys.
int64_t wanted_rows(int64_t group) { return group > 1 ? 64 : 128; }

int64_t round_up(int64_t floats) { return (floats + 15) / 16 * 16; }

/// The stride between all rows of `count` positions of `group` heads, one head after the other; 0: there is
/// none.
int64_t joint_stride(const HeadRows& rows, int64_t group, int64_t count) {
  if (group == 1 || rows.head_stride == count * rows.row_stride) return rows.row_stride;
  return count == 1 ? rows.head_stride : 0;
}

/// Between rows of logits: room for the sink after the last key. Long rows a multiple of 4 KiB apart would
/// evict each other from the first cache level.
int64_t score_stride(int64_t keys, bool has_sink) {
  const int64_t stride = keys + (has_sink ? 1 : 0);
  if (stride < 512) return stride;
  return round_up(stride) % 32 == 0 ? round_up(stride) + 16 : round_up(stride);
}

}  // namespace

HeadRows states(const float* data, int64_t heads, int64_t rows, int64_t size) {
  return {data, heads * rows * size, rows * size, size};
}
HeadRows side_by_side(const float* data, int64_t heads, int64_t rows, int64_t size) {
  return {data, heads * rows * size, size, heads * size};
}

/// A worker's scratch.
struct AttentionCore::Buffers {
  float* queries;  ///< [rows][key_size]: of all heads of the group, one after the other
  float* scores;   ///< [rows][score_stride]
  float* results;  ///< [rows][value_size]
  void* product;
};

AttentionCore::AttentionCore(const AttentionExtents& extents, float scale, float softcap, int threads)
    : x_(extents), scale_(scale), softcap_(softcap), threads_(std::max(threads, 1)) {
  const int64_t queries = std::max<int64_t>(x_.queries, 1);
  const int64_t most = std::clamp<int64_t>(wanted_rows(x_.group()) / x_.group(), 1, queries);
  blocks_ = (queries + most - 1) / most;
  block_queries_ = (queries + blocks_ - 1) / blocks_;
  block_rows_ = block_queries_ * x_.group();
  const size_t product = std::max(gemm_alone_scratch_bytes(x_.keys, x_.key_size),
                                  gemm_alone_scratch_bytes(x_.value_size, x_.keys));
  const Buffers all = buffers_at(nullptr);
  worker_bytes_ = reinterpret_cast<size_t>(all.product) + (product + 63) / 64 * 64;
}

AttentionCore::Buffers AttentionCore::buffers_at(void* scratch) const {
  Buffers to = {};
  const auto bytes = [](int64_t floats) { return static_cast<size_t>(round_up(floats)) * sizeof(float); };
  const auto at = reinterpret_cast<size_t>(scratch);
  const size_t scores = at + bytes(block_rows_ * x_.key_size);
  const size_t results = scores + bytes(block_rows_ * score_stride(x_.keys, true));
  to.queries = static_cast<float*>(scratch);
  to.scores = reinterpret_cast<float*>(scores);
  to.results = reinterpret_cast<float*>(results);
  to.product = reinterpret_cast<void*>(results + bytes(block_rows_ * x_.value_size));
  return to;
}

double AttentionCore::flops() const {
  return 2.0 * static_cast<double>(x_.batch * x_.heads * x_.queries * x_.keys) *
         static_cast<double>(x_.key_size + x_.value_size);
}

void AttentionCore::run(const AttentionOperands& operands, ThreadPool& pool, void* scratch) const {
  const int64_t key_heads = x_.batch * x_.groups();
  // The only block of a key head prepares it, too: what it has written is then still in its cache.
  const bool alone = blocks_ == 1;
  if (operands.prepare != nullptr && !alone) {
    pool.parallel_for(key_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) (*operands.prepare)(i / x_.groups(), i % x_.groups());
    });
  }
  pool.parallel_for_workers(key_heads * blocks_, 1, [&](int64_t worker, int64_t begin, int64_t end) {
    void* own = static_cast<char*>(scratch) + static_cast<size_t>(worker) * worker_bytes_;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / blocks_;
      Block block;
      block.batch = head / x_.groups();
      block.key_head = head % x_.groups();
      block.first = i % blocks_ * block_queries_;
      block.count = std::min(block_queries_, x_.queries - block.first);
      if (block.count <= 0) continue;
      if (operands.prepare != nullptr && alone) (*operands.prepare)(block.batch, block.key_head);
      run_block(operands, block, own, pool);
    }
  });
}

void AttentionCore::run_block(const AttentionOperands& operands, const Block& block, void* scratch,
                              ThreadPool& pool) const {
  const Buffers buffers = buffers_at(scratch);
  const int64_t group = x_.group(), first_head = block.key_head * group;
  KeyRange keys{0, x_.keys};
  if (operands.rule != nullptr) {
    keys = {x_.keys, 0};
    for (int64_t s = block.first; s < block.first + block.count; ++s) {
      const KeyRange own = operands.rule->visible(block.batch, s);
      if (own.first >= own.last) continue;
      keys = {std::min(keys.first, own.first), std::max(keys.last, own.last)};
    }
    // Where nothing is visible, one key carries the result: 0 or NaN.
    if (keys.first >= keys.last) keys = {0, 1};
  }

  GemmArguments g;
  g.m = group * block.count;
  g.n = keys.last - keys.first;
  g.k = x_.key_size;
  g.a = operands.query.at(block.batch, first_head, block.first);
  g.a_row_stride = joint_stride(operands.query, group, block.count);
  if (g.a_row_stride == 0) {
    for (int64_t h = 0; h < group; ++h) {
      copy_rows(block.count, x_.key_size, operands.query.at(block.batch, first_head + h, block.first),
                operands.query.row_stride, buffers.queries + h * block.count * x_.key_size, x_.key_size);
    }
    g.a = buffers.queries;
    g.a_row_stride = x_.key_size;
  }
  g.b = operands.key.at(block.batch, block.key_head, keys.first);
  g.b_row_stride = 1;
  g.b_column_stride = operands.key.row_stride;
  g.c = buffers.scores;
  g.c_row_stride = score_stride(g.n, operands.sink != nullptr);
  g.epilogue.scale = softcap_ > 0 ? scale_ / softcap_ : scale_;
  gemm_alone(g, buffers.product);

  probabilities(operands, block, keys, buffers.scores, pool);

  const auto output = [&](int64_t h) {
    return const_cast<float*>(operands.output.at(block.batch, first_head + h, block.first));
  };
  GemmArguments v;
  v.m = g.m;
  v.n = x_.value_size;
  v.k = g.n;
  v.a = buffers.scores;
  v.a_row_stride = g.c_row_stride;
  v.b = operands.value.at(block.batch, block.key_head, keys.first);
  v.b_row_stride = operands.value.row_stride;
  v.c = output(0);
  v.c_row_stride = joint_stride(operands.output, group, block.count);
  const bool copies = v.c_row_stride == 0;
  if (copies) {
    v.c = buffers.results;
    v.c_row_stride = x_.value_size;
  }
  gemm_alone(v, buffers.product);
  for (int64_t h = 0; h < group && copies; ++h) {
    copy_rows(block.count, x_.value_size, buffers.results + h * block.count * x_.value_size, x_.value_size,
              output(h), operands.output.row_stride);
  }
}

/// Scores of `keys` become probabilities, in place.
void AttentionCore::probabilities(const AttentionOperands& operands, const Block& block, KeyRange keys,
                                  float* scores, ThreadPool& pool) const {
  const int64_t group = x_.group(), rows = group * block.count, columns = keys.last - keys.first;
  const int64_t stride = score_stride(columns, operands.sink != nullptr);
  if (operands.rule == nullptr && softcap_ <= 0 && stride == columns && operands.sink == nullptr) {
    softmax({rows, columns, 1}, scores, scores, pool);
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t head = block.key_head * group + row / block.count, query = block.first + row % block.count;
    float* scored = scores + row * stride;
    KeyRange seen = keys;
    if (operands.rule != nullptr) {
      seen = operands.rule->visible(block.batch, query);
      if (seen.first >= seen.last) seen = {keys.first, keys.first};
    }
    float* logits = scored + (seen.first - keys.first);
    const int64_t count = seen.last - seen.first;
    if (softcap_ > 0) {
      unary(Unary::tanh, count, logits, logits, 0, 0, pool);
      for (int64_t t = 0; t < count; ++t) logits[t] *= softcap_;
    }
    const bool sees =
        operands.rule == nullptr || operands.rule->change(block.batch, head, query, seen, logits);
    if (!sees) {
      std::fill_n(scored, columns, 0.0f);
      continue;
    }
    if (count == 0 && operands.sink == nullptr) {
      std::fill_n(scored, columns, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    // The sink stands after the last key, in the place of a hidden one or past the row's end.
    if (operands.sink != nullptr) logits[count] = operands.sink[head];
    softmax({1, count + (operands.sink != nullptr ? 1 : 0), 1}, logits, logits, pool);
    std::fill(scored, logits, 0.0f);
    std::fill(logits + count, scored + columns, 0.0f);
  }
}

float attention_scale(const StepContext& context, int64_t key_size) {
  const double given = context.real("scale", 0);
  if (given != 0) return static_cast<float>(given);
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(key_size, 1))));
}

void copy_rows(int64_t rows, int64_t size, const float* from, int64_t from_stride, float* to,
               int64_t to_stride) {
  if (from_stride == size && to_stride == size) {
    std::copy_n(from, rows * size, to);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_stride, size, to + r * to_stride);
}

void copy_heads(const AttentionExtents& extents, int64_t rows, int64_t size, const HeadRows& from,
                const float* bias, const HeadRows& to, int64_t first) {
  for (int64_t b = 0; b < extents.batch; ++b) {
    for (int64_t h = 0; h < extents.heads; ++h) {
      const float* source = from.at(b, h, 0);
      float* target = const_cast<float*>(to.at(b, h, first));
      if (bias == nullptr) {
        copy_rows(rows, size, source, from.row_stride, target, to.row_stride);
        continue;
      }
      for (int64_t r = 0; r < rows; ++r) {
        const float* x = source + r * from.row_stride;
        float* y = target + r * to.row_stride;
        for (int64_t i = 0; i < size; ++i) y[i] = x[i] + bias[h * size + i];
      }
    }
  }
}

}  // namespace axrun::runtime
