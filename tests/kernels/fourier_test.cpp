#include <numbers>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Fourier : public KernelTest {
 protected:
  struct Layout {
    int64_t length = 1, outer = 1, inner = 1;
    int64_t points = 1, components = 1, frequencies = 1, results = 2;
    bool inverse = false, window = false, points_apart = false;
  };

  static FourierSignals signals_of(const Layout& l) {
    FourierSignals s;
    s.outer = l.outer;
    s.inner = l.inner;
    s.points = l.points;
    s.frequencies = l.frequencies;
    if (l.points_apart) {
      s.read = {l.points * l.inner * l.components, l.components, l.inner * l.components};
      s.made = {l.frequencies * l.inner * l.results, l.results, l.inner * l.results};
    } else {
      s.read = {l.inner * l.points * l.components, l.points * l.components, l.components};
      s.made = {l.inner * l.frequencies * l.results, l.frequencies * l.results, l.results};
    }
    return s;
  }

  std::vector<float> transform(const Layout& l, const std::vector<float>& x, const std::vector<float>& window,
                               int threads = 0) {
    const FourierTransform prepared(l.length, l.inverse, l.components, l.results);
    const FourierSignals s = signals_of(l);
    Buffer scratch(fourier_scratch_bytes(prepared, s, 3));
    std::vector<float> y(static_cast<size_t>(l.outer * l.inner * l.frequencies * l.results), 7.0f);
    fourier(prepared, s, x.data(), l.window ? window.data() : nullptr, y.data(), scratch.data(),
            threads == 1   ? *one_
            : threads == 3 ? *three_
                           : pool());
    return y;
  }

  /// Compares with the sums that define the transform, relative to the root of the length: a result that is
  /// off by more than its own rounding is told.
  void check(const Layout& l) {
    SCOPED_TRACE(testing::Message() << "seed " << test_seed() << " length " << l.length << " signals "
                                    << l.outer << "x" << l.inner << " points " << l.points << " components "
                                    << l.components << " frequencies " << l.frequencies << " results "
                                    << l.results << (l.inverse ? " inverse" : "")
                                    << (l.points_apart ? " apart" : ""));
    const std::vector<float> x = numbers(l.outer * l.inner * l.points * l.components);
    const std::vector<float> window = numbers(l.window ? l.points : 0, 0, 1);
    const std::vector<float> y = transform(l, x, window);
    const FourierSignals s = signals_of(l);
    const auto length = static_cast<size_t>(l.length);
    std::vector<double> cosines(length), sines(length), re(length), im(length);
    for (size_t j = 0; j < length; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
      cosines[j] = std::cos(angle);
      sines[j] = (l.inverse ? 1 : -1) * std::sin(angle);
    }
    for (int64_t signal = 0; signal < l.outer * l.inner; ++signal) {
      const int64_t o = signal / l.inner, i = signal % l.inner;
      const float* from = x.data() + o * s.read.outer + i * s.read.inner;
      const float* to = y.data() + o * s.made.outer + i * s.made.inner;
      std::fill(re.begin(), re.end(), 0.0);
      std::fill(im.begin(), im.end(), 0.0);
      for (int64_t n = 0; n < l.points; ++n) {
        const double factor = l.window ? double{window[static_cast<size_t>(n)]} : 1.0;
        re[static_cast<size_t>(n)] = from[n * s.read.point] * factor;
        if (l.components == 2) im[static_cast<size_t>(n)] = from[n * s.read.point + 1] * factor;
        if (l.results == 1 && n > 0 && 2 * n != l.length) {
          re[static_cast<size_t>(l.length - n)] = re[static_cast<size_t>(n)];
          im[static_cast<size_t>(l.length - n)] = -im[static_cast<size_t>(n)];
        }
      }
      const double divisor = l.inverse ? static_cast<double>(l.length) : 1.0;
      const double unit = std::sqrt(static_cast<double>(l.length)) / divisor;
      for (int64_t k = 0; k < l.frequencies; ++k) {
        double real = 0, imaginary = 0;
        for (size_t n = 0, j = 0; n < length; ++n, j = (j + static_cast<size_t>(k)) % length) {
          real += re[n] * cosines[j] - im[n] * sines[j];
          imaginary += re[n] * sines[j] + im[n] * cosines[j];
        }
        const float* const got = to + k * s.made.point;
        ASSERT_NEAR(real / divisor, got[0], 1e-7 * (std::abs(real) / divisor + unit * 1e-3)) << k;
        if (l.results == 2) {
          ASSERT_NEAR(imaginary / divisor, got[1], 1e-7 * (std::abs(imaginary) / divisor + unit * 1e-3)) << k;
        }
      }
    }
  }

  Layout random_layout(int64_t length) {
    Layout l;
    l.length = length;
    l.outer = integer(1, 3);
    l.inner = chance(30) ? 1 : integer(1, 20);
    l.inverse = chance(40);
    l.points_apart = chance(40);
    l.window = chance(40);
    const bool to_real = chance(25);
    l.components = integer(1, 2);
    l.results = to_real ? 1 : 2;
    l.points = to_real ? length / 2 + 1 : length;
    if (chance(30)) l.points = integer(1, l.points);
    l.frequencies = to_real || chance(50) ? length : length / 2 + 1;
    return l;
  }
};

TEST_P(Fourier, EveryShortLength) {
  for (int64_t length = 1; length <= 70; ++length)
    for (int repeat = 0; repeat < 4; ++repeat) ASSERT_NO_FATAL_FAILURE(check(random_layout(length)));
}

TEST_P(Fourier, LengthsOfSpectrograms) {
  for (const int64_t length : {200, 240, 256, 320, 400, 480, 512, 600, 1024, 1536}) {
    Layout l;
    l.length = l.points = length;
    l.frequencies = length / 2 + 1;
    l.inner = 11;
    l.window = true;
    ASSERT_NO_FATAL_FAILURE(check(l));
    l.points = length - 100;
    ASSERT_NO_FATAL_FAILURE(check(l));
    ASSERT_NO_FATAL_FAILURE(check(random_layout(length)));
  }
}

TEST_P(Fourier, PrimesAndLongSignals) {
  for (const int64_t length : {101, 127, 2 * 97, 3 * 5 * 7 * 11, 1021, 3000}) {
    Layout l = random_layout(length);
    l.outer = 1;
    ASSERT_NO_FATAL_FAILURE(check(l));
  }
}

/// Beyond what is transformed side by side: there and back.
TEST_P(Fourier, LongSignalsComeBack) {
  Layout there;
  there.length = there.points = 1 << 17;
  there.inner = 2;
  there.frequencies = there.length / 2 + 1;
  Layout back = there;
  back.inverse = true;
  back.components = 2;
  back.results = 1;
  std::swap(back.points, back.frequencies);
  const std::vector<float> x = numbers(there.inner * there.length);
  const std::vector<float> y = transform(back, transform(there, x, {}), {});
  for (size_t n = 0; n < x.size(); ++n) ASSERT_NEAR(x[n], y[n], 1e-6) << n;
}

/// Infinities and NaN stay in their own signal, and threads change nothing.
TEST_P(Fourier, SignalsDoNotMix) {
  Layout l;
  l.length = l.points = 60;
  l.frequencies = 31;
  l.inner = 37;
  std::vector<float> x = numbers(l.inner * l.length);
  const std::vector<float> clean = transform(l, x, {}, 1);
  EXPECT_EQ(clean, transform(l, x, {}, 3));
  x[static_cast<size_t>(5 * l.length + 3)] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = transform(l, x, {});
  for (size_t k = 0; k < y.size(); ++k) {
    if (k / 62 == 5) {
      EXPECT_TRUE(k % 62 == 1 || k % 62 == 61 || std::isnan(y[k])) << k;
    } else {
      EXPECT_EQ(clean[k], y[k]) << k;
    }
  }
}

AXRUN_KERNEL_TESTS(Fourier);

}  // namespace
}  // namespace axrun::runtime
