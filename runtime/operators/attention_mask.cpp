#include "runtime/operators/attention_mask.h"

#include <algorithm>

#include "runtime/operators/product_sizes.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using Kind = AttentionMask::Kind;

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

int64_t rows_of(const AttentionMask& mask, const AttentionExtents& x) {
  return mask.kind == Kind::queries_and_keys || mask.kind == Kind::square ? x.queries : 1;
}

}  // namespace

bool read_attention_mask(const StepContext& context, const AttentionExtents& x, size_t mask_port,
                         size_t bias_port, AttentionMask& mask) {
  mask.filter = static_cast<float>(context.real("mask_filter_value", -10000));
  mask.causal = context.integer("unidirectional", 0) != 0;
  if (context.has_input(bias_port)) {
    const StepPort& bias = context.inputs[bias_port];
    if (bias.type != ElementType::f32 || bias.rank() != 4) return false;
    mask.bias_port = static_cast<int>(bias_port);
  }
  if (context.has_input(mask_port)) {
    const StepPort& given = context.inputs[mask_port];
    if (given.type != ElementType::i32 && given.type != ElementType::i64 &&
        given.type != ElementType::boolean)
      return false;
    mask.type = given.type;
    mask.port = static_cast<int>(mask_port);
  }
  const auto dims_of = [&](size_t k) {
    return context.has_input(k) && context.inputs[k].rank() <= 4 ? extents_of(context.inputs[k].shape)
                                                                 : Extents();
  };
  if (mask.port >= 0 && context.inputs[mask_port].rank() > 4) return false;
  return resize_attention_mask(x, dims_of(mask_port), dims_of(bias_port), mask);
}

bool resize_attention_mask(const AttentionExtents& x, const Extents& dims, const Extents& bias_dims,
                           AttentionMask& mask) {
  if (mask.bias_port >= 0) broadcast_strides(bias_dims, mask.bias_strides);
  mask.kind = Kind::none;
  if (mask.port < 0) return true;
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
      return dims[0] == x.batch && dims[1] == x.queries && dims[2] == x.keys;
    case 4:
      mask.kind = Kind::square;
      mask.side = dims[2];
      return dims[0] == x.batch && dims[1] == 1 && dims[2] == dims[3] && dims[2] >= x.keys &&
             dims[2] >= x.past + x.queries && !mask.causal;
    default:
      return false;
  }
}

size_t mask_scratch_bytes(const AttentionMask& mask, const AttentionExtents& x) {
  if (mask.kind == Kind::none) return 0;
  return static_cast<size_t>((x.batch * rows_of(mask, x) * x.keys + 15) / 16 * 16) * sizeof(float);
}

MaskRule::MaskRule(const AttentionMask& mask, const AttentionExtents& extents, const KernelCall& call,
                   void* scratch)
    : mask_(mask), x_(extents), rows_(rows_of(mask, extents)) {
  if (mask.bias_port >= 0) bias_ = static_cast<const float*>(call.inputs[mask.bias_port]);
  if (mask.kind == Kind::none) return;
  added_ = static_cast<float*>(scratch);
  const void* data = call.inputs[mask.port];
  call.pool.parallel_for(x_.batch * rows_, 16 * 1024 / x_.keys + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) spell_out(data, i / rows_, i % rows_, added_ + i * x_.keys);
  });
}

/// 0 where the query sees the key, the filter where it does not.
void MaskRule::spell_out(const void* data, int64_t batch, int64_t query, float* row) const {
  const auto value = [&](int64_t at) { return mask_value(mask_.type, data, at); };
  if (mask_.kind == Kind::lengths || mask_.kind == Kind::ends_and_starts) {
    const int64_t end = value(batch);
    const int64_t start = mask_.kind == Kind::lengths ? 0 : value(batch + x_.batch);
    for (int64_t t = 0; t < x_.keys; ++t) row[t] = t < end && t >= start ? 0.0f : mask_.filter;
    return;
  }
  int64_t first = batch * x_.keys;
  if (mask_.kind == Kind::queries_and_keys) first = (batch * x_.queries + query) * x_.keys;
  if (mask_.kind == Kind::square) first = (batch * mask_.side + query + x_.past) * mask_.side;
  for (int64_t t = 0; t < x_.keys; ++t) {
    row[t] = static_cast<int32_t>(value(first + t)) > 0 ? 0.0f : mask_.filter;
  }
}

/// Causality adds the lowest float: as good as hiding, for each query sees its own key.
KeyRange MaskRule::visible(int64_t, int64_t query) const {
  // The last query sees every key, even where there are more keys than queries.
  if (!mask_.causal || query >= x_.queries - 1) return {0, x_.keys};
  return {0, std::min(x_.keys, query + x_.past + 1)};
}

bool MaskRule::change(int64_t batch, int64_t head, int64_t query, KeyRange keys, float* logits) const {
  const int64_t count = keys.last - keys.first;
  if (bias_ != nullptr) {
    const int64_t* strides = mask_.bias_strides;
    const float* bias =
        bias_ + batch * strides[0] + head * strides[1] + query * strides[2] + keys.first * strides[3];
    for (int64_t t = 0; t < count; ++t) logits[t] += bias[t * strides[3]];
  }
  if (added_ == nullptr) return true;
  const float* added = added_ + (batch * rows_ + query % rows_) * x_.keys + keys.first;
  for (int64_t t = 0; t < count; ++t) logits[t] += added[t];
  return true;
}

}  // namespace axrun::runtime
