// Tables of searches that are kept between processes: what is taken over spares the search, and whatever the
// bytes are, schedules are ones that can be written.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "search/lowering.h"
#include "search/schedule_store.h"
#include "search/schedules/dynamic_program.h"
#include "tests/search/cases.h"
#include "tests/search/scheduled_product_cases.h"

namespace axrun::tests {
namespace {

using namespace search::schedules;

jit::Target small_target() {
  jit::Target target = avx512_like();
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

constexpr size_t most_bytes = 1 << 20;

std::string bytes_of(const std::vector<std::array<int32_t, 3>>& products) {
  DynamicProgram program(small_target());
  program.table().track();
  for (const auto& [rows, columns, depth] : products)
    program.solve(product(program.cost(), rows, columns, depth));
  return program.table().take_fresh(8, 48, most_bytes);
}

TEST(KeptSchedules, SpareTheSearch) {
  DynamicProgram first(small_target());
  first.table().track();
  const Specification s = product(first.cost(), 64, 300, 200);
  const Found found = first.solve(s);
  ASSERT_GT(found.states, 0);
  const std::string bytes = first.table().take_fresh(8, 48, most_bytes);
  ASSERT_FALSE(bytes.empty());
  EXPECT_TRUE(first.table().take_fresh(8, 48, most_bytes).empty()) << "nothing new since";
  EXPECT_TRUE(first.table().take_fresh(4, 48, most_bytes).empty()) << "another tile";

  DynamicProgram second(small_target());
  ASSERT_TRUE(second.table().add(bytes, second.cost(), 8, 48));
  EXPECT_EQ(second.table().boxes(), first.table().boxes());
  const Found again = second.solve(s);
  EXPECT_EQ(again.states, 0);
  EXPECT_TRUE(again.complete);
  ASSERT_EQ(again.schedules.size(), found.schedules.size());
  for (size_t k = 0; k < found.schedules.size(); ++k)
    EXPECT_EQ(to_text(again.schedules[k]), to_text(found.schedules[k]));
  // What was added is not written again; what is new is.
  second.table().track();
  EXPECT_TRUE(second.table().take_fresh(8, 48, most_bytes).empty());
  DynamicProgram alone(small_target());
  const Specification other = product(first.cost(), 64, 300, 264);
  const int64_t states = alone.solve(other).states;
  EXPECT_LT(second.solve(other).states, states);
  EXPECT_FALSE(second.table().take_fresh(8, 48, most_bytes).empty());
}

TEST(KeptSchedules, OfAnotherTileAreRefused) {
  const std::string bytes = bytes_of({{64, 300, 200}});
  DynamicProgram program(small_target());
  EXPECT_FALSE(program.table().add(bytes, program.cost(), 4, 48));
  EXPECT_FALSE(program.table().add(bytes, program.cost(), 0, 0));
  EXPECT_FALSE(program.table().add("", program.cost(), 8, 48));
  EXPECT_FALSE(program.table().add(bytes + "x", program.cost(), 8, 48));
  EXPECT_EQ(program.table().boxes(), 0U);
  // A machine with fewer caches: levels that it does not have.
  jit::Target one_cache = small_target();
  one_cache.caches.resize(1);
  EXPECT_FALSE(program.table().add(bytes, CostModel(one_cache), 8, 48));
}

/// Every decision is one that can be taken where it is.
void expect_possible(const CostModel& cost, Specification s, const Schedule& schedule) {
  for (size_t k = 0; k < schedule.decisions.size(); ++k) {
    const auto expansion = expand(cost, s, schedule.decisions[k]);
    ASSERT_TRUE(expansion) << to_text(schedule);
    ASSERT_EQ(expansion->parts.empty(), k + 1 == schedule.decisions.size()) << to_text(schedule);
    if (!expansion->parts.empty()) s = expansion->parts[0].whole;
  }
}

TEST(KeptSchedules, WhateverTheBytesAreSchedulesArePossible) {
  const std::vector<std::array<int32_t, 3>> products = {{40, 96, 256}, {16, 400, 129}, {33, 100, 70}};
  const std::string right = bytes_of(products);
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int added = 0;
  constexpr int trials = 1500;
  for (int trial = 0; trial < trials; ++trial) {
    std::string bytes = right;
    for (uint32_t changes = 1 + random() % 6; changes > 0; --changes) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] ^= static_cast<char>(1U << random() % 8);
          break;
        case 1:
          bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes.resize(at + 1);
          break;
        default:
          bytes[at] = static_cast<char>(random() % 2 == 0 ? 0xff : 0);
      }
    }
    DynamicProgram program(small_target());
    added += program.table().add(bytes, program.cost(), 8, 48);
    const auto& [rows, columns, depth] = products[random() % products.size()];
    const Specification s = product(program.cost(), rows, columns, depth);
    const Found found = program.solve(s, {.states = 2000});
    for (const Schedule& schedule : found.schedules) expect_possible(program.cost(), s, schedule);
  }
  EXPECT_GT(added, 0) << "some changes leave what may be";
  EXPECT_LT(added, trials);
}

/// As another process has them.
class Remembered : public search::ScheduleStore {
 public:
  std::optional<std::string> load(const std::string& key) override {
    const auto found = entries.find(key);
    return found == entries.end() ? std::nullopt : std::optional(found->second);
  }
  void save(const std::string& key, const std::string& bytes) override { entries[key] = bytes; }
  void reject(const std::string& key) override {
    entries.erase(key);
    ++rejected;
  }

  std::map<std::string, std::string> entries;
  int rejected = 0;
};

TEST(KeptSchedules, ArePassedFromProcessToProcess) {
  const auto store = std::make_shared<Remembered>();
  const ir::Program expression = found_product_cases().front().make();
  const auto run = [&] {
    search::forget_schedules();
    search::keep_schedules_in(store);
    const Case c = found_product_cases().front();
    const search::Lowered lowered = search::lower(expression, c.sizes, c.constant, avx512_like(), 1);
    EXPECT_TRUE(lowered.program);
    return std::pair(lowered.schedule.text, search::schedule_searches());
  };
  const auto [text, first] = run();
  EXPECT_GT(first.states, 0);
  EXPECT_EQ(first.taken_over, 0);
  EXPECT_FALSE(store->entries.empty());
  const auto [same_text, second] = run();
  EXPECT_EQ(second.states, 0);
  EXPECT_GT(second.taken_over, 0);
  EXPECT_EQ(same_text, text);
  for (auto& [key, bytes] : store->entries) bytes.resize(bytes.size() / 2);
  const auto [text_again, third] = run();
  EXPECT_EQ(third.states, first.states);
  EXPECT_EQ(third.taken_over, 0);
  EXPECT_GT(store->rejected, 0);
  EXPECT_EQ(text_again, text);
  search::keep_schedules_in(nullptr);
  search::forget_schedules();
}

}  // namespace
}  // namespace axrun::tests
