// Prism's workloads composed of a library's products and plain loops: what one would write by hand.
#pragma once

#include <cstdint>

#include "perf/kernels/library.h"

namespace axrun::perf {

/// y[rows][size] of x[rows][size] and square weights. With `norm_scale`, x is RMS-normalised first.
/// One weight: y = x * W. Two: y = (x * W) * (x * gate), the gate through SiLU if asked.
struct Layer {
  int64_t rows = 0, size = 0;
  const float* x = nullptr;
  const float* norm_scale = nullptr;
  const float* weights = nullptr;
  const float* gate = nullptr;
  bool silu = false;
  float* y = nullptr;
};
Ready composed_layer(Library& library, const Layer& layer, runtime::ThreadPool& pool);

/// y = softmax(Q * transposed K / sqrt(size) + mask) * V for `heads` heads (of all of the batch), operands
/// [heads][queries or keys][size], mask[queries][keys]. With `norm_scale`[size], rows of Q are RMS-normalised
/// first.
struct HeadAttention {
  int64_t heads = 0, queries = 0, keys = 0, size = 0;
  const float* query = nullptr;
  const float* key = nullptr;
  const float* value = nullptr;
  const float* mask = nullptr;
  const float* norm_scale = nullptr;
  float* y = nullptr;
};
/// Threads take heads, one after the other, so that scores stay in the caches; the library uses one thread in
/// each.
Ready composed_attention(Library& library, const HeadAttention& attention, runtime::ThreadPool& pool);

}  // namespace axrun::perf
