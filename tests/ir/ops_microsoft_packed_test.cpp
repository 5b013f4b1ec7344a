// Tables and matrices in packed bytes. Expected numbers come from plain loops, format by format in the order
// in which ggml-quants and mlas_q4 walk through a block.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "ir/error.h"
#include "ir/ops/packed_grids.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

using Bytes = std::vector<uint8_t>;

NodeUnderTest gather(int64_t format, int64_t columns, const Shape& table, const Bytes& data,
                     const std::vector<int64_t>& indices, int64_t output = 1) {
  Tensor bytes = Tensor::allocate(ElementType::u8, table);
  for (int64_t k = 0; k < bytes.size(); ++k) bytes.set_int(k, data.at(static_cast<size_t>(k)));
  return microsoft("GatherPacked")
      .input(bytes)
      .input(ints({static_cast<int64_t>(indices.size())}, indices))
      .set("packed_type", format)
      .set("K", columns)
      .set("output_dtype", output);
}

/// Two blocks: the second scale is negative, its other bytes are the first ones turned about.
Bytes two_blocks(size_t length, const std::vector<size_t>& scales) {
  Bytes data(2 * length);
  for (size_t k = 0; k < data.size(); ++k)
    data[k] = static_cast<uint8_t>(k < length ? 37 * k + 11 : 255 - 29 * k);
  for (size_t at : scales) {
    data[at] = 0x00, data[at + 1] = 0x3C;                    // 1
    data[length + at] = 0x00, data[length + at + 1] = 0xB8;  // -1/2
  }
  return data;
}

/// `decode` answers the numbers of a block for a scale of 1 (and of the minima).
void expect_decoded(int64_t format, size_t length, const std::vector<size_t>& scales,
                    const std::function<Reals(const uint8_t*)>& decode) {
  const Bytes data = two_blocks(length, scales);
  Reals want = decode(data.data());
  const auto elements = static_cast<int64_t>(want.size());
  for (double value : decode(data.data() + length)) want.push_back(-value / 2);
  const Shape table = {1, static_cast<int64_t>(2 * length)};
  EXPECT_EQ(to_reals(gather(format, 2 * elements, table, data, {0}).run()), want) << format;
}

TEST(GatherPacked, BlocksOf32) {
  expect_decoded(2, 18, {0}, [](const uint8_t* block) {
    Reals y(32);
    for (size_t j = 0; j < 16; ++j) y[j] = (block[2 + j] & 15) - 8, y[j + 16] = (block[2 + j] >> 4) - 8;
    return y;
  });
  expect_decoded(6, 22, {0}, [](const uint8_t* block) {
    uint32_t high;
    std::memcpy(&high, block + 2, 4);
    Reals y(32);
    for (size_t j = 0; j < 16; ++j) {
      y[j] = static_cast<double>((block[6 + j] & 15) | (high >> j & 1) << 4) - 16;
      y[j + 16] = static_cast<double>((block[6 + j] >> 4) | (high >> (j + 16) & 1) << 4) - 16;
    }
    return y;
  });
  expect_decoded(8, 34, {0}, [](const uint8_t* block) {
    Reals y(32);
    for (size_t j = 0; j < 32; ++j) y[j] = static_cast<int8_t>(block[2 + j]);
    return y;
  });
}

constexpr std::array<int, 16> non_linear = {-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

TEST(GatherPacked, NibblesThatAreNotLinear) {
  expect_decoded(20, 18, {0}, [](const uint8_t* block) {
    Reals y(32);
    for (size_t j = 0; j < 16; ++j)
      y[j] = non_linear[block[2 + j] & 15], y[j + 16] = non_linear[block[2 + j] >> 4];
    return y;
  });
  expect_decoded(23, 136, {0}, [](const uint8_t* block) {
    const int high = block[2] | block[3] << 8;
    Reals y;
    for (size_t g = 0; g < 8; ++g) {
      const int low = block[4 + g / 2] >> 4 * (g % 2) & 15;
      const int scale = (low | (high >> 2 * g & 3) << 4) - 32;
      for (size_t j = 0; j < 32; ++j)
        y.push_back(scale * non_linear[block[8 + 16 * g + j % 16] >> (j < 16 ? 0 : 4) & 15]);
    }
    return y;
  });
}

TEST(GatherPacked, BlocksOf256) {
  expect_decoded(13, 176, {0, 2}, [](const uint8_t* block) {
    const uint8_t *scales = block + 4, *high = block + 16, *low = block + 48;
    Reals y;
    for (size_t g = 0; g < 8; ++g) {
      int scale, least;
      if (g < 4) {
        scale = scales[g] & 63, least = scales[g + 4] & 63;
      } else {
        scale = (scales[g + 4] & 15) | scales[g - 4] >> 6 << 4;
        least = scales[g + 4] >> 4 | scales[g] >> 6 << 4;
      }
      for (size_t j = 0; j < 32; ++j) {
        y.push_back(scale * ((low[32 * (g / 2) + j] >> 4 * (g % 2) & 15) + 16 * (high[j] >> g & 1)) - least);
      }
    }
    return y;
  });
  expect_decoded(14, 210, {208}, [](const uint8_t* block) {
    Reals y(256);
    for (size_t half = 0; half < 2; ++half) {
      const uint8_t *low = block + 64 * half, *high = block + 128 + 32 * half,
                    *scales = block + 192 + 8 * half;
      for (size_t j = 0; j < 32; ++j) {
        for (size_t q = 0; q < 4; ++q) {
          const int nibble = low[j + 32 * (q % 2)] >> 4 * (q / 2) & 15;
          const int number = (nibble | (high[j] >> 2 * q & 3) << 4) - 32;
          y[128 * half + 32 * q + j] = static_cast<int8_t>(scales[j / 16 + 2 * q]) * number;
        }
      }
    }
    return y;
  });
}

TEST(GatherPacked, BlocksOf64) {
  expect_decoded(42, 18, {0}, [](const uint8_t* block) {
    Reals y;
    for (size_t j = 0; j < 64; ++j) y.push_back((block[2 + j / 4] >> 2 * (j % 4) & 3) - 1);
    return y;
  });
}

constexpr std::array<int, 4> levels_of_2 = {8, 25, 43, 0};

int of_iq2(uint16_t point, size_t coordinate) { return levels_of_2[point >> 2 * coordinate & 3]; }

/// The sign of number `coordinate` of eight, an even number of which is negative.
int sign(uint32_t seven, size_t coordinate) {
  const uint32_t eighth = static_cast<uint32_t>(__builtin_popcount(seven) % 2);
  return ((seven | eighth << 7) >> coordinate & 1) != 0 ? -1 : 1;
}

TEST(GatherPacked, GridsOfTwoBits) {
  expect_decoded(16, 66, {0}, [](const uint8_t* block) {
    Reals y;
    for (size_t g = 0; g < 8; ++g) {
      const uint8_t* points = block + 2 + 8 * g;
      uint32_t signs;
      std::memcpy(&signs, points + 4, 4);
      for (size_t j = 0; j < 32; ++j) {
        const double scale = 0.25 * (0.5 + (signs >> 28));
        y.push_back(scale * of_iq2(iq2_xxs_grid[points[j / 8]], j % 8) *
                    sign(signs >> 7 * (j / 8) & 127, j % 8));
      }
    }
    return y;
  });
  expect_decoded(17, 74, {0}, [](const uint8_t* block) {
    Reals y;
    for (size_t j = 0; j < 256; ++j) {
      const uint32_t point = block[2 + j / 8 * 2] | static_cast<uint32_t>(block[3 + j / 8 * 2]) << 8;
      const double scale = 0.25 * (0.5 + (block[66 + j / 32] >> (j % 32 < 16 ? 0 : 4) & 15));
      y.push_back(scale * of_iq2(iq2_xs_grid[point & 511], j % 8) * sign(point >> 9, j % 8));
    }
    return y;
  });
  expect_decoded(22, 82, {0}, [](const uint8_t* block) {
    Reals y;
    for (size_t j = 0; j < 256; ++j) {
      const uint32_t high = block[66 + j / 32] >> 2 * (j % 32 / 8) & 3U;
      const double scale = 0.25 * (0.5 + (block[74 + j / 32] >> (j % 32 < 16 ? 0 : 4) & 15));
      const double number = scale * of_iq2(iq2_s_grid[block[2 + j / 8] | high << 8], j % 8);
      y.push_back((block[34 + j / 8] >> j % 8 & 1) != 0 ? -number : number);
    }
    return y;
  });
}

TEST(GatherPacked, GridOfThreeBits) {
  expect_decoded(18, 98, {0}, [](const uint8_t* block) {
    Reals y;
    for (size_t j = 0; j < 256; ++j) {
      uint32_t signs;
      std::memcpy(&signs, block + 66 + j / 32 * 4, 4);
      constexpr std::array<int, 8> levels = {4, 12, 20, 28, 36, 44, 52, 62};
      const int level = levels[iq3_xxs_grid[block[2 + j / 4]] >> 3 * (j % 4) & 7];
      y.push_back(0.5 * (0.5 + (signs >> 28)) * level * sign(signs >> 7 * (j % 32 / 8) & 127, j % 8));
    }
    return y;
  });
}

TEST(GatherPacked, PlainFloats) {
  const Reals values = {0,      1.5,
                        -0.1F,  std::numeric_limits<float>::denorm_min(),
                        -3e38F, std::numeric_limits<double>::infinity()};
  Bytes singles(24), brains;
  for (size_t k = 0; k < 6; ++k) {
    const auto value = static_cast<float>(values[k]);
    std::memcpy(&singles[4 * k], &value, 4);
    brains.insert(brains.end(), {singles[4 * k + 2], singles[4 * k + 3]});
  }
  EXPECT_EQ(to_reals(gather(0, 6, {1, 24}, singles, {0}).run()), values);
  const Reals cut = to_reals(gather(30, 6, {1, 12}, brains, {0}).run());
  EXPECT_EQ(cut[1], 1.5);
  EXPECT_EQ(cut[2], -0.099609375);
  EXPECT_EQ(cut[5], std::numeric_limits<double>::infinity());
  // 1, the largest, the least denormal one, -0, -infinity, NaN.
  const Bytes halves = {0x00, 0x3C, 0xFF, 0x7B, 0x01, 0x00, 0x00, 0x80, 0x00, 0xFC, 0x01, 0x7E};
  const Reals decoded = to_reals(gather(1, 6, {1, 12}, halves, {0}).run());
  EXPECT_EQ(Reals(decoded.begin(), decoded.begin() + 5),
            (Reals{1, 65504, std::ldexp(1, -24), 0, -std::numeric_limits<double>::infinity()}));
  EXPECT_TRUE(std::signbit(decoded[3]));
  EXPECT_TRUE(std::isnan(decoded[5]));
}

TEST(GatherPacked, RowsOutOfRangeAreTheFirst) {
  const Bytes halves = {0x00, 0x3C, 0x00, 0x40, 0x00, 0x42};
  const Tensor result = gather(1, 1, {3, 2}, halves, {2, 1, 0, -1, 3, int64_t{1} << 40}, 10).run();
  EXPECT_EQ(result.type(), ElementType::f16);
  EXPECT_EQ(result.shape(), (Shape{6, 1}));
  EXPECT_EQ(to_reals(result), (Reals{3, 2, 1, 1, 1, 1}));
}

TEST(GatherPacked, AnyNumberOfRowsIsGathered) {
  const Dim count = Dim::symbol("count");
  EXPECT_EQ(gather(2, 64, {1, 36}, Bytes(36), {0}).output_dims(1, {count}), (Dims{count, Dim(64)}));
  EXPECT_EQ(gather(2, 64, {1, 36}, Bytes(36), {}).run().shape(), (Shape{0, 64}));
}

TEST(GatherPacked, RefusesOtherTables) {
  const Bytes data(64);
  EXPECT_THROW(gather(2, 32, {1, 17}, data, {0}).run(), Error);
  EXPECT_THROW(gather(2, 33, {1, 18}, data, {0}).run(), Error);
  EXPECT_THROW(gather(2, 0, {1, 18}, data, {0}).run(), Error);
  EXPECT_THROW(gather(2, 32, {18}, data, {0}).run(), Error);
  EXPECT_THROW(gather(10, 256, {1, 84}, Bytes(84), {0}).run(), Error);
  EXPECT_THROW(gather(2, 32, {1, 18}, data, {0}, 7).run(), Error);
  EXPECT_THROW(gather(1, 1, {0, 2}, data, {0}).run(), Error);
}

/// Columns of [K, N] one after the other; blocks of scale k + 1/2 with all bytes different.
TEST(MatMulFpQ4, IsTheProductWithTheUnpackedMatrix) {
  const std::array<std::pair<int64_t, size_t>, 4> kinds = {{{0, 32}, {1, 32}, {2, 64}, {4, 128}}};
  for (const auto& [kind, block] : kinds) {
    const size_t depth = 70, columns = 3, blocks = (depth + block - 1) / block;
    const size_t head = kind == 1 ? 5 : 4, size = head + block / 2;
    Bytes data(columns * blocks * size);
    for (size_t k = 0; k < data.size(); ++k) data[k] = static_cast<uint8_t>(53 * k + 7);
    Reals want(2 * columns, 0);
    const Tensor a = quarters({2, 70});
    for (size_t n = 0; n < columns; ++n) {
      for (size_t kb = 0; kb < blocks; ++kb) {
        uint8_t* start = &data[(n * blocks + kb) * size];
        const float scale = static_cast<float>(n + kb) + 0.5F;
        std::memcpy(start, &scale, 4);
        if (kind == 1) start[4] = static_cast<uint8_t>(kb + 3);
        const int zero = kind == 1 ? start[4] : 8;
        const uint8_t* numbers = start + head;
        for (size_t first = 0; first < block; first += 32, numbers += 16) {
          for (size_t j = 0; j < 32; ++j) {
            const size_t k = kb * block + first + j;
            if (k >= depth) continue;
            const int number = (j < 16 ? numbers[j] & 15 : numbers[j - 16] >> 4) - zero;
            for (size_t m = 0; m < 2; ++m)
              want[m * columns + n] += a.get_real(static_cast<int64_t>(m * depth + k)) * number * scale;
          }
        }
      }
    }
    Tensor bytes = Tensor::allocate(ElementType::u8, {static_cast<int64_t>(data.size())});
    for (size_t k = 0; k < data.size(); ++k) bytes.set_int(static_cast<int64_t>(k), data[k]);
    const auto product = [&](const Tensor& blob, const std::vector<int64_t>& shape) {
      return microsoft("MatMulFpQ4")
          .input(a)
          .input(blob)
          .input(ints({static_cast<int64_t>(shape.size())}, shape))
          .set("blk_quant_type", kind)
          .run();
    };
    const Tensor result = product(bytes, {70, 3});
    EXPECT_EQ(result.shape(), (Shape{2, 3}));
    EXPECT_EQ(to_reals(result), want) << kind;
    EXPECT_THROW(product(bytes, {70, 4}), Error);
    EXPECT_THROW(product(bytes, {-70, 3}), Error);
    EXPECT_THROW(product(bytes, {70}), Error);
    EXPECT_THROW(product(quarters({4}), {70, 3}), Error);
  }
}

}  // namespace
}  // namespace axrun::ir::test
