#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class BlockQuantized : public KernelTest {
 protected:
  std::vector<uint8_t> bytes(int64_t count) {
    std::vector<uint8_t> result(static_cast<size_t>(count));
    for (uint8_t& value : result) value = static_cast<uint8_t>(random_());
    return result;
  }
  static int field(int bits, const uint8_t* from, int64_t at) {
    return (from[at * bits / 8] >> (at * bits % 8)) & ((1 << bits) - 1);
  }
};

TEST_P(BlockQuantized, GemmMatchesItsDefinition) {
  for (int repeat = 0; repeat < 150; ++repeat) {
    BlockQuantizedGemm g;
    BlockQuantizedMatrix& w = g.w;
    w.bits = pick({2, 4, 4, 8}), w.block = pick<int64_t>({16, 32, 64, 256, 1024});
    w.n = integer(0, 90), w.k = integer(1, chance(20) ? 1300 : 400),
    g.m = chance(60) ? integer(0, 9) : integer(10, 40);
    const int64_t blocks = (w.k + w.block - 1) / w.block, row_bytes = blocks * w.block * w.bits / 8,
                  zeros_bytes = (blocks * w.bits + 7) / 8;
    // Fields need no alignment.
    const std::vector<uint8_t> fields = bytes(w.n * row_bytes + 1), packed_zeros = bytes(w.n * zeros_bytes);
    // Sums are held to one bound, so that those of bytes, and of many, are of smaller numbers.
    const float unit = (w.bits == 8 ? 1.0f / 16 : 1.0f) * (w.k > 400 ? 0.25f : 1.0f);
    const std::vector<float> scales = numbers(w.n * blocks, 0.01f * unit, 0.1f * unit),
                             zeros = numbers(w.n * blocks, 0, 3), a = numbers(g.m * w.k), bias = numbers(w.n);
    w.fields = fields.data() + 1, w.scales = scales.data();
    const int zero_kind = static_cast<int>(integer(0, 2));
    if (zero_kind == 1) w.zeros = zeros.data();
    if (zero_kind == 2) w.packed_zeros = packed_zeros.data();
    if (chance(50)) g.bias = bias.data();
    std::vector<float> c(static_cast<size_t>(g.m * w.n)), other(c.size());
    g.a = a.data(), g.c = c.data();
    Buffer scratch(block_quantized_scratch_bytes(g, 1)),
        scratch_of_three(block_quantized_scratch_bytes(g, 3));
    block_quantized_gemm(g, scratch.data(), *one_);
    g.c = other.data();
    block_quantized_gemm(g, scratch_of_three.data(), *three_);
    ASSERT_EQ(c, other) << "seed " << test_seed();
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < w.n; ++j) {
        double sum = g.bias == nullptr ? 0 : double{bias[static_cast<size_t>(j)]};
        for (int64_t k = 0; k < w.k; ++k) {
          const int64_t block = k / w.block;
          const auto at = static_cast<size_t>(j * blocks + block);
          double zero = 1 << (w.bits - 1);
          if (zero_kind == 1) zero = double{zeros[at]};
          if (zero_kind == 2) zero = field(w.bits, packed_zeros.data() + j * zeros_bytes, block);
          sum += (field(w.bits, w.fields + j * row_bytes, k) - zero) * double{scales[at]} *
                 double{a[static_cast<size_t>(i * w.k + k)]};
        }
        ASSERT_TRUE(near(sum, double{c[static_cast<size_t>(i * w.n + j)]}, 2e-5))
            << sum << " " << c[static_cast<size_t>(i * w.n + j)] << " bits " << w.bits << " block " << w.block
            << " " << g.m << "x" << w.n << "x" << w.k << " at " << i << "," << j << " seed " << test_seed();
      }
    }
  }
}

AXRUN_KERNEL_TESTS(BlockQuantized);

}  // namespace
}  // namespace axrun::runtime
