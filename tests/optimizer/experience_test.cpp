// What sessions elsewhere have found: as bytes from anywhere, and as an order of what is tried.
#include "runtime/warm/experience.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using runtime::Experience;
using runtime::OptimizedKernel;

ir::Graph graph() {
  ir::Graph graph;
  graph.nodes.resize(9);
  return graph;
}

Experience example() {
  Experience one;
  one.processor = "a processor";
  one.layouts = Experience::Layouts::plain;
  Experience::Trial trial;
  trial.state = OptimizedKernel::State::accepted;
  trial.speedup = 1.5;
  trial.rank = 2;
  trial.alternatives_tried = 3;
  trial.alternative_speedup = 1.2;
  trial.seconds = 0.3;
  trial.kind = "contraction";
  one.trials[cache::hash_of({"an expression"})] = trial;
  trial = {};
  trial.state = OptimizedKernel::State::refused;
  trial.reason = "it cannot be proved";
  one.trials[cache::hash_of({"another"})] = trial;
  one.joined = {{1, 2}, {3, 5, 8}};
  return one;
}

std::string bytes_of(const Experience& one) {
  cache::Writer out;
  runtime::write(out, one);
  return out.text();
}

bool is_read(const std::string& bytes, Experience& result) {
  cache::Reader in(bytes);
  return runtime::read(in, graph(), result) && in.finished();
}

TEST(Experience, IsReadAsItWasWritten) {
  Experience result;
  ASSERT_TRUE(is_read(bytes_of(example()), result));
  EXPECT_EQ(bytes_of(result), bytes_of(example()));
  EXPECT_EQ(result.joined, example().joined);
  const Experience::Trial* const trial = result.of("another");
  ASSERT_NE(trial, nullptr);
  EXPECT_EQ(trial->reason, "it cannot be proved");
  EXPECT_EQ(result.of("a third"), nullptr);
}

TEST(Experience, SetsThatNoPlanCanMakeAreRefused) {
  for (const std::vector<int>& nodes : {std::vector<int>{1, 9}, {-1, 2}, {2, 1}, {2, 2}, {4}}) {
    Experience wrong = example(), result;
    wrong.joined.push_back(nodes);
    EXPECT_FALSE(is_read(bytes_of(wrong), result)) << nodes.front();
  }
}

TEST(Experience, NothingElseIsTakenForGranted) {
  const std::string right = bytes_of(example());
  for (size_t length = 0; length < right.size(); ++length) {
    Experience result;
    EXPECT_FALSE(is_read(right.substr(0, length), result)) << length;
  }
  std::mt19937 random(1);
  int refused = 0;
  for (int k = 0; k < 20000; ++k) {
    std::string damaged = right;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    Experience result;
    if (!is_read(damaged, result)) {
      ++refused;
      continue;
    }
    for (const std::vector<int>& nodes : result.joined) {
      for (const int node : nodes) ASSERT_TRUE(node >= 0 && node < 9);
    }
    for (const auto& [hash, trial] : result.trials) {
      const double gain = runtime::expected_gain(&trial),
                   other = runtime::expected_gain_of_alternatives(&trial);
      ASSERT_TRUE(gain > 0 && gain <= 1 && other > 0 && other <= 1);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Experience, WhatFaredWellComesFirstAndNothingIsLeftOut) {
  Experience::Trial fast, slightly, lost;
  fast.state = slightly.state = OptimizedKernel::State::accepted;
  fast.speedup = 3;
  slightly.speedup = 1.05;
  lost.state = OptimizedKernel::State::slower;
  lost.speedup = 2;  // of another one that it was compared with
  EXPECT_GT(runtime::expected_gain(&fast), runtime::expected_gain(nullptr));
  EXPECT_GT(runtime::expected_gain(nullptr), runtime::expected_gain(&slightly));
  EXPECT_GT(runtime::expected_gain(&slightly), runtime::expected_gain(&lost));
  EXPECT_GT(runtime::expected_gain(&lost), 0);
  fast.alternatives_tried = lost.alternatives_tried = 3;
  fast.rank = 1;
  fast.alternative_speedup = 1.2;
  EXPECT_GT(runtime::expected_gain_of_alternatives(&fast), runtime::expected_gain_of_alternatives(nullptr));
  EXPECT_GT(runtime::expected_gain_of_alternatives(nullptr), runtime::expected_gain_of_alternatives(&lost));
}

}  // namespace
}  // namespace axrun::tests
