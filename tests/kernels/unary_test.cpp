#include <cstring>
#include <functional>
#include <limits>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

struct Function {
  const char* name;
  Unary function;
  double (*reference)(double x, double alpha, double beta);
  float alpha = 0, beta = 0;
};

double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double log_one_plus_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

const Function functions[] = {
    {"exp", Unary::exp, [](double x, double, double) { return std::exp(x); }},
    {"log", Unary::log, [](double x, double, double) { return std::log(x); }},
    {"tanh", Unary::tanh, [](double x, double, double) { return std::tanh(x); }},
    {"sigmoid", Unary::sigmoid, [](double x, double, double) { return logistic(x); }},
    {"erf", Unary::erf, [](double x, double, double) { return std::erf(x); }},
    {"sin", Unary::sin, [](double x, double, double) { return std::sin(x); }},
    {"cos", Unary::cos, [](double x, double, double) { return std::cos(x); }},
    {"sqrt", Unary::sqrt, [](double x, double, double) { return std::sqrt(x); }},
    {"softplus", Unary::softplus, [](double x, double, double) { return log_one_plus_exp(x); }},
    {"gelu_by_erf", Unary::gelu_by_erf,
     [](double x, double, double) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
    {"gelu_erf", Unary::gelu_erf,
     [](double x, double, double) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
    {"gelu_tanh", Unary::gelu_tanh,
     [](double x, double, double) {
       return x * logistic(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
     }},
    {"silu", Unary::silu, [](double x, double, double) { return x * logistic(x); }},
    {"relu", Unary::relu, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"leaky_relu", Unary::leaky_relu, [](double x, double a, double) { return x < 0 ? a * x : x; }, 0.1f},
    {"clip", Unary::clip, [](double x, double a, double b) { return x < a   ? a
                                                                    : x > b ? b
                                                                            : x; }, -0.5f,
     2.0f},
    {"hard_sigmoid", Unary::hard_sigmoid,
     [](double x, double a, double b) {
       const double v = a * x + b;
       return v < 0 ? 0 : v > 1 ? 1 : v;
     },
     0.2f, 0.5f},
    {"absolute", Unary::absolute, [](double x, double, double) { return std::abs(x); }},
    {"negate", Unary::negate, [](double x, double, double) { return -x; }},
    {"reciprocal", Unary::reciprocal, [](double x, double, double) { return 1 / x; }},
    {"reciprocal_sqrt", Unary::reciprocal_sqrt, [](double x, double, double) { return 1 / std::sqrt(x); }},
    {"square", Unary::square, [](double x, double, double) { return x * x; }},
    {"floor", Unary::floor, [](double x, double, double) { return std::floor(x); }},
    {"ceil", Unary::ceil, [](double x, double, double) { return std::ceil(x); }},
    {"round_even", Unary::round_even, [](double x, double, double) { return std::nearbyint(x); }},
    {"sign", Unary::sign, [](double x, double, double) { return x > 0   ? 1.0
                                                                : x < 0 ? -1.0
                                                                        : x; }},
    {"elu", Unary::elu, [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, 0.7f},
    {"selu", Unary::selu, [](double x, double a, double b) { return b * (x < 0 ? a * std::expm1(x) : x); },
     1.5f, 1.25f},
    {"softsign", Unary::softsign, [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"mish", Unary::mish, [](double x, double, double) { return x * std::tanh(log_one_plus_exp(x)); }},
};

class UnaryFunctions : public KernelTest {
 protected:
  /// All magnitudes and both signs, with special values among them.
  std::vector<float> any_floats(int64_t count) {
    std::vector<float> x(static_cast<size_t>(count));
    for (float& value : x) {
      const auto bits = static_cast<uint32_t>(random_());
      std::memcpy(&value, &bits, sizeof value);
      if (chance(50)) value = number(-12, 12);
    }
    const float infinity = std::numeric_limits<float>::infinity();
    const float special[] = {0.0f,
                             -0.0f,
                             infinity,
                             -infinity,
                             std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::denorm_min(),
                             std::numeric_limits<float>::max(),
                             -88.0f,
                             -95.0f,
                             -103.0f,
                             -104.5f,
                             88.7f,
                             88.8f,
                             1.0f,
                             -1.0f,
                             0.5f,
                             1.5f,
                             2.5f,
                             -2.5f,
                             8388609.0f};
    size_t at = 0;
    for (const float value : special) {
      if (at < x.size()) x[at++] = value;
    }
    return x;
  }
};

/// Steps between neighbouring floats around a value, denormals included.
double unit_in_the_last_place(double x) {
  const double magnitude = std::fmax(std::abs(x), 1.1754943508222875e-38);
  return std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

TEST_P(UnaryFunctions, WithinTolerance) {
  for (const Function& f : functions) {
    const std::vector<float> x = any_floats(40000);
    std::vector<float> y(x.size());
    unary(f.function, static_cast<int64_t>(x.size()), x.data(), y.data(), f.alpha, f.beta, pool());
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = f.reference(x[i], f.alpha, f.beta);
      const auto rounded = static_cast<float>(exact);
      if (std::isnan(rounded) || std::isnan(y[i])) {
        ASSERT_EQ(std::isnan(rounded), std::isnan(y[i]))
            << f.name << "(" << x[i] << ") = " << y[i] << " not " << exact;
        continue;
      }
      if (std::isinf(rounded) || std::isinf(y[i])) {
        // Just below the largest number a few units decide.
        const bool close = std::abs(exact) > 3.4028e38 && std::abs(static_cast<double>(y[i])) > 3.4028e38 &&
                           std::signbit(exact) == std::signbit(y[i]);
        ASSERT_TRUE(close) << f.name << "(" << x[i] << ") = " << y[i] << " not " << exact;
        continue;
      }
      if (exact == 0) {
        ASSERT_EQ(std::signbit(rounded), std::signbit(y[i])) << f.name << "(" << x[i] << ")";
      }
      // A result near the denormals may come from a factor that is one; a sum near 0 from terms near 1.
      double floor = 128 * 1.401298464324817e-45;
      if (f.function == Unary::hard_sigmoid) floor = 1e-7;
      // Below 0 the error is that of erf, near -1.
      if (f.function == Unary::gelu_by_erf && x[i] < 0) floor = std::fmax(floor, -2e-7 * x[i]);
      const double relative = f.function == Unary::gelu_tanh ? 3e-5 : 1e-6;
      const double tolerance =
          std::fmax(std::fmax(4 * unit_in_the_last_place(exact), relative * std::abs(exact)), floor);
      ASSERT_LE(std::abs(y[i] - exact), tolerance)
          << f.name << "(" << x[i] << ") = " << y[i] << " not " << exact << " seed " << test_seed();
    }
  }
}

TEST_P(UnaryFunctions, EveryLengthAndInPlace) {
  for (int64_t count = 0; count < 70; ++count) {
    const std::vector<float> x = numbers(count);
    std::vector<float> y = x;
    y.push_back(42);
    unary(Unary::exp, count, y.data(), y.data(), 0, 0, pool());
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(near(std::exp(x[static_cast<size_t>(i)]), y[static_cast<size_t>(i)], 1e-6));
    }
    EXPECT_EQ(y.back(), 42);
  }
}

TEST_P(UnaryFunctions, Activations) {
  for (int code = 0; code <= static_cast<int>(Activation::gelu_tanh); ++code) {
    const auto activation = static_cast<Activation>(code);
    const std::vector<float> x = numbers(1000, -8, 8);
    std::vector<float> y(x.size());
    activate(activation, 1000, x.data(), y.data(), -0.3f, 0.6f, pool());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(near(reference_activation(activation, x[i], -0.3f, 0.6f), y[i], 1e-6))
          << code << " of " << x[i];
    }
  }
}

/// What a product reads next is slow with denormals.
TEST_P(UnaryFunctions, SiluOfEpiloguesGivesNoDenormals) {
  std::vector<float> x;
  for (float value = -120; value < -80; value += 0.01f) x.push_back(value);
  x.push_back(-std::numeric_limits<float>::infinity());
  x.push_back(std::numeric_limits<float>::quiet_NaN());
  std::vector<float> y(x.size());
  activate(Activation::silu, static_cast<int64_t>(x.size()), x.data(), y.data(), 0, 0, pool());
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    EXPECT_NE(std::fpclassify(y[i]), FP_SUBNORMAL) << x[i];
    EXPECT_NEAR(y[i], x[i] / (1 + std::exp(-static_cast<double>(x[i]))), 2e-36);
    EXPECT_TRUE(std::signbit(y[i]));
  }
  EXPECT_TRUE(std::isnan(y[x.size() - 2])) << "-infinity times 0";
  EXPECT_TRUE(std::isnan(y.back()));
}

AXRUN_KERNEL_TESTS(UnaryFunctions);

}  // namespace
}  // namespace axrun::runtime
