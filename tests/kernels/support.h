#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "tests/kernels/seed.h"

namespace axrun::runtime {

/// Runs every test at every instruction-set level this processor has, with one and with three threads.
class KernelTest : public testing::TestWithParam<IsaLevel> {
 protected:
  void SetUp() override {
    if (GetParam() > best_isa_level()) GTEST_SKIP() << "this processor lacks " << isa_level_name(GetParam());
    previous_ = isa_level();
    set_isa_level(GetParam());
    random_.seed(test_seed());
  }
  void TearDown() override {
    if (GetParam() <= best_isa_level()) set_isa_level(previous_);
  }

  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return integer(0, 99) < percent; }
  float number(float low = -1.0f, float high = 1.0f) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  std::vector<float> numbers(int64_t count, float low = -1.0f, float high = 1.0f) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float& value : result) value = number(low, high);
    return result;
  }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<int64_t>(choices.size()) - 1)];
  }

  ThreadPool& pool() { return chance(50) ? *one_ : *three_; }

  std::mt19937_64 random_;
  std::unique_ptr<ThreadPool> one_ = ThreadPool::make(1);
  std::unique_ptr<ThreadPool> three_ = ThreadPool::make(3);

 private:
  IsaLevel previous_ = IsaLevel::sse2;
};

#define AXRUN_KERNEL_TESTS(suite)                                                                            \
  INSTANTIATE_TEST_SUITE_P(Levels, suite, testing::Values(IsaLevel::sse2, IsaLevel::avx2, IsaLevel::avx512), \
                           [](const auto& info) { return std::string(isa_level_name(info.param)); })

/// Memory with the kernels' alignment and exactly the size asked for, so that AddressSanitizer sees each
/// overrun.
class Buffer {
 public:
  explicit Buffer(size_t bytes)
      : data_(std::aligned_alloc(buffer_alignment,
                                 (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment)) {}
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* floats() { return static_cast<float*>(data_); }
  void* data() { return data_; }

 private:
  void* data_;
};

/// The activation in double precision, from its definition.
inline double reference_activation(Activation activation, double x, double alpha, double beta) {
  const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::leaky_relu:
      return x < 0 ? alpha * x : x;
    case Activation::clip:
      return x < alpha ? alpha : x > beta ? beta : x;
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::hard_sigmoid:
      return std::fmin(1, std::fmax(0, alpha * x + beta));
    case Activation::hard_swish:
      return x * std::fmin(1, std::fmax(0, x / 6 + 0.5));
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::gelu_erf:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return x * sigmoid(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
  }
  return x;
}

/// Near if within `tolerance` of the larger of 1 and the expected value's magnitude; NaN equals NaN.
inline bool near(double expected, double actual, double tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::abs(expected - actual) <= tolerance * std::fmax(1.0, std::abs(expected));
}

}  // namespace axrun::runtime
