// Sums over channels and windows as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "ir/evaluate.h"
#include "ir/loop/interpreter.h"
#include "jit/work_count.h"
#include "tests/search/convolution_cases.h"
#include "tests/search/machine_code.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

class EveryConvolution : public testing::TestWithParam<Case> {};

TEST_P(EveryConvolution, IsComputedAsTheExpressionSays) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Convolutions, EveryConvolution, testing::ValuesIn(convolution_cases()),
                         [](const auto& info) { return info.param.name; });

/// Deep products of many filters take channels side by side, shallow ones points.
TEST(Convolutions, TurnsProductsOfManyChannels) {
  const auto is_turned = [](int64_t channels, int64_t filters, const ir::Dims& plane,
                            const jit::Target& target) {
    const Convolved points{"points", {}, 1, channels, filters, plane, {1, 1}};
    const search::Sizes sizes = {{"h", 3, 4096, 1}};
    const search::Lowered lowered = search::lower(program_of(points), sizes, {false, true}, target);
    EXPECT_TRUE(lowered.program) << lowered.reason;
    return lowered.program && ir::loop::print(*lowered.program).find("turned_") != std::string::npos;
  };
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    EXPECT_TRUE(is_turned(1024, 128, {14, 14}, target));
    EXPECT_TRUE(is_turned(130, 64, {4, 15}, target));
    EXPECT_TRUE(is_turned(600, 32, {ir::Dim::symbol("h"), 5}, target));
    EXPECT_FALSE(is_turned(16, 96, {112, 112}, target));
    EXPECT_FALSE(is_turned(64, 256, {56, 56}, target));
    // Lines that turned tiles read step by step, pages apart, would get into each other's way.
    EXPECT_FALSE(is_turned(256, 64, {56, 56}, target));
  }
}

/// Channels that lie a multiple of a page apart meet in few sets of the nearest cache: they are moved to
/// panels.
TEST(Convolutions, MovesPointsThatCompeteForTheCache) {
  const auto moved = [](int64_t channels, const ir::Dims& plane, int64_t filters = 96) {
    const Convolved points{"points", {}, 1, channels, filters, plane, {1, 1}};
    const search::Lowered lowered = search::lower(program_of(points), {}, {false, true}, avx512_like());
    EXPECT_TRUE(lowered.program) << lowered.reason;
    if (!lowered.program) return false;
    const verify::Evidence proof = verify::prove(*lowered.program, lowered.expression, {});
    EXPECT_EQ(proof.verdict, verify::Verdict::proved) << proof.text;
    const std::string text = ir::loop::print(*lowered.program);
    return text.find("allocate panel_") != std::string::npos;
  };
  EXPECT_TRUE(moved(96, {96, 96}));
  EXPECT_TRUE(moved(64, {32, 32}));
  EXPECT_FALSE(moved(96, {97, 97}));
  EXPECT_FALSE(moved(8, {96, 96}));
  EXPECT_FALSE(moved(96, {96, 96}, 24)) << "few filters use a panel";
}

/// Of a plane of open sizes: what neighbouring taps read alike is packed once, and so far beyond the last
/// place.
TEST(Convolutions, OfAnyPlanePackOnceWhatTapsShare) {
  const search::Sizes sizes = {{"h", 3, 4096, 1}, {"w", 3, 4096, 1}};
  const auto packed = [&](const Convolved& c, const std::string& panel) {
    const search::Lowered lowered = search::lower(program_of(c), sizes, {false, true}, avx512_like());
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const std::string text = ir::loop::print(*lowered.program);
    EXPECT_NE(text.find(": f32[" + panel + "] in cache"), std::string::npos) << text;
  };
  const ir::Dim h = sym("h"), w = sym("w");
  packed({"", {}, 1, 32, 64, {h, w}, {3, 3}, {}, {}, {1, 1}, {1, 1}}, "32, 3, 64");
  packed({"", {}, 1, 32, 64, {h, w}, {3, 3}, {}, {8, 8}, {8, 8}, {8, 8}}, "32, 3, 64");
  packed({"", {}, 1, 32, 64, {h, w}, {1, 20}, {}, {}, {0, 9}, {0, 10}}, "32, 80");
  // Places between those of a stride are no columns, and taps further apart than a tile share nothing.
  packed({"", {}, 1, 32, 64, {h, w}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}}, "32, 3, 3, 32");
  packed({"", {}, 1, 32, 64, {h, w}, {3, 3}, {}, {24, 24}, {24, 24}, {24, 24}}, "32, 3, 3, 48");
}

/// Bytes that are packed, where nothing beyond the last place has to be cleared first.
TEST(Convolutions, OfAnyPlaneMoveWhatTilesRead) {
  constexpr int64_t channels = 32, height = 10, width = 86, element = 4;
  Convolved c{"", {}, 1, channels, 64, {sym("h"), sym("w")}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  c.epilogue = Convolved::Epilogue::bias_clip;
  const search::Sizes sizes = {{"h", 3, 4096, 1}, {"w", 3, 4096, 1}};
  const search::Lowered lowered = search::lower(program_of(c), sizes, {false, true}, avx512_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  const jit::WorkCount work =
      jit::count_work(*lowered.program, {{"h", height}, {"w", width}}, {false, true, true}, avx512_like());
  constexpr int64_t tiles = 2, row = 64;
  EXPECT_LE(work.moved_bytes, static_cast<double>(2 * element * height * tiles * channels * 3 * row));
}

/// Columns, taps and borders of shared panels that are off by one, or in each other's place.
TEST(Convolutions, WrongSharesOfPanelsAreNotProved) {
  const Convolved c{"", {}, 1, 3, 16, {sym("h"), sym("w")}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  const search::Sizes sizes = {{"h", 3, 4096, 1}, {"w", 3, 4096, 1}};
  const search::Lowered lowered = search::lower(program_of(c), sizes, {false, true}, avx2_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  const std::string right = ir::loop::print(*lowered.program);
  EXPECT_EQ(verify::prove(*lowered.program, lowered.expression, {}).verdict, verify::Verdict::proved);
  struct Wrong {
    const char *from, *to;
  };
  for (const Wrong& wrong :
       {Wrong{", j1 + u]", ", j1 + 2 - u]"}, Wrong{", j1 + u]", ", j1 + p1]"}, Wrong{", j1 + u]", ", j1]"},
        Wrong{"for jw < -min(", "for jw < 1 - min("}, Wrong{"vector j1 < 16 {", "vector j1 < 9 {"}}) {
    const size_t at = right.find(wrong.from);
    ASSERT_NE(at, std::string::npos) << wrong.from << '\n' << right;
    const std::string text = std::string(right).replace(at, std::string(wrong.from).size(), wrong.to);
    const verify::Evidence evidence = verify::prove(ir::loop::parse(text), lowered.expression, {});
    EXPECT_NE(evidence.verdict, verify::Verdict::proved) << wrong.to << ": " << evidence.text;
  }
}

/// Proved and computed for every target that there is code for; look is given each program's text.
void expect_right(const Convolved& convolved, std::mt19937& random,
                  const std::function<void(const jit::Target&, const std::string&)>& look) {
  const ir::Program expression = program_of(convolved);
  const std::vector<bool> constant = {false, true, true};
  std::vector<ir::Tensor> operands;
  for (const ir::TensorId id : expression.operands)
    operands.push_back(halves(shape_at(expression.tensors[static_cast<size_t>(id)].dims, {}), false, random));
  const ir::Tensor want = ir::evaluate(expression, operands)[0];
  for (const jit::Target& target : targets_with_code()) {
    const search::Lowered lowered = search::lower(expression, {}, constant, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const std::string text = ir::loop::print(*lowered.program);
    look(target, text);
    const verify::Evidence proof = verify::prove(*lowered.program, lowered.expression, {});
    EXPECT_EQ(proof.verdict, verify::Verdict::proved) << proof.text << text;
    const auto code = jit::KernelCode::compile(*lowered.program, target, {});
    const ir::Tensor got = run_guarded(code, {}, operands, constant, verify::Placement::ends_at_guard)[0];
    for (int64_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(got.get_real(i), want.get_real(i)) << "element " << i << '\n' << text;
  }
}

struct Points {
  int64_t channels, filters, side;
};

/// The last tile of a row of them, on its own: proved and computed, by several workers.
TEST(Convolutions, OfNumbersOfChannelsThatLeaveNarrowTiles) {
  std::mt19937 random(5);
  for (const Points& points : {Points{200, 80, 24}, Points{200, 112, 24}, Points{200, 208, 19},
                               Points{1100, 80, 10}, Points{64, 700, 14}, Points{150, 300, 14}}) {
    const Convolved convolved{"", {}, 1, points.channels, points.filters, {points.side, points.side}, {1, 1}};
    expect_right(convolved, random, [](const jit::Target&, const std::string& text) {
      EXPECT_NE(text.find("parallel"), std::string::npos) << text;
    });
  }
}

/// Of small planes tiles read parts of lines: these are arranged first, also for sums that wait.
TEST(Convolutions, ShortRowsAreArrangedInPanels) {
  std::mt19937 random(6);
  for (const Points& points :
       {Points{200, 208, 7}, Points{1100, 300, 7}, Points{800, 200, 6}, Points{96, 700, 5}}) {
    const Convolved convolved{"",
                              {},
                              1,
                              points.channels,
                              points.filters,
                              {points.side, points.side},
                              {1, 1},
                              {},
                              {},
                              {},
                              {},
                              Convolved::Epilogue::bias_clip};
    expect_right(convolved, random, [&](const jit::Target& target, const std::string& text) {
      if (target.vector_bytes != 32) return;
      EXPECT_NE(text.find("allocate rows_"), std::string::npos) << text;
      EXPECT_EQ(text.find("allocate waiting_") != std::string::npos,
                points.channels == 800 || points.channels == 1100)
          << text;
    });
  }
}

/// What the loop programs of all these cases say of how they were planned.
TEST(Convolutions, ChannelsLieNextToEachOtherInEveryFormOfTheLoops) {
  std::string text;
  for (const Convolved& c : convolved_across()) {
    const search::Lowered lowered =
        search::lower(program_of(c), {}, {false, true, true, false}, avx512_like());
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const std::string one = ir::loop::print(*lowered.program);
    EXPECT_NE(one.find("turned_"), std::string::npos) << c.name;
    text += one;
  }
  // Several lines in a tile, a part of a line and its rest, sums that wait, rows and groups that are spread,
  // a narrow last tile of rows.
  for (const char* part :
       {"unrolled i0 < ", "_2: f32[9, 32] in registers", "waiting_", "parallel ib", "parallel jg", "for jt"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

/// Every place that taps with strides read is gathered once, in order, in all forms of the loops.
TEST(Convolutions, PlacesThatStridedTapsReadLieInOrder) {
  const auto text_of = [](const Convolved& c, const jit::Target& target) {
    const search::Lowered lowered = search::lower(program_of(c), {}, {false, true, true, false}, target);
    EXPECT_TRUE(lowered.program) << lowered.reason;
    return lowered.program ? ir::loop::print(*lowered.program) : "";
  };
  jit::Target target = avx2_like();
  target.cores = 1;
  target.caches = {{int64_t{32} << 10}, {int64_t{512} << 10}};
  const Convolved by_twos{"", {}, 1, 128, 128, {56, 56}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}};
  const std::string text = text_of(by_twos, target);
  // Six lines, of 28 places each; parts of the weights in the nearest cache.
  EXPECT_NE(text.find(": f32[128, 13, 57] in cache"), std::string::npos) << text;
  EXPECT_NE(text.find("2*l1 + p1, 2*i1 + 12*jt + p2]"), std::string::npos) << text;
  EXPECT_NE(text.find("allocate waiting_"), std::string::npos) << text;
  // Taps that leave places out read few of them: those of each phase.
  const Convolved apart{"", {}, 1, 64, 128, {56, 56}, {2, 2}, {3, 3}, {}, {1, 1}, {1, 1}};
  EXPECT_EQ(text_of(apart, target).find("3*i1"), std::string::npos);
}

/// Places, taps and borders that are off by one, or in each other's place.
TEST(Convolutions, WrongPlacesOfStridedTapsAreNotProved) {
  jit::Target target = avx2_like();
  target.cores = 1;
  target.caches = {{int64_t{32} << 10}, {int64_t{512} << 10}};
  const Convolved by_twos{"", {}, 1, 40, 16, {20, 20}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}};
  const search::Lowered lowered = search::lower(program_of(by_twos), {}, {false, true}, target);
  ASSERT_TRUE(lowered.program) << lowered.reason;
  const std::string right = ir::loop::print(*lowered.program);
  EXPECT_EQ(verify::prove(*lowered.program, lowered.expression, {}).verdict, verify::Verdict::proved);
  std::mt19937 random(3);
  std::vector<ir::Tensor> operands;
  for (const ir::TensorId id : lowered.expression.operands)
    operands.push_back(
        halves(shape_at(lowered.expression.tensors[static_cast<size_t>(id)].dims, {}), false, random));
  const ir::Tensor want = ir::evaluate(lowered.expression, operands)[0];
  const auto is_wrong = [&](const ir::loop::LoopProgram& program) {
    const ir::loop::Outcome outcome = ir::loop::interpret(program, {}, operands);
    return outcome.mistake ||
           std::memcmp(outcome.outputs[0].data(), want.data(), static_cast<size_t>(want.bytes())) != 0;
  };
  EXPECT_FALSE(is_wrong(*lowered.program));
  struct Wrong {
    const char *from, *to;
  };
  for (const Wrong& wrong : {
           Wrong{"gathered_t2[k0, l1, 0] = 0:f32", "gathered_t2[k0, l1, 0] = 1:f32"},
           Wrong{"vector j1 < 20", "vector j1 < 19"},
           Wrong{"x[k0, l1 - 1, j1]", "x[k0, max(l1 - 2, 0), j1]"},
           Wrong{"index(l1 - 1)", "index(l1 - 2)"},
           Wrong{"2*l1 + p1", "2*l1 + 1"},
           Wrong{"2*l1 + p1, 2*i1 + 10*jt + p2", "2*l1 + p2, 2*i1 + 10*jt + p1"},
           Wrong{"2*i1 + 10*jt + p2", "2*i1 + 10*jt + 2 - p2"},
           Wrong{"for p0 < 40", "for p0 < 39"},
           Wrong{"k0, k1, k2]\n", "k0, k2, k1]\n"},
           Wrong{"5*jt + 10*l1 + v", "5*jt + 10*l1 + 4 - v"},
       }) {
    const size_t at = right.find(wrong.from);
    ASSERT_NE(at, std::string::npos) << wrong.from << '\n' << right;
    const std::string text = std::string(right).replace(at, std::string(wrong.from).size(), wrong.to);
    const verify::Evidence evidence = verify::prove(ir::loop::parse(text), lowered.expression, {});
    EXPECT_NE(evidence.verdict, verify::Verdict::proved) << wrong.to << ": " << evidence.text;
    EXPECT_TRUE(is_wrong(ir::loop::parse(text))) << wrong.to;
  }
}

/// Strides, kernels and dilations drawn at random, in every schedule that has channels next to each other.
TEST(Convolutions, WithStridesAcrossDrawnAtRandom) {
  std::mt19937 random(17);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int across = 0;
  for (int trial = 0; trial < 80; ++trial) {
    Convolved c;
    c.channels = draw(4, 24);
    c.filters = draw(16, 64);
    c.epilogue = Convolved::Epilogue::bias_residual;
    for (int d = 0; d < 2; ++d) {
      c.kernel.push_back(draw(1, 7));
      c.strides.push_back(draw(1, 3));
      c.dilations.push_back(c.strides.back() == 1 ? draw(1, 2) : 1);
      c.pads.push_back(draw(0, 3));
      c.pads_end.push_back(draw(0, 3));
      c.input.emplace_back((c.kernel.back() - 1) * c.dilations.back() + draw(2, 24));
    }
    const ir::Program expression = program_of(c);
    const std::vector<bool> constant = {false, true, true, false};
    std::vector<ir::Tensor> operands;
    for (const ir::TensorId id : expression.operands)
      operands.push_back(
          halves(shape_at(expression.tensors[static_cast<size_t>(id)].dims, {}), false, random));
    const ir::Tensor want = ir::evaluate(expression, operands)[0];
    for (const jit::Target& target : targets_with_code()) {
      for (size_t rank = 0; rank < 4; ++rank) {
        const search::Lowered lowered = search::lower(expression, {}, constant, target, rank);
        if (!lowered.program) break;
        const std::string text = ir::loop::print(*lowered.program);
        if (text.find("turned_") == std::string::npos) continue;
        ++across;
        const verify::Evidence proof = verify::prove(*lowered.program, lowered.expression, {});
        EXPECT_EQ(proof.verdict, verify::Verdict::proved) << proof.text << text;
        const auto code = jit::KernelCode::compile(*lowered.program, target, {});
        for (const auto placement : {verify::Placement::ends_at_guard, verify::Placement::begins_at_guard}) {
          const ir::Tensor got = run_guarded(code, {}, operands, constant, placement)[0];
          for (int64_t i = 0; i < want.size(); ++i)
            ASSERT_EQ(got.get_real(i), want.get_real(i)) << "trial " << trial << " element " << i << '\n'
                                                         << text;
        }
      }
    }
  }
  EXPECT_GT(across, 20);
}

/// Shapes drawn at random: gathered for each term, and shared by terms.
TEST(Convolutions, OfRandomShapes) {
  std::mt19937 random(11);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int gathered = 0;
  for (int trial = 0; trial < 120; ++trial) {
    Convolved c;
    if (draw(0, 3) == 0) c.batch = {ir::Dim(2)};
    c.groups = draw(0, 2) == 0 ? 2 : 1;
    c.channels = draw(1, 6);
    c.filters = draw(4, 40);
    c.epilogue = draw(0, 1) == 0 ? Convolved::Epilogue::none : Convolved::Epilogue::bias_residual;
    for (int64_t d = draw(2, 3); d > 0; --d) {
      const bool last = d <= 2;
      c.kernel.push_back(draw(1, 5));
      c.strides.push_back(draw(0, 1) == 0 ? 1 : draw(1, 3));
      c.dilations.push_back(draw(1, 3));
      c.pads.push_back(draw(0, 3));
      c.pads_end.push_back(draw(0, 3));
      const int64_t reach = (c.kernel.back() - 1) * c.dilations.back() + 1;
      c.input.emplace_back(reach + draw(0, last ? 24 : 3));
    }
    const ir::Program expression = program_of(c);
    const std::vector<bool> constant = {false, true, true, false};
    for (const jit::Target& target : targets_with_code()) {
      const search::Lowered lowered = search::lower(expression, {}, constant, target);
      ASSERT_TRUE(lowered.program) << lowered.reason;
      if (lowered.kind == "gathered") ++gathered;
      std::vector<ir::Tensor> operands, inputs;
      std::vector<bool> constant_inputs;
      for (size_t k = 0; k < expression.operands.size(); ++k) {
        const auto id = static_cast<size_t>(expression.operands[k]);
        operands.push_back(halves(shape_at(expression.tensors[id].dims, {}), false, random));
        constant_inputs.push_back(constant[k]);
      }
      const ir::Tensor want = ir::evaluate(expression, operands)[0];
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      for (const auto placement : {verify::Placement::ends_at_guard, verify::Placement::begins_at_guard}) {
        const ir::Tensor got = run_guarded(code, {}, operands, constant_inputs, placement)[0];
        for (int64_t i = 0; i < want.size(); ++i) {
          ASSERT_EQ(got.get_real(i), want.get_real(i)) << "trial " << trial << " element " << i << '\n'
                                                       << ir::loop::print(*lowered.program);
        }
      }
    }
  }
  EXPECT_GT(gathered, 100);
}

}  // namespace
}  // namespace axrun::tests
