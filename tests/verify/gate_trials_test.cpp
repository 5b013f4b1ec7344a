#include "verify/gate_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "verify/gate_inputs.h"
#include "verify/gate_memory.h"

namespace axrun::verify::test {
namespace {

/// By trial: samples of all sizes together, as multiples of what the trial has at one size.
std::map<int, int> samples_of(const std::vector<std::vector<GateTrial>>& plan) {
  std::map<int, int> samples;
  for (const auto& trials : plan) {
    for (const GateTrial& trial : trials) samples[trial.number] += trial.times;
  }
  return samples;
}

TEST(GateTrials, EveryTrialComparesAsManyElementsWhateverSizesTake) {
  const auto small = plan_gate_trials({10, 20, 30}, 100);
  const auto large = plan_gate_trials({1000, 200, 300}, 100);
  EXPECT_EQ(samples_of(small), samples_of(large));
  EXPECT_EQ(samples_of(small).size(), size_t{gate_trial_count + exact_pair_trials});
  EXPECT_EQ(large[1].size(), small[1].size());  // the smallest
  EXPECT_LT(large[0].size(), small[0].size());
  EXPECT_LT(large[2].size(), small[2].size());
  for (const auto& trials : small) {
    for (const GateTrial& trial : trials) EXPECT_EQ(trial.times, 1);
  }
}

/// They have every kind that large sizes have, and leave the others as they are.
TEST(GateTrials, SizesForTheirExtentsHaveFewSamples) {
  const auto plan = plan_gate_trials({10, 20, 1, 300}, 100, 2);
  const auto without = plan_gate_trials({10, 20}, 100);
  for (const size_t whole : {0, 1}) {
    EXPECT_EQ(plan[whole].size(), without[whole].size());
    for (const GateTrial& trial : plan[whole]) EXPECT_EQ(trial.times * trial.thinned, 1);
  }
  const auto large = plan_gate_trials({1, 300}, 100)[1];
  for (const size_t thin : {2, 3}) {
    ASSERT_EQ(plan[thin].size(), large.size());
    for (size_t k = 0; k < large.size(); ++k) {
      const GateTrial& trial = plan[thin][k];
      EXPECT_EQ(trial.number, large[k].number);
      EXPECT_EQ(trial.share, large[k].share) << "steps of scans";
      EXPECT_LT(trial.part_of(4096), large[k].part_of(4096));
      EXPECT_GE(trial.least_samples(), 16);
    }
  }
}

/// Where there is time for few of them.
TEST(GateInputs, SamplesOfSmallArraysAreFromEverywhere) {
  constexpr int64_t rows = 37, columns = 41;
  const std::vector<int64_t> positions = sample_positions({rows, columns}, 8192, 3);
  std::set<int64_t> all(positions.begin(), positions.end()), first_rows, later_rows;
  EXPECT_EQ(positions.size(), static_cast<size_t>(rows * columns));
  EXPECT_EQ(all.size(), positions.size());
  EXPECT_EQ(*all.rbegin(), rows * columns - 1);
  for (size_t k = 0; k < 100; ++k) {
    first_rows.insert(positions[k] / columns);
    later_rows.insert(positions[positions.size() - 1 - k] / columns);
  }
  EXPECT_GT(first_rows.size(), 20u);
  EXPECT_GT(later_rows.size(), 20u);
  EXPECT_EQ(sample_positions({3, 0}, 10, 1), std::vector<int64_t>());
  EXPECT_EQ(sample_positions({}, 10, 1), std::vector<int64_t>{0});
}

TEST(GateTrials, OneSizeHasAllTrialsHoweverLarge) {
  const auto plan = plan_gate_trials({1000}, 100);
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].size(), size_t{gate_trial_count + exact_pair_trials});
  EXPECT_TRUE(plan_gate_trials({}, 100).empty());
}

TEST(GateTrials, LargeSizesHaveExactProbesSpecialsAndEveryPlacement) {
  const std::vector<GateTrial> large = plan_gate_trials({1000, 1}, 100)[0];
  std::set<Distribution> distributions;
  std::set<Placement> placements;
  bool exact_pair = false;
  for (const GateTrial& trial : large) {
    exact_pair |= trial.exact_pair;
    if (trial.exact_pair) continue;
    distributions.insert(trial.distribution);
    placements.insert(trial.placement());
  }
  EXPECT_TRUE(exact_pair);
  EXPECT_EQ(placements.size(), 3U);
  EXPECT_EQ(distributions.count(Distribution::small_integers), 1U);
  EXPECT_EQ(distributions.count(Distribution::all_specials), 1U);
}

std::vector<float> filled(const ir::Shape& shape, const FillOptions& options) {
  std::vector<float> values(static_cast<size_t>(ir::element_count(shape)));
  fill(values.data(), {ir::ElementType::f32, shape, 0}, options);
  return values;
}

/// The distance after which the numbers repeat; their count where they do not.
size_t period_of(const std::vector<float>& values) {
  for (const size_t prime : {65521, 1048573}) {
    if (prime < values.size() &&
        std::equal(values.begin() + static_cast<std::ptrdiff_t>(prime), values.end(), values.begin()))
      return prime;
  }
  return values.size();
}

TEST(GateInputs, LargeOperandsRepeatAtNoStrideOfTheirs) {
  FillOptions options;
  EXPECT_EQ(period_of(filled({100, 1000}, options)), 100000U);
  EXPECT_EQ(period_of(filled({200, 1000}, options)), 65521U);
  EXPECT_EQ(period_of(filled({3, 65521}, options)), 3U * 65521);
  EXPECT_EQ(period_of(filled({40, 65521}, options)), 1048573U);
  // So few specials that a short sample might have none.
  options.special_share = 1e-5;
  EXPECT_EQ(period_of(filled({200, 1000}, options)), 200000U);
}

TEST(GateInputs, LargeOperandsHaveTheirShareOfSpecials) {
  FillOptions options;
  options.distribution = Distribution::nans;
  options.special_share = 1e-3;
  const std::vector<float> values = filled({500, 1000}, options);
  const auto nans = std::count_if(values.begin(), values.end(), [](float x) { return std::isnan(x); });
  EXPECT_GT(nans, 300);
  EXPECT_LT(nans, 700);
}

TEST(GateMemory, FindsTheFirstUnwrittenElement) {
  std::vector<float> values(3000);
  const size_t bytes = values.size() * sizeof(float);
  mark_unwritten(values.data(), bytes, true, 0);
  EXPECT_EQ(first_unwritten(values.data(), bytes), 0);
  std::fill(values.begin(), values.end(), 1.0f);
  EXPECT_EQ(first_unwritten(values.data(), bytes), -1);
  for (const size_t at : {size_t{0}, size_t{1023}, size_t{1024}, size_t{2999}}) {
    std::vector<float> some = values;
    mark_unwritten(some.data() + at, sizeof(float), true, 0);
    EXPECT_EQ(first_unwritten(some.data(), bytes), static_cast<int64_t>(at));
  }
}

TEST(GateMemory, FindsWhatLooksUnwritten) {
  constexpr size_t count = 1000, most = 8;
  for (const size_t size : {size_t{1}, size_t{2}, size_t{4}, size_t{8}}) {
    std::set<int64_t> found;
    std::set<unsigned char> patterns;
    for (int trial = 0; trial < gate_trial_count; ++trial) {
      std::vector<unsigned char> bytes(count * size);
      mark_unwritten(bytes.data(), bytes.size(), false, trial);
      patterns.insert(bytes[0]);
      EXPECT_GT(bytes[0], 1);
      // Every tenth element is left; of a hundred such, a few are looked at in each trial.
      for (size_t k = 0; k < count; ++k) {
        if (k % 10 != 0) bytes[k * size + size - 1] = 0;
      }
      const auto some = perhaps_unwritten(bytes.data(), bytes.size(), size, trial, most);
      EXPECT_EQ(some.size(), most);
      found.insert(some.begin(), some.end());
      EXPECT_EQ(perhaps_unwritten(bytes.data(), bytes.size(), size, trial, count).size(), count / 10);
    }
    EXPECT_EQ(found.size(), count / 10);
    EXPECT_EQ(patterns.size(), size_t{gate_trial_count});
    for (const int64_t at : found) EXPECT_EQ(at % 10, 0);
  }
}

TEST(GateMemory, EveryByteCountsInTheHash) {
  std::vector<unsigned char> bytes(150, 7);
  const uint64_t hash = hash_of(bytes.data(), bytes.size(), 1);
  for (unsigned char& byte : bytes) {
    byte ^= 1;
    EXPECT_NE(hash_of(bytes.data(), bytes.size(), 1), hash);
    byte ^= 1;
  }
  EXPECT_EQ(hash_of(bytes.data(), bytes.size(), 1), hash);
  EXPECT_NE(hash_of(bytes.data(), bytes.size(), 2), hash);
}

}  // namespace
}  // namespace axrun::verify::test
