#include <limits>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Elementwise : public KernelTest {
 protected:
  struct Case {
    Broadcast broadcast;
    int64_t count = 1, a_size = 1, b_size = 1;
    std::vector<int64_t> a_index, b_index;  ///< of each output element
  };

  Case random_case() {
    Case c;
    Broadcast& b = c.broadcast;
    b.rank = static_cast<int>(integer(0, 4));
    for (int d = b.rank - 1; d >= 0; --d) {
      b.extents[d] = chance(5) ? 0 : chance(20) ? 1 : integer(1, chance(20) ? 60 : 9);
      if (chance(70)) b.a_strides[d] = c.a_size, c.a_size *= b.extents[d];
      if (chance(70)) b.b_strides[d] = c.b_size, c.b_size *= b.extents[d];
      c.count *= b.extents[d];
    }
    for (int64_t i = 0; i < c.count; ++i) {
      int64_t rest = i, a_at = 0, b_at = 0;
      for (int d = b.rank - 1; d >= 0; --d) {
        a_at += rest % b.extents[d] * b.a_strides[d];
        b_at += rest % b.extents[d] * b.b_strides[d];
        rest /= b.extents[d];
      }
      c.a_index.push_back(a_at);
      c.b_index.push_back(b_at);
    }
    return c;
  }

  template <class T>
  std::vector<T> values(int64_t count) {
    std::vector<T> result(static_cast<size_t>(count));
    for (T& value : result) {
      if constexpr (std::is_floating_point_v<T>) {
        value = chance(10)
                    ? pick<T>({T(0), T(-0.0), std::numeric_limits<T>::infinity(),
                               -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
                    : static_cast<T>(number(-4, 4));
      } else {
        value = chance(20)
                    ? pick<T>({std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(-1), T(0)})
                    : static_cast<T>(integer(-9, 9));
      }
    }
    return result;
  }

  template <class T>
  static T expected(Binary operation, T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T nan = std::numeric_limits<T>::quiet_NaN();
      switch (operation) {
        case Binary::add:
          return a + b;
        case Binary::subtract:
          return a - b;
        case Binary::multiply:
          return a * b;
        case Binary::divide:
          return a / b;
        case Binary::minimum:
          return std::isnan(a) || std::isnan(b) ? nan : a < b ? a : b;
        case Binary::maximum:
          return std::isnan(a) || std::isnan(b) ? nan : a > b ? a : b;
        case Binary::power:
          return std::pow(a, b);
        case Binary::modulo: {
          const T rest = std::fmod(a, b);
          return rest != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
        }
        case Binary::fmod:
          return std::fmod(a, b);
        case Binary::prelu:
          return a < 0 ? a * b : a;
      }
    } else {
      const auto wide_a = static_cast<__int128>(a), wide_b = static_cast<__int128>(b);
      switch (operation) {
        case Binary::add:
          return static_cast<T>(wide_a + wide_b);
        case Binary::subtract:
          return static_cast<T>(wide_a - wide_b);
        case Binary::multiply:
          return static_cast<T>(wide_a * wide_b);
        case Binary::divide:
          return b == 0 ? 0 : static_cast<T>(wide_a / wide_b);
        case Binary::minimum:
          return a < b ? a : b;
        case Binary::maximum:
          return a > b ? a : b;
        case Binary::power: {
          if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
          // Periodic beyond 64 multiplications unless the base is odd: then square and multiply in modulo
          // 2^64.
          uint64_t result = 1, base = static_cast<uint64_t>(a);
          for (uint64_t e = static_cast<uint64_t>(b); e != 0; e >>= 1, base *= base) {
            if ((e & 1) != 0) result *= base;
          }
          return static_cast<T>(result);
        }
        case Binary::modulo: {
          if (b == 0) return 0;
          const __int128 rest = wide_a % wide_b;
          return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + wide_b : rest);
        }
        case Binary::fmod:
          return b == 0 ? 0 : static_cast<T>(wide_a % wide_b);
        case Binary::prelu:
          return a < 0 ? static_cast<T>(wide_a * wide_b) : a;
      }
    }
    return T(0);
  }

  template <class T>
  void check(Number type) {
    for (int code = 0; code <= static_cast<int>(Binary::prelu); ++code) {
      const auto operation = static_cast<Binary>(code);
      for (int repeat = 0; repeat < 12; ++repeat) {
        const Case c = random_case();
        SCOPED_TRACE(testing::Message() << "seed " << test_seed() << " operation " << code);
        std::vector<T> a = values<T>(c.a_size), b = values<T>(c.b_size);
        if (operation == Binary::power && c.b_size == 1) b[0] = pick<T>({T(1), T(2), T(3), T(-1), T(0.5)});
        std::vector<T> y(static_cast<size_t>(c.count));
        // In place where the operand has the output's shape.
        const bool in_place = c.a_size == c.count && chance(50);
        if (in_place) y = a;
        binary(operation, type, c.broadcast, in_place ? y.data() : a.data(), b.data(), y.data(), pool());
        for (size_t i = 0; i < y.size(); ++i) {
          const T u = a[static_cast<size_t>(c.a_index[i])], v = b[static_cast<size_t>(c.b_index[i])];
          const T want = expected(operation, u, v);
          if constexpr (std::is_floating_point_v<T>) {
            ASSERT_TRUE(near(want, y[i], operation == Binary::power ? 4e-7 : 0))
                << u << ", " << v << ": " << y[i];
          } else {
            ASSERT_EQ(want, y[i]) << u << ", " << v;
          }
        }
      }
    }
  }
};

TEST_P(Elementwise, Float) { check<float>(Number::f32); }
TEST_P(Elementwise, Double) { check<double>(Number::f64); }
TEST_P(Elementwise, Int32) { check<int32_t>(Number::i32); }
TEST_P(Elementwise, Int64) { check<int64_t>(Number::i64); }

TEST_P(Elementwise, Comparisons) {
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Case c = random_case();
    const auto operation = static_cast<Comparison>(integer(0, 5));
    const std::vector<float> a = values<float>(c.a_size), b = values<float>(c.b_size);
    const std::vector<int64_t> p = values<int64_t>(c.a_size), q = values<int64_t>(c.b_size);
    std::vector<uint8_t> y(static_cast<size_t>(c.count)), z(y.size());
    compare(operation, Number::f32, c.broadcast, a.data(), b.data(), y.data(), pool());
    compare(operation, Number::i64, c.broadcast, p.data(), q.data(), z.data(), pool());
    const auto holds = [&](auto u, auto v) {
      switch (operation) {
        case Comparison::equal:
          return u == v;
        case Comparison::not_equal:
          return u != v;
        case Comparison::less:
          return u < v;
        case Comparison::less_equal:
          return u <= v;
        case Comparison::greater:
          return u > v;
        default:
          return u >= v;
      }
    };
    for (size_t i = 0; i < y.size(); ++i) {
      const auto a_at = static_cast<size_t>(c.a_index[i]), b_at = static_cast<size_t>(c.b_index[i]);
      ASSERT_EQ(holds(a[a_at], b[b_at]), y[i] == 1) << "seed " << test_seed();
      ASSERT_EQ(holds(p[a_at], q[b_at]), z[i] == 1) << "seed " << test_seed();
      ASSERT_LE(y[i] | z[i], 1);
    }
  }
}

TEST_P(Elementwise, Select) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Case c = random_case();
    BroadcastSelect s;
    s.rank = c.broadcast.rank;
    int64_t condition_size = 1;
    for (int d = s.rank - 1; d >= 0; --d) {
      s.extents[d] = c.broadcast.extents[d];
      s.a_strides[d] = c.broadcast.a_strides[d];
      s.b_strides[d] = c.broadcast.b_strides[d];
      if (chance(80)) s.condition_strides[d] = condition_size, condition_size *= s.extents[d];
    }
    std::vector<uint8_t> condition(static_cast<size_t>(condition_size));
    for (uint8_t& value : condition) value = static_cast<uint8_t>(chance(50) ? 0 : integer(1, 255));
    const size_t bytes = pick<size_t>({1, 2, 4, 8});
    std::vector<uint8_t> a(static_cast<size_t>(c.a_size) * bytes), b(static_cast<size_t>(c.b_size) * bytes);
    for (uint8_t& value : a) value = static_cast<uint8_t>(integer(0, 255));
    for (uint8_t& value : b) value = static_cast<uint8_t>(integer(0, 255));
    std::vector<uint8_t> y(static_cast<size_t>(c.count) * bytes);
    select(bytes, s, condition.data(), a.data(), b.data(), y.data(), pool());
    for (int64_t i = 0; i < c.count; ++i) {
      int64_t rest = i, at = 0;
      for (int d = s.rank - 1; d >= 0; --d) {
        at += rest % s.extents[d] * s.condition_strides[d];
        rest /= s.extents[d];
      }
      const auto n = static_cast<size_t>(i);
      const bool left = condition[static_cast<size_t>(at)] != 0;
      for (size_t byte = 0; byte < bytes; ++byte) {
        ASSERT_EQ(y[n * bytes + byte], left ? a[static_cast<size_t>(c.a_index[n]) * bytes + byte]
                                            : b[static_cast<size_t>(c.b_index[n]) * bytes + byte])
            << "seed " << test_seed();
      }
    }
  }
}

TEST_P(Elementwise, LongArraysAreCut) {
  Broadcast s;
  s.rank = 1, s.extents[0] = 200'001, s.a_strides[0] = 1;
  const std::vector<float> a = numbers(s.extents[0]), b = {3.0f};
  std::vector<float> y(a.size());
  binary(Binary::multiply, Number::f32, s, a.data(), b.data(), y.data(), *three_);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], a[i] * 3.0f);
}

TEST_P(Elementwise, ChannelAffine) {
  for (const int64_t inner : {1, 5, 64}) {
    const int64_t outer = 3, channels = 21;
    const std::vector<float> x = numbers(outer * channels * inner), scale = numbers(channels),
                             bias = numbers(channels);
    std::vector<float> y = x;
    channel_affine(outer, channels, inner, y.data(), scale.data(), bias.data(), Activation::relu, 0, 0,
                   y.data(), pool());
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t channel = i / static_cast<size_t>(inner) % static_cast<size_t>(channels);
      const double value = static_cast<double>(x[i]) * scale[channel] + bias[channel];
      ASSERT_TRUE(near(value < 0 ? 0 : value, y[i], 1e-6));
    }
  }
}

AXRUN_KERNEL_TESTS(Elementwise);

}  // namespace
}  // namespace axrun::runtime
