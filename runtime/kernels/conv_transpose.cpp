// Transposed convolution. Output rows oh with (oh + pad) % stride == phase use only the taps kh = phase +
// stride * j, and read input row (oh + pad - phase) / stride - j: an ordinary convolution of stride 1 with
// those taps reversed. The same holds for columns, so each pair of phases is computed densely and then spread
// over the output.

#include <algorithm>
#include <vector>

#include "runtime/kernels/conv.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

/// One phase along one axis.
struct Phase {
  int64_t first;  ///< first output position
  int64_t count;  ///< output positions, `stride` apart
  int64_t taps;
  int64_t pad;  ///< of the dense convolution

  /// A dilation larger than 1 needs stride 1: otherwise a phase's taps are not evenly spaced.
  Phase(int64_t phase, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t given_pad) {
    first = (phase - given_pad) % stride;
    if (first < 0) first += stride;
    count = first < out ? divide_up(out - first, stride) : 0;
    taps = phase < kernel ? divide_up(kernel - phase, stride) : 0;
    pad = dilation * (taps - 1) - (first + given_pad - phase) / stride;
  }
};

struct PhasePair {
  Phase row, column;
  ConvShape dense;

  PhasePair(const ConvShape& s, int64_t index)
      : row(index / s.stride_width, s.out_height, s.kernel_height, s.stride_height, s.dilation_height,
            s.pad_top),
        column(index % s.stride_width, s.out_width, s.kernel_width, s.stride_width, s.dilation_width,
               s.pad_left),
        dense(s) {
    dense.batch = 1;
    dense.stride_height = dense.stride_width = 1;
    dense.kernel_height = row.taps;
    dense.kernel_width = column.taps;
    dense.out_height = row.count;
    dense.out_width = column.count;
    dense.pad_top = row.pad;
    dense.pad_left = column.pad;
  }
  bool is_empty() const { return row.count == 0 || column.count == 0; }
  bool has_taps() const { return row.taps > 0 && column.taps > 0; }
  /// Both methods share their packed form.
  ConvMethod method() const {
    return conv_method_fits(ConvMethod::pointwise, dense) ? ConvMethod::pointwise : ConvMethod::implicit_gemm;
  }
};

int64_t phases(const ConvShape& s) { return s.stride_height * s.stride_width; }

int64_t packed_floats(const ConvShape& s, const PhasePair& pair) {
  if (!pair.has_taps()) return 0;
  const int64_t k = s.in_channels / s.groups * pair.row.taps * pair.column.taps;
  const auto floats = static_cast<int64_t>(gemm_packed_a_bytes(s.out_channels / s.groups, k) / sizeof(float));
  return divide_up(s.groups * floats, 16) * 16;
}

int64_t dense_floats(const ConvShape& s, const PhasePair& pair) {
  return divide_up(s.out_channels * pair.row.count * pair.column.count, 16) * 16;
}

}  // namespace

size_t conv_transpose_packed_bytes(const ConvShape& s) {
  int64_t floats = 0;
  for (int64_t i = 0; i < phases(s); ++i) floats += packed_floats(s, PhasePair(s, i));
  return static_cast<size_t>(floats) * sizeof(float);
}

void conv_transpose_pack(const ConvShape& s, const float* weights, float* packed) {
  const int64_t in = s.in_channels / s.groups;
  const int64_t out = s.out_channels / s.groups;
  std::vector<float> part;
  for (int64_t i = 0; i < phases(s); ++i) {
    const PhasePair pair(s, i);
    if (!pair.has_taps()) continue;
    part.clear();
    for (int64_t channel = 0; channel < s.out_channels; ++channel) {
      const int64_t group = channel / out;
      for (int64_t c = 0; c < in; ++c) {
        const float* window =
            weights + ((group * in + c) * out + channel % out) * s.kernel_height * s.kernel_width;
        for (int64_t h = pair.row.taps - 1; h >= 0; --h) {
          for (int64_t w = pair.column.taps - 1; w >= 0; --w) {
            const int64_t row = i / s.stride_width + h * s.stride_height;
            const int64_t column = i % s.stride_width + w * s.stride_width;
            part.push_back(window[row * s.kernel_width + column]);
          }
        }
      }
    }
    conv_pack(pair.method(), pair.dense, part.data(), packed);
    packed += packed_floats(s, pair);
  }
}

size_t conv_transpose_scratch_bytes(const ConvShape& s, int threads) {
  size_t most = 0;
  for (int64_t i = 0; i < phases(s); ++i) {
    const PhasePair pair(s, i);
    if (pair.is_empty()) continue;
    const size_t dense = static_cast<size_t>(dense_floats(s, pair)) * sizeof(float);
    const size_t conv = pair.has_taps() ? conv_scratch_bytes(pair.method(), pair.dense, threads) : 0;
    most = std::max(most, dense + conv);
  }
  return most;
}

void conv_transpose2d(const ConvShape& s, const float* packed_weights, const float* x, float* y,
                      const Epilogue& epilogue, void* scratch, ThreadPool& pool) {
  const int64_t plane = s.out_height * s.out_width;
  if (plane == 0 || s.out_channels == 0) return;
  const bool activate_later = epilogue.residual != nullptr;
  Epilogue inner = epilogue;
  inner.residual = nullptr;
  if (activate_later) inner.activation = Activation::none;
  const float* next_packed = packed_weights;
  for (int64_t i = 0; i < phases(s); ++i) {
    const PhasePair pair(s, i);
    const float* const packed = next_packed;
    next_packed += packed_floats(s, pair);
    if (pair.is_empty()) continue;
    auto* const dense = static_cast<float*>(scratch);
    float* const conv_scratch = dense + dense_floats(s, pair);
    const int64_t count = pair.row.count * pair.column.count;
    for (int64_t image = 0; image < s.batch; ++image) {
      if (pair.has_taps()) {
        conv2d(pair.method(), pair.dense, packed, x + image * s.in_channels * s.in_height * s.in_width, dense,
               inner, conv_scratch, pool);
      } else {
        for (int64_t channel = 0; channel < s.out_channels; ++channel) {
          const float bias = inner.row_bias == nullptr ? 0.0f : inner.row_bias[channel];
          std::fill_n(dense + channel * count, count, bias);
        }
        kernel_table().activate(inner.activation, s.out_channels * count, dense, dense, inner.alpha,
                                inner.beta);
      }
      float* const output = y + image * s.out_channels * plane;
      const float* const residual =
          epilogue.residual == nullptr ? nullptr : epilogue.residual + image * s.out_channels * plane;
      pool.parallel_for(s.out_channels, 1 + 20'000 / count, [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel) {
          const float* from = dense + channel * count;
          for (int64_t row = 0; row < pair.row.count; ++row, from += pair.column.count) {
            const int64_t at =
                channel * plane + (pair.row.first + row * s.stride_height) * s.out_width + pair.column.first;
            float* const to = output + at;
            if (residual == nullptr) {
              for (int64_t j = 0; j < pair.column.count; ++j) to[j * s.stride_width] = from[j];
            } else {
              for (int64_t j = 0; j < pair.column.count; ++j) {
                to[j * s.stride_width] =
                    from[j] + epilogue.residual_scale * residual[at + j * s.stride_width];
              }
            }
          }
        }
      });
    }
  }
  if (activate_later) {
    kernel_table().activate(epilogue.activation, s.batch * s.out_channels * plane, y, y, epilogue.alpha,
                            epilogue.beta);
  }
}

}  // namespace axrun::runtime
