#pragma once

#include <array>
#include <cstdint>

#include "runtime/kernels/conv.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {

/// The output plane of a convolution, cut so that the same taps read the input everywhere in a
/// region. Where dilation is large, most taps read padding, and strips of padded rows are mostly padding and
/// overlap.
class ConvRegions {
 public:
  /// Whether it is worth asking: without dilation hardly anything reads padding.
  static bool can(const ConvShape& s) {
    return (s.dilation_height > 1 || s.dilation_width > 1) && s.kernel_height <= most_taps &&
           s.kernel_width <= most_taps;
  }

  /// Regions of about `most_outputs` outputs, more where a row has more. The shape is one that it `can`.
  ConvRegions(const ConvShape& shape, int64_t most_outputs);

  int64_t count() const { return count_; }
  ConvRegion region(int64_t k) const;
  /// Calls body(region) for all of them.
  template <class Body>
  void for_each(Body body) const {
    for (size_t i = 0; i < rows_.count; ++i) {
      for (size_t j = 0; j < columns_.count; ++j) {
        const int64_t count = parts(i, j);
        for (int64_t k = 0; k < count; ++k) body(part(i, j, count, k));
      }
    }
  }

 private:
  static constexpr int64_t most_taps = 7;  ///< of an axis
  static constexpr size_t most_intervals = 2 * most_taps + 1;

  struct Interval {
    int64_t begin, end, tap0, tap1;
    int64_t size() const { return end - begin; }
    int64_t taps() const { return tap1 - tap0; }
  };
  struct Axis {
    size_t count = 0;
    std::array<Interval, most_intervals> intervals;
  };

  static Axis cut(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad);
  /// Regions in which two intervals meet, and number k of these.
  int64_t parts(size_t i, size_t j) const { return divide_up(rows_.intervals[i].size(), heights_[j]); }
  ConvRegion part(size_t i, size_t j, int64_t count, int64_t k) const;

  Axis rows_, columns_;
  std::array<int64_t, most_intervals> heights_;  ///< of regions, by interval of columns
  int64_t count_ = 0;
};

/// ConvMethod::implicit_gemm region by region. Arguments as for conv2d; with input channels. The cost is in
/// multiply-adds of an input and an output channel.
int64_t conv_regions_cost(const ConvShape& shape);
size_t conv_regions_scratch_bytes(const ConvShape& shape, int threads);
void conv_by_regions(const ConvShape& shape, const float* packed, const float* x, float* y,
                     const Epilogue& epilogue, float* scratch, ThreadPool& pool);

/// ConvMethod::depthwise region by region. The cost is in multiply-adds of vectors, of a channel.
int64_t depthwise_regions_cost(const ConvShape& shape);
size_t depthwise_regions_scratch_bytes(const ConvShape& shape, int threads);
void depthwise_by_regions(const ConvShape& shape, const float* weights, const float* x, float* y,
                          const Epilogue& epilogue, float* scratch, ThreadPool& pool);

}  // namespace axrun::runtime
