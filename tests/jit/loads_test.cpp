// Loads under guards that are decided when code is made, or not, and of lanes that lie apart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::Tensor;
using ir::loop::LoopProgram;
using jit::KernelCode;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// y[r, v] = x[r, step*v + offset], where that exists, else `otherwise`.
std::string shifted(const std::string& columns, const std::string& extent, int step, int offset,
                    const std::string& otherwise) {
  std::string text = R"(loops f(n: 1..100) {
  input x: f32[3, COLUMNS]
  output y: f32[3, COLUMNS]
  for r < 3 {
    vector v < EXTENT {
      y[r, v] = guarded(x[r, PLACE], logical_and(greater_equal(index(PLACE), 0:i64), less(index(PLACE), index(COLUMNS))), OTHERWISE:f32)
    }
  }
}
)";
  const std::string place = fmt::format("{}*v + {}", step, offset);
  text = replaced(text, "PLACE", place);
  text = replaced(text, "COLUMNS", columns);
  text = replaced(text, "EXTENT", extent);
  return replaced(text, "OTHERWISE", otherwise);
}

TEST(Loads, GuardsOfLanes) {
  for (const std::string otherwise : {"0", "-inf", "2.5"}) {
    for (const int offset : {-20, -3, -1, 0, 2, 17, 40}) {
      for (const int columns : {1, 7, 8, 9, 15, 16, 17, 24, 33, 40}) {
        const std::string size = std::to_string(columns);
        expect_as_interpreted(shifted(size, size, 1, offset, otherwise), {{{"n", 1}}});
      }
      std::vector<SizeValues> sizes;
      for (const int64_t n : {1, 7, 8, 15, 16, 17, 40, 100}) sizes.push_back({{"n", n}});
      expect_as_interpreted(shifted("n", "min(100, n)", 1, offset, otherwise), sizes);
    }
  }
}

TEST(Loads, LanesThatLieApart) {
  for (const int step : {2, 3, 4, 5}) {
    for (const std::string otherwise : {"0", "-inf"}) {
      for (const int offset : {-9, -1, 0, 1}) {
        for (const int columns : {5, 8, 16, 17, 37}) {
          const std::string size = std::to_string(columns);
          expect_as_interpreted(shifted(size, size, step, offset, otherwise), {{{"n", 1}}});
        }
        expect_as_interpreted(shifted("n", "min(100, n)", step, offset, otherwise),
                              {{{"n", 3}}, {{"n", 16}}, {{"n", 41}}});
      }
    }
  }
}

/// Neighbours with a step, which are made of the same vectors, up to the end of their buffer.
TEST(Loads, NeighboursWithAStep) {
  for (const int step : {2, 3, 4}) {
    for (const int columns : {3, 8, 16, 19, 40}) {
      std::string text = R"(loops f() {
  input x: f32[5, WIDTH]
  output y: f32[5, COLUMNS]
  for r < 5 {
    vector v < COLUMNS {
      y[r, v] = add(mul(x[r, STEP*v], x[r, STEP*v + 1]), mul(x[4 - r, STEP*v + 2], x[r, STEP*v + 3]))
    }
  }
}
)";
      text = replaced(text, "WIDTH", std::to_string((columns - 1) * step + 4));
      text = replaced(text, "COLUMNS", std::to_string(columns));
      expect_as_interpreted(replaced(text, "STEP", std::to_string(step)), {{}});
    }
  }
}

/// More rows than there are registers, read again and again.
TEST(Loads, MoreThanRegistersHold) {
  expect_as_interpreted(R"(loops f() {
  input x: f32[40, 16]
  output y: f32[40, 16]
  allocate t: f32[8, 16] in registers
  unrolled a < 8 { vector v < 16 { t[a, v] = x[a, v] } }
  unrolled k < 3 {
    unrolled b < 40 {
      unrolled c < 2 {
        vector w < 16 { t[(b + c) mod 8, w] += mul(x[b, w], x[39 - b, w]) }
      }
    }
  }
  unrolled d < 40 { vector u < 16 { y[d, u] = t[d mod 8, u] } }
}
)",
                        {{}});
}

/// Many masks that are made when code runs: they are spilled, also between two uses that each take their bits
/// apart.
TEST(Loads, SpilledMasksOfLanesThatLieApart) {
  const auto tile = [](int rows, int first) {
    const std::string text = R"(
    allocate tileFIRST: f32[ROWS, 16] in registers
    unrolled i < ROWS {
      vector j < 6 { tileFIRST[i, j] = -inf:f32 }
    }
    unrolled d < 5 {
      unrolled i < ROWS {
        unrolled h < 2 {
          unrolled w < 5 {
            vector j < 6 { tileFIRST[i, j] max= guarded(x[d + 2*o - 2, i + 2*h + FIRST - 4, 2*j + 2*w], logical_and(logical_and(logical_and(logical_and(greater_equal(index(d + 2*o - 2), 0:i64), less(index(d + 2*o - 2), 10:i64)), greater_equal(index(i + 2*h + FIRST - 4), 0:i64)), less(index(i + 2*h + FIRST - 4), 12:i64)), less(index(2*j + 2*w), 15:i64)), -inf:f32) }
          }
        }
      }
    }
    unrolled i < ROWS {
      vector j < 6 { y[o, i + FIRST, j] = tileFIRST[i, j] }
    })";
    return replaced(replaced(text, "ROWS", std::to_string(rows)), "FIRST", std::to_string(first));
  };
  expect_as_interpreted(R"(loops f() {
  input x: f32[10, 12, 15]
  output y: f32[5, 15, 6]
  for o < 5 {)" + tile(8, 0) +
                            tile(7, 8) +
                            R"(
  }
}
)",
                        {{}});
}

/// The same place is read under guards of different taps: each has zeros of its own, and one without a guard
/// none.
TEST(Loads, WhatAGuardLeavesOutIsNotShared) {
  expect_as_interpreted(R"(loops f() {
  input x: f32[40]
  output y: f32[40]
  output z: f32[40]
  output w: f32[40]
  vector v < 40 {
    y[v] = guarded(x[v], less(index(v), 11:i64), 0:f32)
    z[v] = guarded(x[v], less(index(v), 11:i64), 1:f32)
    w[v] = add(x[v], guarded(x[v], greater(index(v), 3:i64), 0:f32))
  }
}
)",
                        {{}});
}

/// One element for all lanes, where only some may read it.
TEST(Loads, OneElementUnderAGuardOfLanes) {
  for (const std::string guard :
       {"less(index(v + r), 5:i64)", "greater(index(v + r), 4:i64)", "less(index(v + r), index(n))",
        "greater(index(2*v + r), index(n))", "greater_equal(index(v), index(n - r))"}) {
    for (const std::string kind : {"unrolled", "for"}) {
      std::string text = R"(loops f(n: 1..20) {
  input x: f32[3]
  output y: f32[21]
  KIND r < 3 {
    vector v < 7 { y[7*r + v] = guarded(x[r], GUARD, 9:f32) }
  }
}
)";
      text = replaced(replaced(text, "GUARD", guard), "KIND", kind);
      expect_as_interpreted(text, {{{"n", 1}}, {{"n", 4}}, {{"n", 6}}, {{"n", 20}}});
    }
  }
}

/// A guard that does not hold for an unrolled row: nothing is read, and what stands for it is used.
TEST(Loads, RowsBeyondTheEnds) {
  expect_as_interpreted(R"(loops f() {
  input x: f32[4, 20]
  output y: f32[4, 20]
  for o < 1 {
    unrolled r < 4 {
      vector v < 20 { y[r, v] = -inf:f32 }
      unrolled k < 5 {
        vector w < 20 {
          y[r, w] max= guarded(x[r + k - 2, w], logical_and(greater_equal(index(r + k - 2), 0:i64), less(index(r + k - 2), 4:i64)), -inf:f32)
        }
      }
    }
  }
}
)",
                        {{}});
}

/// Sums in registers beyond the last column are nobody's: they may become anything, but must not be stored.
/// Where lanes that a short loop leaves alone are read by a longer one, they must stay.
TEST(Loads, LanesBeyondTheLastOneInRegisters) {
  for (const std::string longer : {"11", "16"}) {
    std::string text = R"(loops f() {
  input x: f32[16]
  output y: f32[16]
  allocate t: f32[16] in registers
  vector a < LONGER { t[a] = x[a] }
  for k < 3 {
    vector b < 11 { t[b] += mul(x[b], x[k]) }
    vector c < 11 { t[c] max= x[c] }
  }
  vector z < 16 { y[z] = 1:f32 }
  vector d < LONGER { y[d] = t[d] }
}
)";
    expect_as_interpreted(replaced(text, "LONGER", longer), {{}});
  }
  // The extent changes while the buffer lives.
  expect_as_interpreted(R"(loops f(n: 1..40) {
  input x: f32[16]
  output y: f32[16]
  allocate t: f32[16] in registers
  vector a < 16 { t[a] = x[a] }
  for k < 3 {
    vector b < min(16, 16 - 5*k) { t[b] += x[b] }
  }
  vector d < 16 { y[d] = t[d] }
}
)",
                        {{{"n", 1}}});
}

/// Lanes that go on in the next row, where rows lie one after the other.
TEST(Loads, DigitsOfAnIndexAreJoined) {
  expect_as_interpreted(R"(loops f(n: 1..9) {
  input x: f32[n, 5, 4]
  output y: f32[n, 20]
  for i < n {
    vector v < 20 { y[i, v] = add(x[i, v / 4, v mod 4], x[n - 1 - i, v / 4, v mod 4]) }
  }
}
)",
                        {{{"n", 1}}, {{"n", 3}}});
}

/// One operand at two places, one of which moves with the loop and one does not.
TEST(Loads, ElementsOfOneOperandMoveOnTheirOwn) {
  expect_as_interpreted(R"(loops f() {
  input x: f32[16]
  output y: f32[3, 16]
  for k < 3 {
    vector v < 16 { y[k, v] = mul(x[v], x[k]) }
  }
}
)",
                        {{}});
}

/// Infinities and NaNs pass through shuffles and masks as they are.
TEST(Loads, SpecialValuesLieApart) {
  const LoopProgram program = ir::loop::parse(shifted("70", "70", 2, -3, "0"));
  Tensor x = small_integers({3, 70}, 1);
  for (int64_t i = 0; i < x.size(); i += 3) x.as<float>()[i] = std::nanf("");
  for (int64_t i = 1; i < x.size(); i += 3) x.as<float>()[i] = -std::numeric_limits<float>::infinity();
  const ir::loop::Outcome want = interpret(program, {{"n", 1}}, {x});
  ASSERT_FALSE(want.mistake) << want.text;
  for (const jit::Target& target : code_targets()) {
    const auto got = run_code(KernelCode::compile(program, target, {}), {{"n", 1}}, {x});
    for (int64_t i = 0; i < 3 * 70; ++i) {
      const double a = got[0].get_real(i), b = want.outputs[0].get_real(i);
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << ": " << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace axrun::tests
