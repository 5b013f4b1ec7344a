// Convolutions over any number of spatial dims: correct and vectorised along the innermost one, otherwise
// plain.

#include <algorithm>

#include "runtime/kernels/conv.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

int64_t product(const int64_t* extents, int rank) {
  int64_t result = 1;
  for (int i = 0; i < rank; ++i) result *= extents[i];
  return result;
}

/// Splits a flat index of a grid into positions.
void unflatten(int64_t index, const int64_t* extents, int rank, int64_t* positions) {
  for (int i = rank - 1; i >= 0; --i) {
    positions[i] = index % extents[i];
    index /= extents[i];
  }
}

void finish_plane(const ConvNdShape& s, const Epilogue& e, int64_t plane, int64_t size, float* y) {
  const int64_t channel = plane % s.out_channels;
  const float factor = e.row_factor == nullptr ? e.scale : e.scale * e.row_factor[channel];
  const float bias = e.row_bias == nullptr ? 0.0f : e.row_bias[channel];
  const float* const residual = e.residual == nullptr ? nullptr : e.residual + plane * size;
  for (int64_t i = 0; i < size; ++i) {
    y[i] = factor * y[i] + bias + (residual == nullptr ? 0.0f : e.residual_scale * residual[i]);
  }
  if (e.activation != Activation::none) kernel_table().activate(e.activation, size, y, y, e.alpha, e.beta);
}

/// Adds weight * x over the pairs (small, large) = (i, i * stride + offset) along all dims, with `small` in
/// the extents `small_extents` and `large` inside `large_extents`. Forward: `to_small` sums into the small
/// grid; otherwise into the large one (the transposed convolution).
template <bool to_small>
void add_tap(const ConvNdShape& s, const int64_t* small_extents, const int64_t* large_extents,
             const int64_t* offset, float weight, const float* from, float* to) {
  const int last = s.spatial_rank - 1;
  const int64_t stride = s.strides[last];
  const int64_t first = offset[last] >= 0 ? 0 : divide_up(-offset[last], stride);
  const int64_t room = large_extents[last] - offset[last];
  const int64_t end = room <= 0 ? 0 : std::min(small_extents[last], divide_up(room, stride));
  if (first >= end) return;
  const int64_t rows = product(small_extents, last);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t position[max_spatial_rank];
    unflatten(row, small_extents, last, position);
    int64_t large_row = 0;
    bool inside = true;
    for (int i = 0; i < last; ++i) {
      const int64_t at = position[i] * s.strides[i] + offset[i];
      inside = inside && at >= 0 && at < large_extents[i];
      large_row = large_row * large_extents[i] + at;
    }
    if (!inside) continue;
    const int64_t small_at = row * small_extents[last];
    const int64_t large_at = large_row * large_extents[last] + offset[last];
    if (to_small) {
      for (int64_t i = first; i < end; ++i) to[small_at + i] += weight * from[large_at + i * stride];
    } else {
      for (int64_t i = first; i < end; ++i) to[large_at + i * stride] += weight * from[small_at + i];
    }
  }
}

template <bool transposed>
void run(const ConvNdShape& s, const float* weights, const float* x, float* y, const Epilogue& epilogue,
         ThreadPool& pool) {
  const int64_t in_size = product(s.in_extents, s.spatial_rank);
  const int64_t out_size = product(s.out_extents, s.spatial_rank);
  const int64_t taps = product(s.kernel, s.spatial_rank);
  const int64_t planes = s.batch * s.out_channels;
  if (planes == 0 || out_size == 0) return;
  const int64_t in = s.in_channels / s.groups;
  const int64_t out = s.out_channels / s.groups;

  const auto sum_plane = [&](int64_t plane, float* sums) {
    const int64_t image = plane / s.out_channels;
    const int64_t channel = plane % s.out_channels;
    const int64_t first = channel / out * in;
    std::fill_n(sums, out_size, 0.0f);
    for (int64_t c = 0; c < in; ++c) {
      const float* const input = x + (image * s.in_channels + first + c) * in_size;
      const float* const window =
          weights + (transposed ? (first + c) * out + channel % out : channel * in + c) * taps;
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t offset[max_spatial_rank];
        unflatten(tap, s.kernel, s.spatial_rank, offset);
        for (int i = 0; i < s.spatial_rank; ++i) offset[i] = offset[i] * s.dilations[i] - s.pads_begin[i];
        if (transposed) {
          add_tap<false>(s, s.in_extents, s.out_extents, offset, window[tap], input, sums);
        } else {
          add_tap<true>(s, s.out_extents, s.in_extents, offset, window[tap], input, sums);
        }
      }
    }
  };
  pool.parallel_for(planes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      sum_plane(plane, y + plane * out_size);
      finish_plane(s, epilogue, plane, out_size, y + plane * out_size);
    }
  });
}

}  // namespace

void conv_nd(const ConvNdShape& s, const float* weights, const float* x, float* y, const Epilogue& epilogue,
             ThreadPool& pool) {
  run<false>(s, weights, x, y, epilogue, pool);
}

void conv_transpose_nd(const ConvNdShape& s, const float* weights, const float* x, float* y,
                       const Epilogue& epilogue, ThreadPool& pool) {
  run<true>(s, weights, x, y, epilogue, pool);
}

}  // namespace axrun::runtime
