#include <limits>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Pool : public KernelTest {
 protected:
  PoolShape random_shape() {
    PoolShape s;
    s.planes = integer(0, 3);
    s.in_height = integer(1, 40), s.in_width = integer(1, 40);
    s.kernel_height = integer(1, 5), s.kernel_width = integer(1, 5);
    s.stride_height = integer(1, 3), s.stride_width = integer(1, 3);
    s.dilation_height = integer(1, 2), s.dilation_width = integer(1, 2);
    s.pad_top = integer(0, 3), s.pad_left = integer(0, 3);
    s.padded_end_height = s.in_height + integer(0, 3), s.padded_end_width = s.in_width + integer(0, 3);
    s.out_height = integer(1, s.in_height / s.stride_height + 2);
    s.out_width = integer(1, s.in_width / s.stride_width + 2);
    return s;
  }

  /// Calls tap(row, column) of each tap of output pixel (i, j), inside the input or not.
  template <class Tap>
  static void for_taps(const PoolShape& s, int64_t i, int64_t j, Tap tap) {
    for (int64_t h = 0; h < s.kernel_height; ++h) {
      for (int64_t w = 0; w < s.kernel_width; ++w) {
        tap(i * s.stride_height + h * s.dilation_height - s.pad_top,
            j * s.stride_width + w * s.dilation_width - s.pad_left);
      }
    }
  }
};

TEST_P(Pool, AgainstDefinition) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const PoolShape s = random_shape();
    const bool include_pad = chance(50);
    SCOPED_TRACE(testing::Message() << "seed " << test_seed() << " repeat " << repeat);
    std::vector<float> x = numbers(s.planes * s.in_height * s.in_width);
    if (chance(30)) {
      for (float& value : x) {
        if (chance(5)) value = std::numeric_limits<float>::quiet_NaN();
        if (chance(5)) value = -std::numeric_limits<float>::infinity();
      }
    }
    const auto count = static_cast<size_t>(s.planes * s.out_height * s.out_width);
    std::vector<float> largest(count), average(count);
    max_pool2d(s, x.data(), largest.data(), pool());
    average_pool2d(s, include_pad, x.data(), average.data(), pool());
    for (int64_t plane = 0; plane < s.planes; ++plane) {
      for (int64_t i = 0; i < s.out_height; ++i) {
        for (int64_t j = 0; j < s.out_width; ++j) {
          double sum = 0, best = -std::numeric_limits<double>::infinity();
          int64_t counted = 0;
          for_taps(s, i, j, [&](int64_t row, int64_t column) {
            if (row >= 0 && row < s.in_height && column >= 0 && column < s.in_width) {
              const double value = x[static_cast<size_t>((plane * s.in_height + row) * s.in_width + column)];
              sum += value;
              if (std::isnan(value) || value > best) best = value;
              counted += include_pad ? 0 : 1;
            }
            if (include_pad && row < s.padded_end_height && column < s.padded_end_width) ++counted;
          });
          const auto at = static_cast<size_t>((plane * s.out_height + i) * s.out_width + j);
          ASSERT_TRUE(near(best, largest[at], 0)) << best << " and " << largest[at];
          const double expected = sum / static_cast<double>(counted);
          ASSERT_TRUE(near(expected, average[at], 1e-5)) << expected << " and " << average[at];
        }
      }
    }
  }
}

TEST_P(Pool, Global) {
  for (const int64_t size : {1, 2, 15, 16, 17, 49, 64, 100, 1000}) {
    const int64_t planes = integer(1, 9);
    const std::vector<float> x = numbers(planes * size);
    std::vector<float> average(static_cast<size_t>(planes)), largest(average.size());
    global_average_pool(planes, size, x.data(), average.data(), pool());
    global_max_pool(planes, size, x.data(), largest.data(), pool());
    for (int64_t plane = 0; plane < planes; ++plane) {
      double sum = 0, best = -1e30;
      for (int64_t i = 0; i < size; ++i) {
        const double value = x[static_cast<size_t>(plane * size + i)];
        sum += value;
        best = std::fmax(best, value);
      }
      EXPECT_TRUE(near(sum / static_cast<double>(size), average[static_cast<size_t>(plane)], 1e-6));
      EXPECT_EQ(best, largest[static_cast<size_t>(plane)]);
    }
  }
}

AXRUN_KERNEL_TESTS(Pool);

}  // namespace
}  // namespace axrun::runtime
