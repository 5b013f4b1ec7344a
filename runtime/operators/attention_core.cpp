#include "runtime/operators/attention_core.h"

#include <algorithm>
#include <limits>

namespace axrun::runtime {
namespace {

using ir::ElementType;

int64_t mask_value(ElementType type, const void* data, int64_t at) {
  switch (type) {
    case ElementType::i64:
      return static_cast<const int64_t*>(data)[at];
    case ElementType::i32:
      return static_cast<const int32_t*>(data)[at];
    default:
      return static_cast<const uint8_t*>(data)[at] != 0 ? 1 : 0;
  }
}

size_t round_up(int64_t floats) { return static_cast<size_t>((floats + 15) / 16 * 64); }

}  // namespace

bool read_attention_mask(const StepContext& context, const AttentionExtents& x, size_t mask_port,
                         size_t bias_port, AttentionMask& mask) {
  using Kind = AttentionMask::Kind;
  mask.filter = static_cast<float>(context.real("mask_filter_value", -10000));
  mask.causal = context.integer("unidirectional", 0) != 0;
  if (context.has_input(bias_port)) {
    const StepPort& bias = context.inputs[bias_port];
    if (bias.type != ElementType::f32 || bias.rank() != 4) return false;
    const ir::Shape strides = ir::row_major_strides(bias.shape);
    mask.bias_port = static_cast<int>(bias_port);
    for (size_t d = 0; d < 4; ++d) mask.bias_strides[d] = bias.shape[d] == 1 ? 0 : strides[d];
  }
  if (!context.has_input(mask_port)) return true;
  const StepPort& given = context.inputs[mask_port];
  if (given.type != ElementType::i32 && given.type != ElementType::i64 && given.type != ElementType::boolean)
    return false;
  mask.type = given.type;
  mask.port = static_cast<int>(mask_port);
  const ir::Shape& dims = given.shape;
  switch (dims.size()) {
    case 1:
      mask.kind = dims[0] == x.batch ? Kind::lengths : Kind::ends_and_starts;
      return dims[0] == x.batch || dims[0] == 2 * x.batch;
    case 2:
      if (dims[1] != x.keys) return dims[1] == 1;  // one column for more keys masks nothing
      mask.kind = Kind::keys;
      return dims[0] == x.batch;
    case 3:
      mask.kind = Kind::queries_and_keys;
      return dims == ir::Shape{x.batch, x.queries, x.keys};
    case 4:
      mask.kind = Kind::square;
      mask.side = dims[2];
      return dims[0] == x.batch && dims[1] == 1 && dims[2] == dims[3] && dims[2] >= x.keys &&
             dims[2] >= x.past + x.queries && !mask.causal;
    default:
      return false;
  }
}

AttentionCore::AttentionCore(const AttentionExtents& extents, const AttentionMask& mask, float scale,
                             int threads)
    : x_(extents), mask_(mask), scale_(scale), threads_(threads) {}

GemmArguments AttentionCore::score_product(const HeadRows& query, const HeadRows& key) const {
  GemmArguments g;
  g.m = x_.queries;
  g.n = x_.keys;
  g.k = x_.key_size;
  g.a = query.data;
  g.a_row_stride = query.row_stride;
  g.b = key.data;
  g.b_row_stride = 1;
  g.b_column_stride = key.row_stride;
  g.c_row_stride = x_.keys;
  g.epilogue.scale = scale_;
  g.batch_rank = 2;
  g.batch_extents[0] = x_.batch;
  g.batch_extents[1] = x_.heads;
  g.a_batch_strides[0] = query.batch_stride;
  g.a_batch_strides[1] = query.head_stride;
  g.b_batch_strides[0] = key.batch_stride;
  g.b_batch_strides[1] = key.head_stride;
  g.c_batch_strides[0] = x_.heads * x_.queries * x_.keys;
  g.c_batch_strides[1] = x_.queries * x_.keys;
  return g;
}

GemmArguments AttentionCore::value_product(const HeadRows& value) const {
  GemmArguments g;
  g.m = x_.queries;
  g.n = x_.value_size;
  g.k = x_.keys;
  g.a_row_stride = x_.keys;
  g.b = value.data;
  g.b_row_stride = value.row_stride;
  g.c_row_stride = x_.heads * x_.value_size;
  g.batch_rank = 2;
  g.batch_extents[0] = x_.batch;
  g.batch_extents[1] = x_.heads;
  g.a_batch_strides[0] = x_.heads * x_.queries * x_.keys;
  g.a_batch_strides[1] = x_.queries * x_.keys;
  g.b_batch_strides[0] = value.batch_stride;
  g.b_batch_strides[1] = value.head_stride;
  g.c_batch_strides[0] = x_.queries * x_.heads * x_.value_size;
  g.c_batch_strides[1] = x_.value_size;
  return g;
}

size_t AttentionCore::scratch_bytes(const HeadRows& query, const HeadRows& key, const HeadRows& value) const {
  static const float placeholder = 0;
  GemmArguments scores = score_product(query, key), values = value_product(value);
  scores.a = scores.b = values.a = values.b = &placeholder;
  return round_up(score_count()) + round_up(x_.keys) +
         std::max(gemm_scratch_bytes(scores, threads_), gemm_scratch_bytes(values, threads_));
}

double AttentionCore::flops() const {
  return 2.0 * static_cast<double>(score_count()) * static_cast<double>(x_.key_size + x_.value_size);
}

void AttentionCore::run(const KernelCall& call, const HeadRows& query, const HeadRows& key,
                        const HeadRows& value, float* output, void* scratch) const {
  auto* scores = static_cast<float*>(scratch);
  auto* row = reinterpret_cast<float*>(static_cast<char*>(scratch) + round_up(score_count()));
  void* product_scratch = reinterpret_cast<char*>(row) + round_up(x_.keys);
  GemmArguments g = score_product(query, key);
  g.c = scores;
  gemm(g, product_scratch, call.pool);
  if (!mask_.plain()) add_mask(call, scores, row);
  softmax({x_.batch * x_.heads * x_.queries, x_.keys, 1}, scores, scores, call.pool);
  g = value_product(value);
  g.a = scores;
  g.c = output;
  gemm(g, product_scratch, call.pool);
}

void AttentionCore::add_mask(const KernelCall& call, float* scores, float* row) const {
  const auto* bias = mask_.bias_port < 0 ? nullptr : static_cast<const float*>(call.inputs[mask_.bias_port]);
  const bool masks = mask_.kind != AttentionMask::Kind::none || mask_.causal;
  for (int64_t b = 0; b < x_.batch; ++b) {
    for (int64_t s = 0; s < x_.queries; ++s) {
      if (masks) mask_row(call, b, s, row);
      for (int64_t h = 0; h < x_.heads; ++h) {
        float* logits = scores + ((b * x_.heads + h) * x_.queries + s) * x_.keys;
        if (bias != nullptr) {
          const int64_t* strides = mask_.bias_strides;
          const float* added = bias + b * strides[0] + h * strides[1] + s * strides[2];
          for (int64_t t = 0; t < x_.keys; ++t) logits[t] += added[t * strides[3]];
        }
        if (!masks) continue;
        for (int64_t t = 0; t < x_.keys; ++t) logits[t] += row[t];
      }
    }
  }
}

/// 0 where the query sees the key, the filter where it is masked, the lowest float where causality hides it.
void AttentionCore::mask_row(const KernelCall& call, int64_t batch, int64_t query, float* row) const {
  using Kind = AttentionMask::Kind;
  const void* data = mask_.port < 0 ? nullptr : call.inputs[mask_.port];
  const auto value = [&](int64_t at) { return mask_value(mask_.type, data, at); };
  switch (mask_.kind) {
    case Kind::none:
      std::fill_n(row, x_.keys, 0.0f);
      break;
    case Kind::lengths:
    case Kind::ends_and_starts: {
      const int64_t end = value(batch);
      const int64_t start = mask_.kind == Kind::lengths ? 0 : value(batch + x_.batch);
      for (int64_t t = 0; t < x_.keys; ++t) row[t] = t < end && t >= start ? 0.0f : mask_.filter;
      break;
    }
    case Kind::keys:
    case Kind::queries_and_keys:
    case Kind::square: {
      int64_t first = batch * x_.keys;
      if (mask_.kind == Kind::queries_and_keys) first = (batch * x_.queries + query) * x_.keys;
      if (mask_.kind == Kind::square) first = (batch * mask_.side + query + x_.past) * mask_.side;
      for (int64_t t = 0; t < x_.keys; ++t) {
        row[t] = static_cast<int32_t>(value(first + t)) > 0 ? 0.0f : mask_.filter;
      }
      break;
    }
  }
  // The last query sees every key, even where there are more keys than queries.
  if (!mask_.causal || query >= x_.queries - 1) return;
  for (int64_t t = query + x_.past + 1; t < x_.keys; ++t) row[t] = std::numeric_limits<float>::lowest();
}

void copy_heads(const AttentionExtents& extents, int64_t rows, int64_t size, const HeadRows& from,
                const float* bias, const HeadRows& to, int64_t first) {
  for (int64_t b = 0; b < extents.batch; ++b) {
    for (int64_t h = 0; h < extents.heads; ++h) {
      const float* source = from.data + b * from.batch_stride + h * from.head_stride;
      float* target =
          const_cast<float*>(to.data) + b * to.batch_stride + h * to.head_stride + first * to.row_stride;
      for (int64_t r = 0; r < rows; ++r) {
        const float* x = source + r * from.row_stride;
        float* y = target + r * to.row_stride;
        if (bias == nullptr) {
          std::copy_n(x, size, y);
        } else {
          for (int64_t i = 0; i < size; ++i) y[i] = x[i] + bias[h * size + i];
        }
      }
    }
  }
}

}  // namespace axrun::runtime
