#include <bit>
#include <limits>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

struct Format {
  NarrowFloat type;
  int mantissa_bits, bias;
  uint16_t infinity;
};
constexpr Format formats[] = {{NarrowFloat::f16, 10, 15, 0x7C00}, {NarrowFloat::bf16, 7, 127, 0x7F80}};

/// What a pattern means. For patterns without sign, infinity counts as the number that would follow.
double value_of(const Format& format, uint16_t bits) {
  const uint16_t magnitude = bits & 0x7FFF;
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int hidden = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  const double value =
      std::ldexp(hidden + mantissa, std::max(exponent, 1) - format.bias - format.mantissa_bits);
  return (bits & 0x8000) != 0 ? -value : value;
}

class Narrow : public KernelTest {};

TEST_P(Narrow, EveryPatternIsWidenedToWhatItMeans) {
  std::vector<uint16_t> patterns(65536);
  for (size_t k = 0; k < patterns.size(); ++k) patterns[k] = static_cast<uint16_t>(k);
  std::vector<float> values(patterns.size());
  for (const Format& format : formats) {
    widen(format.type, 65536, patterns.data(), values.data());
    for (const uint16_t bits : patterns) {
      const uint16_t magnitude = bits & 0x7FFF;
      const float value = values[bits];
      ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
      if (magnitude > format.infinity) {
        ASSERT_TRUE(std::isnan(value)) << bits;
      } else if (magnitude == format.infinity) {
        ASSERT_TRUE(std::isinf(value)) << bits;
      } else {
        ASSERT_EQ(value, value_of(format, bits)) << bits;
      }
    }
    std::vector<uint16_t> again(patterns.size());
    narrow(format.type, 65536, values.data(), again.data());
    for (const uint16_t bits : patterns) {
      if ((bits & 0x7FFF) > format.infinity) continue;
      ASSERT_EQ(again[bits], bits);
    }
  }
}

TEST_P(Narrow, FloatsAreRoundedToTheNearestAndTiesToEven) {
  std::vector<float> x;
  for (int k = 0; k < 20000; ++k) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(random_())));
  for (int k = 0; k < 20000; ++k) x.push_back(std::ldexp(number(-2, 2), static_cast<int>(integer(-26, 17))));
  for (const Format& format : formats) {
    for (int k = 0; k < 20000; ++k) {  // halfway between two of them, and just beside
      const auto bits = static_cast<uint16_t>(integer(0, format.infinity - 1));
      const auto next = static_cast<uint16_t>(bits + 1);
      const auto middle = static_cast<float>((value_of(format, bits) + value_of(format, next)) / 2);
      for (const float toward : {0.0F, middle, std::numeric_limits<float>::max()})
        x.push_back(std::nextafter(middle, toward));
    }
    std::vector<uint16_t> y(x.size());
    narrow(format.type, static_cast<int64_t>(x.size()), x.data(), y.data());
    for (size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(x[k])) {
        ASSERT_GT(y[k] & 0x7FFF, format.infinity) << x[k];
        continue;
      }
      const uint16_t magnitude = y[k] & 0x7FFF;
      ASSERT_EQ(y[k] >= 0x8000, std::signbit(x[k])) << x[k];
      ASSERT_LE(magnitude, format.infinity) << x[k];
      if (std::isinf(x[k])) {
        ASSERT_EQ(magnitude, format.infinity);
        continue;
      }
      const double exact = std::fabs(static_cast<double>(x[k]));
      const double error = std::fabs(value_of(format, magnitude) - exact);
      for (const int other : {magnitude - 1, magnitude + 1}) {
        if (other < 0 || other > format.infinity) continue;
        const double its = std::fabs(value_of(format, static_cast<uint16_t>(other)) - exact);
        const bool beyond = magnitude == format.infinity && exact > value_of(format, magnitude);
        ASSERT_TRUE(beyond || error < its || (error == its && magnitude % 2 == 0)) << x[k];
      }
    }
  }
}

AXRUN_KERNEL_TESTS(Narrow);

}  // namespace
}  // namespace axrun::runtime
