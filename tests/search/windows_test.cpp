// Reductions over windows as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/evaluate.h"
#include "tests/search/machine_code.h"
#include "tests/search/window_cases.h"

namespace axrun::tests {
namespace {

using ir::Tensor;

class EveryWindow : public testing::TestWithParam<Case> {};

TEST_P(EveryWindow, IsComputedAsTheExpressionSays) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Windows, EveryWindow, testing::ValuesIn(window_cases()),
                         [](const auto& info) { return info.param.name; });

/// One with weights and one without in full, as a reader would write them.
TEST(Windows, AreWrittenInTiles) {
  Windows windows;
  windows.channels = {4};
  windows.input = {3, 20};
  windows.kernel = {3, 3};
  windows.pads = windows.pads_end = {1, 1};
  const search::Lowered lowered = search::lower(program_of(windows), {}, {false, true}, avx512_like());
  EXPECT_EQ(ir::loop::print(*lowered.program), R"(loops windows() {
  input x: f32[4, 3, 20]
  input w: f32[4, 3, 3]
  output reduced: f32[4, 3, 20]
  for o0 < 4 {
    allocate taps_reduced: f32[3, 3] in registers
    unrolled k0 < 3 {
      unrolled k1 < 3 {
        taps_reduced[k0, k1] = w[o0, k0, k1]
      }
    }
    allocate tile_reduced: f32[3, 32] in registers
    unrolled i1 < 3 {
      vector j1 < 20 {
        tile_reduced[i1, j1] = 0:f32
      }
    }
    unrolled k1 < 3 {
      unrolled i1 < 3 {
        unrolled k0 < 3 {
          vector j1 < 20 {
            tile_reduced[i1, j1] += mul(guarded(x[o0, i1 + k0 - 1, j1 + k1 - 1], logical_and(logical_and(logical_and(greater_equal(index(i1 + k0 - 1), 0:i64), less(index(i1 + k0 - 1), 3:i64)), greater_equal(index(j1 + k1 - 1), 0:i64)), less(index(j1 + k1 - 1), 20:i64)), 0:f32), taps_reduced[k0, k1]) computes reduced(o0, i1, j1, k0, k1) inverse(x0, x4, x1, x3, x2)
          }
        }
      }
    }
    unrolled i1 < 3 {
      vector j1 < 20 {
        reduced[o0, i1, j1] = tile_reduced[i1, j1]
      }
    }
  }
}
)");
}

TEST(Windows, ManyTapsAreReducedInTwoPasses) {
  Windows windows;
  windows.monoid = ir::Monoid::Kind::max;
  windows.weights = false;
  windows.channels = {4};
  windows.input = {6, 6};
  windows.kernel = {5, 5};
  windows.pads = windows.pads_end = {2, 2};
  const search::Lowered lowered = search::lower(program_of(windows), {}, {}, avx512_like());
  EXPECT_EQ(ir::loop::print(*lowered.program), R"(loops windows() {
  input x: f32[4, 6, 6]
  output reduced: f32[4, 6, 6]
  for o0 < 4 {
    allocate strips_reduced: f32[6, 10] in cache
    unrolled i1 < 6 {
      vector z < 2 {
        strips_reduced[i1, z] = -inf:f32
      }
    }
    unrolled i1 < 6 {
      vector z < 2 {
        strips_reduced[i1, z + 8] = -inf:f32
      }
    }
    allocate part_reduced: f32[6, 16] in registers
    unrolled i1 < 6 {
      vector c1 < 6 {
        part_reduced[i1, c1] = -inf:f32
      }
    }
    unrolled i1 < 6 {
      unrolled k0 < 5 {
        vector c1 < 6 {
          part_reduced[i1, c1] max= guarded(x[o0, i1 + k0 - 2, c1], logical_and(greater_equal(index(i1 + k0 - 2), 0:i64), less(index(i1 + k0 - 2), 6:i64)), -inf:f32)
        }
      }
    }
    unrolled i1 < 6 {
      vector c1 < 6 {
        strips_reduced[i1, c1 + 2] = part_reduced[i1, c1]
      }
    }
    allocate tile_reduced: f32[6, 16] in registers
    unrolled i1 < 6 {
      vector j1 < 6 {
        tile_reduced[i1, j1] = -inf:f32
      }
    }
    unrolled i1 < 6 {
      unrolled k1 < 5 {
        vector j1 < 6 {
          tile_reduced[i1, j1] max= strips_reduced[i1, j1 + k1]
        }
      }
    }
    unrolled i1 < 6 {
      vector j1 < 6 {
        reduced[o0, i1, j1] = tile_reduced[i1, j1]
      }
    }
  }
}
)");
}

class RandomWindows : public testing::Test {
 protected:
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  struct Limits {
    int64_t least_taps = 1;
    int64_t stride = 4, dilation = 3, pad = 4;  ///< the largest ones
    int64_t longer = 60;  ///< places of the last dimension that are no part of the first window
  };

  Windows windows(int64_t rank, int64_t channels, const Limits& limits) {
    Windows drawn;
    drawn.weights = draw(0, 2) > 0;
    drawn.monoid = drawn.weights || draw(0, 1) == 0 ? ir::Monoid::Kind::sum : ir::Monoid::Kind::max;
    drawn.channels = {ir::Dim(channels)};
    drawn.epilogue = draw(0, 1) == 0 ? Windows::Epilogue::none : Windows::Epilogue::clip;
    for (int64_t d = rank; d > 0; --d) {
      drawn.kernel.push_back(draw(limits.least_taps, 5));
      drawn.strides.push_back(draw(1, limits.stride));
      drawn.dilations.push_back(draw(1, limits.dilation));
      drawn.pads.push_back(draw(0, limits.pad));
      drawn.pads_end.push_back(draw(0, limits.pad));
      const int64_t reach = (drawn.kernel.back() - 1) * drawn.dilations.back() + 1;
      const int64_t least = std::max<int64_t>(1, reach - drawn.pads.back() - drawn.pads_end.back());
      drawn.input.emplace_back(least +
                               draw(0, d == 1 ? limits.longer : std::min<int64_t>(limits.longer, 12)));
    }
    return drawn;
  }

  /// How often the lowered program mentions `word`.
  void expect_right(const Windows& windows, const std::string& word, int& mentioned) {
    const ir::Program expression = program_of(windows);
    for (const jit::Target& target : targets_with_code()) {
      const search::Lowered lowered = search::lower(expression, {}, {false, true}, target);
      ASSERT_TRUE(lowered.program) << lowered.reason;
      const std::string text = ir::loop::print(*lowered.program);
      if (text.find(word) != std::string::npos) ++mentioned;
      std::vector<Tensor> operands, inputs;
      std::vector<bool> constant;
      for (size_t k = 0; k < expression.operands.size(); ++k) {
        const auto id = static_cast<size_t>(expression.operands[k]);
        operands.push_back(halves(shape_at(expression.tensors[id].dims, {}), false, random_));
        if (lowered.expression.operands[k] == ir::none) continue;  // no tap is inside
        inputs.push_back(operands.back());
        constant.push_back(k == 1);
      }
      const Tensor want = ir::evaluate(expression, operands)[0];
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      const Tensor got = run_guarded(code, {}, inputs, constant, verify::Placement::ends_at_guard)[0];
      for (int64_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(got.get_real(i), want.get_real(i)) << "element " << i << '\n' << text;
    }
  }

  std::mt19937 random_{7};
};

/// Strides, dilations and pads of all kinds, few and many columns.
TEST_F(RandomWindows, OfAllShapes) {
  int tiles = 0;
  for (int trial = 0; trial < 150; ++trial)
    expect_right(windows(draw(1, 3), draw(1, 3), {}), "tile_reduced", tiles);
  EXPECT_GT(tiles, 100);
}

TEST_F(RandomWindows, OverSmallPlanes) {
  int planes = 0;
  for (int trial = 0; trial < 300; ++trial)
    expect_right(windows(2, draw(9, 40), {2, 2, 2, 1, 4}), "planes_reduced", planes);
  // Lanes across planes gain less where there are eight of them.
  const std::vector<jit::Target> targets = targets_with_code();
  const bool wide = std::any_of(targets.begin(), targets.end(),
                                [](const jit::Target& target) { return target.lanes(4) > 8; });
  EXPECT_GT(planes, wide ? 100 : 10);
}

}  // namespace
}  // namespace axrun::tests
