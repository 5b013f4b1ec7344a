#include <limits>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class Rows : public KernelTest {
 protected:
  AxisView random_view() {
    AxisView view;
    view.outer = integer(0, 4);
    view.extent = integer(0, 100);
    view.inner = chance(50) ? 1 : integer(1, 150);
    return view;
  }
  static int64_t size(AxisView view) { return view.outer * view.extent * view.inner; }

  /// Calls body(gather, result index base, stride) for each line along the axis.
  template <class Body>
  static void for_lines(AxisView view, Body body) {
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) body(o * view.extent * view.inner + i, o * view.inner + i);
    }
  }
};

TEST_P(Rows, Softmax) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const AxisView view = random_view();
    SCOPED_TRACE(testing::Message() << "seed " << test_seed() << " extent " << view.extent << " inner "
                                    << view.inner);
    std::vector<float> x = numbers(size(view), -20, 20);
    for (float& value : x) {
      if (repeat % 4 == 0 && chance(2)) value = pick({infinity, -infinity, nan, 1e30f, -1e30f});
    }
    for (const bool logarithm : {false, true}) {
      std::vector<float> y = x;  // in place
      (logarithm ? log_softmax : softmax)(view, y.data(), y.data(), pool());
      for_lines(view, [&](int64_t start, int64_t) {
        double best = -std::numeric_limits<double>::infinity(), sum = 0;
        const auto at = [&](int64_t i) { return static_cast<size_t>(start + i * view.inner); };
        for (int64_t i = 0; i < view.extent; ++i) best = std::fmax(best, static_cast<double>(x[at(i)]));
        for (int64_t i = 0; i < view.extent; ++i) sum += std::exp(x[at(i)] - best);
        for (int64_t i = 0; i < view.extent; ++i) {
          const double shifted = x[at(i)] - best;
          const double expected = logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
          ASSERT_TRUE(near(expected, y[at(i)], 2e-6)) << i << ": " << expected << " and " << y[at(i)];
        }
      });
    }
  }
}

TEST_P(Rows, Norms) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    LayerNormArguments a;
    a.rows = integer(0, 5), a.columns = chance(10) ? integer(5000, 9000) : integer(1, 200);
    const float offset = number(-5, 5);
    const std::vector<float> x = numbers(a.rows * a.columns, offset - 1, offset + 1);
    const std::vector<float> scale = numbers(a.columns), bias = numbers(a.columns);
    std::vector<float> y(x.size()), mean(static_cast<size_t>(a.rows)), deviation(mean.size());
    a.x = x.data(), a.y = y.data();
    if (chance(70)) a.scale = scale.data();
    if (chance(70)) a.bias = bias.data();
    a.mean = mean.data(), a.inverse_deviation = deviation.data();
    const bool rms = chance(50);
    (rms ? rms_norm : layer_norm)(a, pool());
    for (int64_t row = 0; row < a.rows; ++row) {
      const float* from = x.data() + row * a.columns;
      double center = 0, variance = 0;
      for (int64_t i = 0; i < a.columns && !rms; ++i) center += from[i] / static_cast<double>(a.columns);
      for (int64_t i = 0; i < a.columns; ++i) {
        variance += (from[i] - center) * (from[i] - center) / static_cast<double>(a.columns);
      }
      const double inverse = 1 / std::sqrt(variance + static_cast<double>(a.epsilon));
      if (!rms) {
        EXPECT_TRUE(near(center, mean[static_cast<size_t>(row)], 1e-6));
      }
      EXPECT_TRUE(near(inverse, deviation[static_cast<size_t>(row)], 1e-4));
      for (int64_t i = 0; i < a.columns; ++i) {
        const auto column = static_cast<size_t>(i);
        const double expected = (from[i] - center) * inverse * (a.scale == nullptr ? 1.0 : scale[column]) +
                                (a.bias == nullptr ? 0.0 : bias[column]);
        // A row of one or two nearly equal elements magnifies the mean's rounding.
        const double tolerance = a.columns < 8 ? 2e-3 : 2e-5;
        ASSERT_TRUE(near(expected, y[static_cast<size_t>(row * a.columns + i)], tolerance))
            << "seed " << test_seed();
      }
    }
  }
}

TEST_P(Rows, InstanceNorm) {
  const int64_t batch = 2, channels = 5, plane = 321;
  const std::vector<float> x = numbers(batch * channels * plane, 3, 5), scale = numbers(channels),
                           bias = numbers(channels);
  std::vector<float> y(x.size());
  instance_norm(batch, channels, plane, x.data(), y.data(), scale.data(), bias.data(), 1e-5f, pool());
  for (int64_t row = 0; row < batch * channels; ++row) {
    double mean = 0, variance = 0;
    const float* from = x.data() + row * plane;
    for (int64_t i = 0; i < plane; ++i) mean += from[i] / static_cast<double>(plane);
    for (int64_t i = 0; i < plane; ++i)
      variance += (from[i] - mean) * (from[i] - mean) / static_cast<double>(plane);
    for (int64_t i = 0; i < plane; ++i) {
      const auto channel = static_cast<size_t>(row % channels);
      const double expected = (from[i] - mean) / std::sqrt(variance + 1e-5) * scale[channel] + bias[channel];
      ASSERT_TRUE(near(expected, y[static_cast<size_t>(row * plane + i)], 2e-5));
    }
  }
}

TEST_P(Rows, Reductions) {
  for (int repeat = 0; repeat < 900; ++repeat) {
    AxisView view = random_view();
    if (repeat % 3 != 0) {  // many rows, short ones above all
      view.outer = integer(0, 80);
      view.extent = chance(70) ? integer(0, 20) : integer(0, 200);
      view.inner = 1;
    }
    const auto reduction = static_cast<Reduction>(integer(0, 7));
    SCOPED_TRACE(testing::Message() << "seed " << test_seed() << " reduction " << static_cast<int>(reduction)
                                    << " extent " << view.extent << " inner " << view.inner);
    std::vector<float> x = numbers(size(view), -1.5f, 1.5f);
    for (float& value : x) {
      if (repeat % 5 == 0 && chance(1)) value = nan;
    }
    std::vector<float> y(static_cast<size_t>(view.outer * view.inner));
    reduce(reduction, view, x.data(), y.data(), pool());
    for_lines(view, [&](int64_t start, int64_t result) {
      const bool multiplies = reduction == Reduction::product;
      double value = reduction == Reduction::max   ? -std::numeric_limits<double>::infinity()
                     : reduction == Reduction::min ? std::numeric_limits<double>::infinity()
                     : multiplies                  ? 1
                                                   : 0;
      for (int64_t i = 0; i < view.extent; ++i) {
        const double v = x[static_cast<size_t>(start + i * view.inner)];
        switch (reduction) {
          case Reduction::sum:
          case Reduction::mean:
            value += v;
            break;
          case Reduction::max:
            value = std::isnan(v) || v > value ? v : value;
            break;
          case Reduction::min:
            value = std::isnan(v) || v < value ? v : value;
            break;
          case Reduction::sum_square:
          case Reduction::l2:
            value += v * v;
            break;
          case Reduction::product:
            value *= v;
            break;
          case Reduction::l1:
            value += std::abs(v);
            break;
        }
      }
      if (reduction == Reduction::mean) value /= static_cast<double>(view.extent);
      if (reduction == Reduction::l2) value = std::sqrt(value);
      ASSERT_TRUE(near(value, y[static_cast<size_t>(result)], 1e-5))
          << value << " and " << y[static_cast<size_t>(result)];
    });
  }
}

/// However many rows are reduced together: threads cut them anywhere.
TEST_P(Rows, ReducedRowsDoNotHangOnTheirNumber) {
  for (int64_t extent = 0; extent < 70; ++extent) {
    const std::vector<float> x = numbers(40 * extent);
    for (int reduction = 0; reduction < 8; ++reduction) {
      std::vector<float> together(40), alone(40);
      reduce(static_cast<Reduction>(reduction), {40, extent, 1}, x.data(), together.data(), *one_);
      for (int64_t row = 0; row < 40; ++row)
        reduce(static_cast<Reduction>(reduction), {1, extent, 1}, x.data() + row * extent, alone.data() + row,
               *one_);
      for (size_t row = 0; row < 40; ++row) {
        if (std::isnan(together[row]) && std::isnan(alone[row])) continue;  // the mean of nothing
        ASSERT_EQ(together[row], alone[row]) << "extent " << extent << " row " << row;
      }
    }
  }
}

AXRUN_KERNEL_TESTS(Rows);

}  // namespace
}  // namespace axrun::runtime
