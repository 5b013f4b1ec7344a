// Buffers in registers that are written by rows and read by columns.
#include <gtest/gtest.h>

#include <cstring>

#include "ir/error.h"
#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::Tensor;
using ir::loop::LoopProgram;
using jit::KernelCode;

using Sizes = std::map<std::string, int64_t>;

std::string with_side(std::string text, int64_t side) {
  for (size_t at = text.find("SIDE"); at != std::string::npos; at = text.find("SIDE"))
    text.replace(at, 4, std::to_string(side));
  return text;
}

/// y = transpose(x), in tiles of `side` rows and columns.
std::string in_tiles(int64_t side) {
  const std::string text = R"(loops transpose(m: 1..70, n: 1..70) {
  input x: f32[m, n]
  output y: f32[n, m]
  for ti < (n + SIDE - 1) / SIDE {
    for tj < (m + SIDE - 1) / SIDE {
      allocate tile: f32[SIDE, SIDE] in registers
      unrolled j < min(SIDE, m - SIDE*tj) {
        vector i < min(SIDE, n - SIDE*ti) {
          tile[j, i] = x[SIDE*tj + j, SIDE*ti + i]
        }
      }
      unrolled i2 < min(SIDE, n - SIDE*ti) {
        vector j2 < min(SIDE, m - SIDE*tj) {
          y[SIDE*ti + i2, SIDE*tj + j2] = tile[j2, i2]
        }
      }
    }
  }
}
)";
  return with_side(text, side);
}

/// Every element has its own bits; some of them are those of NaNs, quiet and signalling, and infinities.
Tensor patterns(int64_t rows, int64_t columns) {
  Tensor x = Tensor::allocate(ir::ElementType::f32, {rows, columns});
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto number = static_cast<uint32_t>(i);
    const uint32_t kinds[] = {0x3f800000U, 0x7f800001U, 0xffc00000U, 0x00000001U, 0x7f800000U};
    const uint32_t bits = kinds[i % 5] + (i % 5 == 4 ? 0 : number);
    std::memcpy(x.as<float>() + i, &bits, sizeof(bits));
  }
  return x;
}

uint32_t bits_at(const Tensor& tensor, int64_t at) {
  uint32_t bits;
  std::memcpy(&bits, tensor.as<float>() + at, sizeof(bits));
  return bits;
}

TEST(Transpose, MovesBitsInWholeAndPartialTiles) {
  for (const jit::Target& target : code_targets()) {
    for (const int64_t side : {int64_t{2}, int64_t{8}, int64_t{target.lanes(4)}}) {
      const auto code = KernelCode::compile(ir::loop::parse(in_tiles(side)), target, {});
      for (const int64_t m : {1, 3, 8, 15, 16, 17, 32, 69}) {
        for (const int64_t n : {1, 2, 7, 8, 16, 31, 48, 70}) {
          const Tensor x = patterns(m, n);
          const Tensor y = run_code(code, {{"m", m}, {"n", n}}, {x})[0];
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < m; ++j) {
              ASSERT_EQ(bits_at(y, i * m + j), bits_at(x, j * n + i))
                  << target.name << ", " << side << ": " << m << " x " << n << " at " << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

/// The code and the interpreter of loop programs, at small integers.
void expect_as_interpreted(const std::string& text, const jit::Target& target, int64_t m, int64_t n) {
  const LoopProgram program = ir::loop::parse(text);
  const Sizes sizes = {{"m", m}, {"n", n}};
  const Tensor x = small_integers({m, n}, 3);
  const ir::loop::Outcome want = interpret(program, sizes, {x});
  ASSERT_FALSE(want.mistake) << want.text << text;
  const std::vector<Tensor> got = run_code(KernelCode::compile(program, target, {}), sizes, {x});
  for (size_t k = 0; k < got.size(); ++k) {
    for (int64_t i = 0; i < got[k].size(); ++i)
      ASSERT_EQ(got[k].get_real(i), want.outputs[k].get_real(i)) << target.name << '\n' << text;
  }
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// What the code does is what the program says, not what it was meant to compute.
TEST(Transpose, ChangesOfTheProgramAreChangesOfTheCode) {
  const std::pair<const char*, const char*> changes[] = {
      {"= tile[j2, i2]", "= tile[i2, j2]"},
      {"= tile[j2, i2]", "= tile[j2, 7 - i2]"},
      {"= tile[j2, i2]", "= tile[j2, 0]"},
      {"= tile[j2, i2]", "= add(tile[j2, i2], tile[j2, 5])"},
      {"= tile[j2, i2]", "= sub(tile[j2, i2], tile[i2, j2])"},
      {"tile[j, i] =", "tile[7 - j, i] ="},
      {"= x[8*tj + j, 8*ti + i]", "= x[8*tj + 7 - j, 8*ti + i]"},
      {"= x[8*tj + j, 8*ti + i]", "= neg(x[8*tj + j, 8*ti + 7 - i])"},
      {"y[8*ti + i2, 8*tj + j2]", "y[8*ti + 7 - i2, 8*tj + j2]"},
  };
  for (const jit::Target& target : code_targets()) {
    for (const auto& [from, to] : changes)
      expect_as_interpreted(changed(in_tiles(8), from, to), target, 16, 24);
  }
}

/// Rows that are computed in several steps; columns that are read in two loops; two buffers at once.
TEST(Transpose, BetweenTheLastWriteOfRowsAndTheFirstReadOfColumns) {
  const std::string text = R"(loops transpose(m: 1..70, n: 1..70) {
  input x: f32[m, n]
  output y: f32[n, m]
  output z: f32[n, m]
  for ti < (n + 7) / 8 {
    for tj < (m + 7) / 8 {
      allocate tile: f32[8, 8] in registers
      allocate other: f32[8, 8] in registers
      unrolled j < 8 {
        vector i < min(8, n - 8*ti) {
          tile[j, i] = x[min(8*tj + j, m - 1), 8*ti + i]
          other[j, i] = 1:f32
        }
      }
      for p < 3 {
        unrolled j4 < min(8, m - 8*tj) {
          vector i4 < min(8, n - 8*ti) {
            tile[j4, i4] += x[8*tj + j4, 8*ti + i4]
          }
        }
      }
      unrolled i2 < min(8, n - 8*ti) {
        vector j2 < min(8, m - 8*tj) {
          y[8*ti + i2, 8*tj + j2] = add(tile[j2, i2], other[j2, i2])
        }
      }
      unrolled i3 < min(8, n - 8*ti) {
        vector j3 < min(8, m - 8*tj) {
          z[8*ti + i3, 8*tj + j3] = mul(tile[j3, i3], other[j3, i3])
        }
      }
    }
  }
}
)";
  for (const jit::Target& target : code_targets()) {
    for (const int64_t m : {1, 8, 13}) {
      for (const int64_t n : {5, 16}) expect_as_interpreted(text, target, m, n);
    }
  }
}

TEST(Transpose, TilesOfFewRowsOrColumns) {
  const std::string text = R"(loops transpose(m: 1..70, n: 1..70) {
  input x: f32[m, n]
  output y: f32[n, m]
  for ti < (n + 7) / 8 {
    allocate tile: f32[3, 8] in registers
    unrolled j < min(3, m) {
      vector i < min(8, n - 8*ti) {
        tile[j, i] = x[j, 8*ti + i]
      }
    }
    unrolled i2 < min(8, n - 8*ti) {
      vector j2 < min(3, m) {
        y[8*ti + i2, j2] = tile[j2, i2]
      }
    }
  }
}
)";
  const std::string narrow = R"(loops transpose(m: 1..70, n: 1..70) {
  input x: f32[m, n]
  output y: f32[n, m]
  for tj < (m + 7) / 8 {
    allocate tile: f32[8, 3] in registers
    unrolled j < min(8, m - 8*tj) {
      vector i < min(3, n) {
        tile[j, i] = x[8*tj + j, i]
      }
    }
    unrolled i2 < min(3, n) {
      vector j2 < min(8, m - 8*tj) {
        y[i2, 8*tj + j2] = tile[j2, i2]
      }
    }
  }
}
)";
  for (const jit::Target& target : code_targets()) {
    for (const int64_t few : {1, 2, 3}) {
      for (const int64_t many : {1, 7, 8, 25}) {
        expect_as_interpreted(text, target, few, many);
        expect_as_interpreted(narrow, target, many, few);
      }
    }
  }
}

TEST(Transpose, OfLiteralSizes) {
  for (const jit::Target& target : code_targets()) {
    for (int64_t few = 1; few <= 17; ++few) {
      for (const int64_t many : {2, 16, 21}) {
        for (const auto& [m, n] : {std::pair{few, many}, std::pair{many, few}}) {
          const std::string sizes = "m: " + std::to_string(m) + ".." + std::to_string(m) +
                                    ", n: " + std::to_string(n) + ".." + std::to_string(n);
          const std::string text = changed(in_tiles(target.lanes(4)), "m: 1..70, n: 1..70", sizes);
          expect_as_interpreted(text, target, m, n);
        }
      }
    }
  }
}

/// As search/ writes it: groups of tiles, spread over workers.
TEST(Transpose, InGroupsOfTiles) {
  const std::string text = R"(loops transpose(m: 1..300, n: 1..300) {
  input x: f32[m, n]
  output y: f32[n, m]
  parallel g < (n + 4*SIDE - 1) / (4*SIDE) {
    for tj < (m + SIDE - 1) / SIDE {
      for q < min(-4*g + (n + SIDE - 1) / SIDE, 4) {
        allocate tile: f32[SIDE, SIDE] in registers
        unrolled j < min(SIDE, m - SIDE*tj) {
          vector i < min(SIDE, n - 4*SIDE*g - SIDE*q) {
            tile[j, i] = neg(x[SIDE*tj + j, 4*SIDE*g + SIDE*q + i])
          }
        }
        unrolled i2 < min(SIDE, n - 4*SIDE*g - SIDE*q) {
          vector j2 < min(SIDE, m - SIDE*tj) {
            y[4*SIDE*g + SIDE*q + i2, SIDE*tj + j2] = add(tile[j2, i2], 1:f32)
          }
        }
      }
    }
  }
}
)";
  for (const jit::Target& target : code_targets()) {
    for (const int64_t m : {5, 16, 40}) {
      for (const int64_t n : {1, 64, 150, 257})
        expect_as_interpreted(with_side(text, target.lanes(4)), target, m, n);
    }
  }
}

TEST(Transpose, WhatIsNoTranspositionIsRefused) {
  const std::string text = in_tiles(8);
  const std::string again = "unrolled j5 < 8 {\n vector i5 < 8 {\n tile[j5, i5] = 0:f32\n }\n }\n";
  const std::string once_more = "unrolled i6 < 8 {\n vector j6 < 8 {\n y[i6, j6] = tile[j6, i6]\n }\n }\n";
  const std::string refused[] = {
      changed(text, "tile[j, i] = ", "tile[i, j] = "),        // columns are written
      changed(text, "= tile[j2, i2]", "= tile[7 - j2, i2]"),  // lanes from the last row to the first
      changed(text, "= tile[j2, i2]", "= tile[j2, j2]"),      // a diagonal
      in_tiles(32),                                           // more rows than lanes
      changed(text, "unrolled i2", once_more + again + "unrolled i2"),  // written after it was read
  };
  for (const jit::Target& target : code_targets()) {
    for (const std::string& one : refused)
      EXPECT_THROW(KernelCode::compile(ir::loop::parse(one), target, {}), Error) << one;
  }
}

}  // namespace
}  // namespace axrun::tests
