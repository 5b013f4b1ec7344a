#include <algorithm>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Gemm : public KernelTest {
 protected:
  /// A matrix of random numbers in memory of a random layout.
  struct Matrix {
    std::vector<float> data;
    int64_t row_stride, column_stride;
    float at(int64_t i, int64_t j) const {
      return data[static_cast<size_t>(i * row_stride + j * column_stride)];
    }
  };
  Matrix matrix(int64_t rows, int64_t columns) {
    Matrix result;
    const int64_t pad = chance(50) ? 0 : integer(1, 5);
    switch (integer(0, 2)) {
      case 0:
        result.row_stride = columns + pad, result.column_stride = 1;
        break;
      case 1:
        result.row_stride = 1, result.column_stride = rows + pad;
        break;
      default:
        result.row_stride = 2 * columns + pad, result.column_stride = 2;
    }
    // Not one element more than the matrix has: overruns must be visible.
    const int64_t size = rows == 0 || columns == 0
                             ? 0
                             : (rows - 1) * result.row_stride + (columns - 1) * result.column_stride + 1;
    result.data = numbers(size);
    return result;
  }

  void check(int64_t m, int64_t n, int64_t k) {
    SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " seed " << test_seed());
    const Matrix a = matrix(m, k), b = matrix(k, n);
    GemmArguments g;
    g.m = m, g.n = n, g.k = k;
    g.a = a.data.data(), g.a_row_stride = a.row_stride, g.a_column_stride = a.column_stride;
    g.b = b.data.data(), g.b_row_stride = b.row_stride, g.b_column_stride = b.column_stride;
    Buffer packed_a(gemm_packed_a_bytes(m, k)), packed_b(gemm_packed_b_bytes(k, n));
    if (chance(30)) {
      gemm_pack_a(m, k, g.a, g.a_row_stride, g.a_column_stride, packed_a.floats());
      g.packed_a = packed_a.floats();
    }
    if (chance(40)) {
      gemm_pack_b(k, n, g.b, g.b_row_stride, g.b_column_stride, packed_b.floats());
      g.packed_b = packed_b.floats();
    }
    g.c_row_stride = n + (chance(50) ? 0 : integer(0, 3));
    const std::vector<float> row_bias = numbers(m), column_bias = numbers(n);
    const std::vector<float> row_factor = numbers(m), column_factor = numbers(n);
    const int64_t c_size = m == 0 ? 0 : (m - 1) * g.c_row_stride + n;
    std::vector<float> c = numbers(c_size);
    const std::vector<float> before = c;
    Epilogue& e = g.epilogue;
    if (chance(30)) e.scale = number();
    if (chance(30)) e.row_factor = row_factor.data();
    if (chance(30)) e.column_factor = column_factor.data();
    if (chance(40)) e.row_bias = row_bias.data();
    if (chance(40)) e.column_bias = column_bias.data();
    std::vector<float> residual;
    if (chance(40)) {
      e.residual_scale = chance(50) ? 1.0f : number();
      e.residual_row_stride = g.c_row_stride;
      if (chance(50)) {
        e.residual = c.data();
        residual = c;
      } else {
        residual = numbers(c_size);
        e.residual = residual.data();
      }
    }
    e.activation = static_cast<Activation>(integer(0, 10));
    e.alpha = number(-0.5f, 0.0f), e.beta = number(0.1f, 0.5f);
    g.c = c.data();
    if (chance(30)) {
      Buffer scratch(gemm_alone_scratch_bytes(n, k));
      gemm_alone(g, scratch.data());
    } else {
      ThreadPool& threads = pool();
      Buffer scratch(gemm_scratch_bytes(g, threads.threads()));
      gemm(g, scratch.data(), threads);
    }
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < g.c_row_stride && i * g.c_row_stride + j < c_size; ++j) {
        const auto at = static_cast<size_t>(i * g.c_row_stride + j);
        if (j >= n) {
          ASSERT_EQ(c[at], before[at]) << "wrote between rows";
          continue;
        }
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += static_cast<double>(a.at(i, l)) * b.at(l, j);
        sum *= e.scale;
        if (e.row_factor != nullptr) sum *= row_factor[static_cast<size_t>(i)];
        if (e.column_factor != nullptr) sum *= column_factor[static_cast<size_t>(j)];
        if (e.row_bias != nullptr) sum += row_bias[static_cast<size_t>(i)];
        if (e.column_bias != nullptr) sum += column_bias[static_cast<size_t>(j)];
        if (e.residual != nullptr) sum += static_cast<double>(residual[at]) * e.residual_scale;
        const double expected = reference_activation(e.activation, sum, e.alpha, e.beta);
        ASSERT_TRUE(near(expected, c[at], 1e-6 * (4 + static_cast<double>(k) / 16)))
            << "at " << i << "," << j << ": " << expected << " and " << c[at];
      }
    }
  }
};

TEST_P(Gemm, ColumnsAloneHaveTheSameBits) {
  for (int repeat = 0; repeat < 60; ++repeat) {
    GemmArguments g;
    g.m = chance(50) ? 1 : integer(2, 30), g.n = integer(1, 300), g.k = chance(20) ? 1024 : integer(0, 700);
    g.b_row_stride = 1, g.b_column_stride = g.k;
    g.a_row_stride = g.k, g.c_row_stride = g.n;
    const std::vector<float> a = numbers(g.m * g.k), b = numbers(g.k * g.n), residual = numbers(g.m * g.n);
    const std::vector<float> bias = numbers(g.n);
    Buffer packed(gemm_packed_b_bytes(g.k, g.n));
    gemm_pack_b(g.k, g.n, b.data(), g.b_row_stride, g.b_column_stride, packed.floats());
    g.a = a.data(), g.packed_b = packed.floats();
    if (chance(50)) g.epilogue.column_bias = bias.data();
    if (chance(50)) g.epilogue.residual = residual.data(), g.epilogue.residual_row_stride = g.n;
    std::vector<float> whole(residual.size()), parts(residual.size());
    Buffer scratch(gemm_columns_scratch_bytes(g));
    g.c = whole.data();
    gemm_columns(g, 0, g.n, scratch.data());
    g.c = parts.data();
    for (int64_t first = 0; first < g.n;) {
      const int64_t last = std::min(g.n, first + integer(1, 3) * gemm_panel_columns());
      gemm_columns(g, first, last, scratch.data());
      first = last;
    }
    ASSERT_EQ(whole, parts) << "m " << g.m << " n " << g.n << " k " << g.k << " seed " << test_seed();
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        const auto at = static_cast<size_t>(i * g.n + j);
        double sum = 0;
        for (int64_t l = 0; l < g.k; ++l) {
          sum +=
              static_cast<double>(a[static_cast<size_t>(i * g.k + l)]) * b[static_cast<size_t>(j * g.k + l)];
        }
        if (g.epilogue.column_bias != nullptr) sum += bias[static_cast<size_t>(j)];
        if (g.epilogue.residual != nullptr) sum += residual[at];
        ASSERT_TRUE(near(sum, whole[at], 1e-6 * (4 + static_cast<double>(g.k) / 16)));
      }
    }
  }
}

TEST_P(Gemm, SmallShapes) {
  for (int i = 0; i < 400; ++i) check(integer(0, 40), integer(0, 80), integer(0, 40));
}

TEST_P(Gemm, EveryTile) {
  for (int64_t m = 1; m <= 15; ++m) {
    for (const int64_t n : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33}) check(m, n, integer(1, 20));
  }
}

TEST_P(Gemm, LongSums) {
  for (int i = 0; i < 20; ++i) check(integer(1, 40), integer(1, 70), integer(500, 1500));
}

TEST_P(Gemm, LargeShapes) {
  for (int i = 0; i < 6; ++i) check(integer(100, 200), integer(200, 500), integer(60, 600));
  check(1, 3000, 70);
  check(300, 1, 300);
}

TEST_P(Gemm, BatchesBroadcast) {
  for (int repeat = 0; repeat < 40; ++repeat) {
    GemmArguments g;
    g.m = integer(1, 20), g.n = integer(1, 40), g.k = integer(1, 20);
    g.batch_rank = static_cast<int>(integer(0, 3));
    int64_t batch = 1, a_size = g.m * g.k, b_size = g.k * g.n, c_size = g.m * g.n;
    for (int i = g.batch_rank - 1; i >= 0; --i) {
      g.batch_extents[i] = integer(1, 4);
      batch *= g.batch_extents[i];
      if (chance(60)) g.a_batch_strides[i] = a_size, a_size *= g.batch_extents[i];
      if (chance(60)) g.b_batch_strides[i] = b_size, b_size *= g.batch_extents[i];
      g.c_batch_strides[i] = c_size;
      c_size *= g.batch_extents[i];
    }
    const std::vector<float> a = numbers(a_size), b = numbers(b_size);
    std::vector<float> c(static_cast<size_t>(c_size));
    g.a = a.data(), g.a_row_stride = g.k;
    g.b = b.data(), g.b_row_stride = g.n;
    g.c = c.data(), g.c_row_stride = g.n;
    ThreadPool& threads = pool();
    Buffer scratch(gemm_scratch_bytes(g, threads.threads()));
    gemm(g, scratch.data(), threads);
    for (int64_t index = 0; index < batch; ++index) {
      int64_t rest = index, a_at = 0, b_at = 0, c_at = 0;
      for (int i = g.batch_rank - 1; i >= 0; --i) {
        const int64_t position = rest % g.batch_extents[i];
        rest /= g.batch_extents[i];
        a_at += position * g.a_batch_strides[i];
        b_at += position * g.b_batch_strides[i];
        c_at += position * g.c_batch_strides[i];
      }
      for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < g.k; ++l) {
            sum += static_cast<double>(a[static_cast<size_t>(a_at + i * g.k + l)]) *
                   b[static_cast<size_t>(b_at + l * g.n + j)];
          }
          ASSERT_TRUE(near(sum, c[static_cast<size_t>(c_at + i * g.n + j)], 1e-5)) << "seed " << test_seed();
        }
      }
    }
  }
}

TEST_P(Gemm, SameForEveryThreadCount) {
  GemmArguments g;
  g.m = 150, g.n = 300, g.k = 700;
  const std::vector<float> a = numbers(g.m * g.k), b = numbers(g.k * g.n);
  std::vector<float> one(static_cast<size_t>(g.m * g.n)), three(one.size());
  g.a = a.data(), g.a_row_stride = g.k, g.b = b.data(), g.b_row_stride = g.n, g.c_row_stride = g.n;
  Buffer scratch(gemm_scratch_bytes(g, 3));
  g.c = one.data();
  gemm(g, scratch.data(), *one_);
  g.c = three.data();
  gemm(g, scratch.data(), *three_);
  EXPECT_EQ(one, three);
}

AXRUN_KERNEL_TESTS(Gemm);

}  // namespace
}  // namespace axrun::runtime
