#include <limits>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Quantized : public KernelTest {
 protected:
  std::vector<uint8_t> bytes(int64_t count) {
    std::vector<uint8_t> result(static_cast<size_t>(count));
    for (uint8_t& value : result)
      value = chance(10) ? pick<uint8_t>({0, 127, 128, 255}) : static_cast<uint8_t>(random_());
    return result;
  }
  static int32_t value(Byte type, uint8_t byte) {
    return type == Byte::u8 ? byte : static_cast<int8_t>(byte);
  }
};

TEST_P(Quantized, QuantizeAndBack) {
  for (int repeat = 0; repeat < 150; ++repeat) {
    const Byte type = pick({Byte::u8, Byte::i8});
    QuantizationShape s;
    s.outer = integer(0, 4), s.channels = chance(30) ? 1 : integer(1, 40),
    s.inner = chance(30) ? 1 : integer(1, 70);
    const std::vector<float> scale = numbers(s.channels, 0.01f, 0.5f);
    const std::vector<uint8_t> zero_point = bytes(s.channels);
    s.scale = scale.data();
    if (chance(80)) s.zero_point = zero_point.data();
    const int64_t count = s.outer * s.channels * s.inner;
    std::vector<float> x = numbers(count, -40, 40);
    for (float& v : x) {
      if (chance(5)) v = pick({0.0f, 1e30f, -1e30f, std::numeric_limits<float>::infinity(), std::nanf("")});
      if (chance(5)) v = 2.5f * scale[0];  // a tie
    }
    std::vector<uint8_t> q(x.size());
    std::vector<float> back(x.size());
    quantize(type, s, x.data(), q.data(), pool());
    dequantize(type, s, q.data(), back.data(), pool());
    const int32_t low = type == Byte::u8 ? 0 : -128, high = low + 255;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t channel = i / static_cast<size_t>(s.inner) % static_cast<size_t>(s.channels);
      const int32_t zero = s.zero_point == nullptr ? 0 : value(type, zero_point[channel]);
      const float rounded = std::nearbyint(x[i] / scale[channel]) + static_cast<float>(zero);
      const int32_t expected = std::isnan(rounded)                  ? 0
                               : rounded < static_cast<float>(low)  ? low
                               : rounded > static_cast<float>(high) ? high
                                                                    : static_cast<int32_t>(rounded);
      ASSERT_EQ(value(type, q[i]), expected) << x[i] << " / " << scale[channel] << " seed " << test_seed();
      ASSERT_EQ(back[i], static_cast<float>(expected - zero) * scale[channel]);
    }
  }
}

TEST_P(Quantized, GemmIsExact) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    QuantizedGemmArguments g;
    g.m = integer(0, 40), g.n = integer(0, 80), g.k = integer(0, repeat % 20 == 0 ? 2000 : 70);
    g.a_type = pick({Byte::u8, Byte::i8});
    const Byte b_type = pick({Byte::u8, Byte::i8});
    g.a_row_stride = g.k + integer(0, 3);
    const std::vector<uint8_t> a = bytes(g.m * g.a_row_stride), b = bytes(g.k * g.n);
    const bool transposed = chance(50), per_column = chance(50), no_zero = chance(20);
    std::vector<int32_t> zero_points(static_cast<size_t>(per_column ? g.n : 1));
    for (int32_t& zero : zero_points) zero = value(b_type, static_cast<uint8_t>(random_()));
    g.a = a.data();
    g.a_zero_point = value(g.a_type, static_cast<uint8_t>(random_()));
    Buffer packed(quantized_gemm_packed_b_bytes(g.k, g.n));
    const int64_t row_stride = transposed ? 1 : g.n, column_stride = transposed ? g.k : 1;
    quantized_gemm_pack_b(b_type, g.k, g.n, b.data(), row_stride, column_stride,
                          no_zero ? nullptr : zero_points.data(), per_column, packed.data());
    g.packed_b = packed.data();
    g.c_row_stride = g.n + integer(0, 2);
    std::vector<int32_t> c(static_cast<size_t>(g.m * g.c_row_stride), -5);
    g.c = c.data();
    ThreadPool& threads = pool();
    Buffer scratch(quantized_gemm_scratch_bytes(g, threads.threads()));
    quantized_gemm(g, scratch.data(), threads);
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.c_row_stride; ++j) {
        const int32_t actual = c[static_cast<size_t>(i * g.c_row_stride + j)];
        if (j >= g.n) {
          ASSERT_EQ(actual, -5);
          continue;
        }
        const int32_t zero = no_zero ? 0 : zero_points[static_cast<size_t>(per_column ? j : 0)];
        int64_t sum = 0;
        for (int64_t l = 0; l < g.k; ++l) {
          sum += static_cast<int64_t>(value(g.a_type, a[static_cast<size_t>(i * g.a_row_stride + l)]) -
                                      g.a_zero_point) *
                 (value(b_type, b[static_cast<size_t>(l * row_stride + j * column_stride)]) - zero);
        }
        ASSERT_EQ(sum, actual) << "m " << g.m << " n " << g.n << " k " << g.k << " seed " << test_seed();
      }
    }
  }
}

AXRUN_KERNEL_TESTS(Quantized);

}  // namespace
}  // namespace axrun::runtime
