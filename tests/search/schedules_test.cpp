#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "search/schedules/dynamic_program.h"
#include "tests/search/cases.h"

namespace axrun::search::schedules {
namespace {

jit::Target small_target() {
  jit::Target target = tests::avx512_like();
  target.flops_per_second = 2e11;
  target.caches = {{4 << 10, 64, 1, 4e11}, {32 << 10, 64, 1, 1e11}};
  target.memory_bytes_per_second = 1e10;
  return target;
}

Specification product(const CostModel& cost, int32_t rows, int32_t columns, int32_t depth) {
  Specification s;
  s.extents = {rows, columns, depth};
  s.tile_rows = 8;
  s.tile_columns = 48;
  s.levels = {cost.memory(), cost.memory(), cost.memory()};
  s.limits = cost.limits();
  return s;
}

/// Costs of the best schedules, the best first, from all decisions for every specification: no bounds, and no
/// specification taken for another.
class Exhaustive {
 public:
  Exhaustive(const CostModel& cost, size_t kept) : cost_(cost), kept_(kept) {}

  const std::vector<double>& best(const Specification& s) {
    const std::string key = to_text(s) + std::to_string(static_cast<int>(s.after));
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    std::vector<double> found;
    for (const Decision& decision : decisions(cost_, s)) {
      const Expansion expansion = *expand(cost_, s, decision);
      double besides = expansion.own;
      if (expansion.parts.empty()) found.push_back(besides);
      if (expansion.parts.size() > 1) {
        const std::vector<double> rest = best(expansion.parts[1].whole);
        if (rest.empty()) continue;
        besides += expansion.parts[1].weight * rest[0];
      }
      if (expansion.parts.empty()) continue;
      for (const double cost : best(expansion.parts[0].whole))
        found.push_back(besides + expansion.parts[0].weight * cost);
    }
    std::sort(found.begin(), found.end());
    if (found.size() > kept_) found.resize(kept_);
    return known_[key] = std::move(found);
  }

 private:
  const CostModel& cost_;
  size_t kept_;
  std::map<std::string, std::vector<double>> known_;
};

/// What a schedule takes by its own decisions, each piece that is left over by its best schedule.
double cost_of(const CostModel& cost, const Schedule& schedule, const Specification& specification, size_t at,
               Exhaustive& exhaustive) {
  const auto expansion = expand(cost, specification, schedule.decisions.at(at));
  EXPECT_TRUE(expansion.has_value());
  double sum = expansion->own;
  if (expansion->parts.size() > 1)
    sum += expansion->parts[1].weight * exhaustive.best(expansion->parts[1].whole).at(0);
  if (expansion->parts.empty()) {
    EXPECT_EQ(at + 1, schedule.decisions.size());
    return sum;
  }
  return sum +
         expansion->parts[0].weight * cost_of(cost, schedule, expansion->parts[0].whole, at + 1, exhaustive);
}

void expect_the_best(DynamicProgram& program, const Specification& s, size_t kept) {
  const CostModel& cost = program.cost();
  Exhaustive exhaustive(cost, kept);
  const std::vector<double>& best = exhaustive.best(s);
  const Found found = program.solve(s);
  ASSERT_TRUE(found.complete) << to_text(s);
  ASSERT_EQ(found.schedules.size(), best.size()) << to_text(s);
  for (size_t k = 0; k < best.size(); ++k) {
    const Schedule& schedule = found.schedules[k];
    EXPECT_NEAR(schedule.cost, best[k], 1e-9 * best[k]) << to_text(s) << ": " << to_text(schedule);
    EXPECT_NEAR(cost_of(cost, schedule, s, 0, exhaustive), schedule.cost, 1e-9 * schedule.cost)
        << to_text(schedule);
  }
  if (best.empty()) return;
  EXPECT_GE(best[0] * (1 + 1e-12), cost.lower_bound(s)) << to_text(s);
  EXPECT_NEAR(found.least, best[0], 1e-9 * best[0]);
  EXPECT_NEAR(found.gap(), 0, 1e-9);
}

TEST(Schedules, AreTheBestOfAll) {
  for (const size_t kept : {size_t{1}, size_t{3}}) {
    DynamicProgram program(small_target(), kept);
    for (const auto& [rows, columns, depth] : std::vector<std::array<int32_t, 3>>{{1, 1, 1},
                                                                                  {8, 48, 64},
                                                                                  {7, 5, 300},
                                                                                  {33, 100, 70},
                                                                                  {40, 96, 256},
                                                                                  {16, 400, 129},
                                                                                  {1, 500, 700}})
      expect_the_best(program, product(program.cost(), rows, columns, depth), kept);
  }
}

TEST(Schedules, AreTheBestInEveryLayoutFromEveryLevel) {
  constexpr size_t kept = 2;
  DynamicProgram program(small_target(), kept);
  std::mt19937 random(7);
  const auto below = [&](uint32_t most) { return static_cast<int32_t>(random() % most); };
  for (int trial = 0; trial < 60; ++trial) {
    Specification s = product(program.cost(), 1 + below(40), 1 + below(200), 1 + below(300));
    for (const Operand operand : operands) {
      const auto which = static_cast<size_t>(operand);
      s.levels[which] = static_cast<Level>(1 + below(3));
      s.layouts[which] = static_cast<Layout>(below(operand == Operand::result ? 1 : 3));
    }
    s.accumulates = below(2) == 0;
    s.spread = below(2) == 0;
    for (Limit& limit : s.limits) limit = Limit::at_most(below(3) == 0 ? 0 : below(1 << 15));
    SCOPED_TRACE(trial);
    expect_the_best(program, s, kept);
  }
}

/// One table for all limits finds what a table of its own finds for each.
TEST(Schedules, OfOtherLimitsShareATable) {
  DynamicProgram shared(small_target(), 2);
  size_t searched = 0, alone = 0;
  for (int64_t first = 16 << 10; first >= 64; first /= 2) {
    for (int64_t second = 64 << 10; second >= 64; second /= 4) {
      DynamicProgram fresh(small_target(), 2);
      Specification s = product(fresh.cost(), 40, 200, 300);
      s.limits = {Limit::at_most(first), Limit::at_most(second)};
      const Found expected = fresh.solve(s), found = shared.solve(s);
      ASSERT_EQ(found.schedules.size(), expected.schedules.size());
      for (size_t k = 0; k < found.schedules.size(); ++k)
        EXPECT_NEAR(found.schedules[k].cost, expected.schedules[k].cost, 1e-9 * expected.schedules[k].cost);
      searched += static_cast<size_t>(found.states);
      alone += static_cast<size_t>(expected.states);
    }
  }
  EXPECT_LT(searched * 4, alone);
}

TEST(Schedules, ThatWereFoundAreNotSearchedForAgain) {
  DynamicProgram program(small_target());
  const Specification s = product(program.cost(), 64, 300, 200);
  const Found first = program.solve(s), second = program.solve(s);
  EXPECT_GT(first.states, 0);
  EXPECT_EQ(second.states, 0);
  ASSERT_EQ(second.schedules.size(), first.schedules.size());
  for (size_t k = 0; k < first.schedules.size(); ++k)
    EXPECT_EQ(to_text(second.schedules[k]), to_text(first.schedules[k]));
}

TEST(Schedules, CutShortSayHowFarTheBestMayBe) {
  DynamicProgram whole(small_target());
  const Specification s = product(whole.cost(), 512, 1000, 700);
  const Found best = whole.solve(s);
  ASSERT_TRUE(best.complete);
  bool cut = false;
  DynamicProgram program(small_target());
  for (const int64_t states : {0, 1, 10, 100, 1000, 10'000, 1'000'000}) {
    const Found found = program.solve(s, {.states = states});
    EXPECT_LE(found.states, states);
    EXPECT_LE(found.least, best.least * (1 + 1e-9));
    EXPECT_GE(found.gap(), -1e-9);
    if (!found.schedules.empty()) {
      EXPECT_GE(found.schedules[0].cost, best.schedules[0].cost * (1 - 1e-9));
    }
    cut = cut || !found.complete;
    if (found.complete) {
      EXPECT_NEAR(found.schedules.at(0).cost, best.schedules[0].cost, 1e-6);
    }
  }
  EXPECT_TRUE(cut);
  EXPECT_EQ(program.solve(s).schedules.size(), best.schedules.size());
}

TEST(Schedules, OfTilesThatRegistersCannotHoldDoNotExist) {
  DynamicProgram program(small_target());
  Specification s = product(program.cost(), 64, 300, 200);
  s.tile_rows = 14;
  const Found found = program.solve(s);
  EXPECT_TRUE(found.schedules.empty());
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.states, 0);
}

TEST(Schedules, AreSpreadOverCoresWhereThatIsWorthIt) {
  DynamicProgram program(small_target());
  const auto is_spread = [&](int32_t rows, int32_t columns, int32_t depth) {
    Specification s = product(program.cost(), rows, columns, depth);
    s.spread = true;
    const Found found = program.solve(s);
    const std::vector<Decision>& decisions = found.schedules.at(0).decisions;
    return std::any_of(decisions.begin(), decisions.end(),
                       [](const Decision& decision) { return decision.kind == Decision::Kind::spread; });
  };
  EXPECT_TRUE(is_spread(256, 960, 512));
  EXPECT_FALSE(is_spread(8, 96, 16));
}

TEST(Schedules, PackTheRightSideWhereTilesCannotReadIt) {
  DynamicProgram program(small_target());
  Specification s = product(program.cost(), 64, 96, 64);
  s.layouts[static_cast<size_t>(Operand::right)] = Layout::across;
  const Found found = program.solve(s);
  ASSERT_FALSE(found.schedules.empty());
  EXPECT_NE(to_text(found.schedules[0]).find("move right to"), std::string::npos);
}

TEST(Limits, AreHalfPowersOfTwoOfLines) {
  EXPECT_EQ(Limit::at_most(63).bytes(), 0);
  EXPECT_EQ(Limit::at_most(64).bytes(), 64);
  EXPECT_EQ(Limit::at_most(127).bytes(), 96);
  EXPECT_EQ(Limit::at_most(48 << 10).bytes(), 48 << 10);
  EXPECT_EQ(Limit::at_most(1000).bytes(), 768);
  EXPECT_EQ(Limit::at_least(1).bytes(), 64);
  EXPECT_EQ(Limit::at_least(769).bytes(), 1024);
  EXPECT_EQ(Limit::at_least(0).bytes(), 0);
}

/// What is used says exactly when a decision leaves its parts enough.
TEST(Limits, OfAMoveAreTheLeastThatLeaveItsPartsEnough) {
  const CostModel cost(small_target());
  Specification s = product(cost, 24, 96, 100);
  const Decision move{
      .kind = Decision::Kind::move, .operand = Operand::left, .level = 1, .layout = Layout::panels};
  for (int64_t needed = 0; needed < 4096; needed += 64) {
    const Limit parts = Limit::at_most(needed);
    const Limit least = used(cost, s, move, {parts})[0];
    for (int64_t bytes = 0; bytes < 64 << 10; bytes += 64) {
      s.limits[0] = Limit::at_most(bytes);
      const auto expansion = expand(cost, s, move);
      const bool enough = expansion && expansion->parts[0].whole.limits[0] >= parts;
      EXPECT_EQ(enough, s.limits[0] >= least) << needed << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace axrun::search::schedules
