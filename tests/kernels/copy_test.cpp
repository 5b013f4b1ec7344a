#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Copy : public KernelTest {};

TEST_P(Copy, Transposes) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const int rank = static_cast<int>(integer(0, 5));
    int64_t extents[max_copy_rank] = {}, permutation[max_copy_rank] = {}, count = 1;
    for (int d = 0; d < rank; ++d) {
      extents[d] = chance(3) ? 0 : integer(1, rank <= 2 ? 90 : 11);
      permutation[d] = d;
      count *= extents[d];
    }
    std::shuffle(permutation, permutation + rank, random_);
    const size_t bytes = pick<size_t>({1, 2, 4, 8, 16});
    std::vector<uint8_t> x(static_cast<size_t>(count) * bytes), y(x.size());
    for (uint8_t& value : x) value = static_cast<uint8_t>(random_());
    transpose(bytes, rank, extents, permutation, x.data(), y.data(), pool());
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, position[max_copy_rank] = {};
      for (int d = rank - 1; d >= 0; --d) {
        position[permutation[d]] = rest % extents[permutation[d]];
        rest /= extents[permutation[d]];
      }
      int64_t from = 0;
      for (int d = 0; d < rank; ++d) from = from * extents[d] + position[d];
      for (size_t byte = 0; byte < bytes; ++byte) {
        ASSERT_EQ(y[static_cast<size_t>(i) * bytes + byte], x[static_cast<size_t>(from) * bytes + byte])
            << "seed " << test_seed();
      }
    }
  }
}

TEST_P(Copy, StridedBothSides) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    CopyShape s;
    s.rank = static_cast<int>(integer(1, 4));
    // The output is a window of a larger tensor; the input a broadcast, reversed or stepped view.
    int64_t y_size = 1, x_low = 0, x_high = 0, x_stride = 1;
    for (int d = s.rank - 1; d >= 0; --d) {
      s.extents[d] = integer(1, 12);
      s.y_strides[d] = y_size;
      y_size *= s.extents[d] + integer(0, 2);
      const int64_t step = integer(1, 2);
      switch (integer(0, 3)) {
        case 0:
          s.x_strides[d] = 0;
          break;
        case 1:
          s.x_strides[d] = -x_stride * step;
          break;
        default:
          s.x_strides[d] = x_stride * step;
      }
      const int64_t reach = (s.extents[d] - 1) * s.x_strides[d];
      (reach < 0 ? x_low : x_high) += reach;
      if (s.x_strides[d] != 0) x_stride *= s.extents[d] * step;
    }
    std::vector<uint32_t> x(static_cast<size_t>(x_high - x_low + 1)), y(static_cast<size_t>(y_size), 7);
    std::iota(x.begin(), x.end(), 100u);
    std::vector<uint32_t> expected = y;
    int64_t count = 1;
    for (int d = 0; d < s.rank; ++d) count *= s.extents[d];
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, x_at = -x_low, y_at = 0;
      for (int d = s.rank - 1; d >= 0; --d) {
        x_at += rest % s.extents[d] * s.x_strides[d];
        y_at += rest % s.extents[d] * s.y_strides[d];
        rest /= s.extents[d];
      }
      expected[static_cast<size_t>(y_at)] = x[static_cast<size_t>(x_at)];
    }
    copy_strided(4, s, x.data() - x_low, y.data(), pool());
    ASSERT_EQ(y, expected) << "seed " << test_seed();
  }
}

TEST_P(Copy, LargeTranspose) {
  const int64_t extents[] = {3, 130, 257}, permutation[] = {0, 2, 1};
  std::vector<float> x(3 * 130 * 257), y(x.size());
  std::iota(x.begin(), x.end(), 0.0f);
  transpose(4, 3, extents, permutation, x.data(), y.data(), *three_);
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t i = 0; i < 130; ++i) {
      for (int64_t j = 0; j < 257; ++j) {
        ASSERT_EQ(y[static_cast<size_t>((b * 257 + j) * 130 + i)],
                  x[static_cast<size_t>((b * 130 + i) * 257 + j)]);
      }
    }
  }
}

TEST_P(Copy, GatherRows) {
  const std::vector<int32_t> x = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};  // [2][3][2]
  const int64_t indices[] = {2, -3, -1, 0};
  std::vector<int32_t> y(16);
  ASSERT_TRUE(gather_rows(2, 3, 8, 4, indices, x.data(), y.data(), pool()));
  EXPECT_EQ(y, (std::vector<int32_t>{4, 5, 0, 1, 4, 5, 0, 1, 14, 15, 10, 11, 14, 15, 10, 11}));
  for (const int64_t bad : {int64_t{3}, int64_t{-4}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_FALSE(gather_rows(2, 3, 8, 1, &bad, x.data(), y.data(), pool()));
  }
}

AXRUN_KERNEL_TESTS(Copy);

}  // namespace
}  // namespace axrun::runtime
