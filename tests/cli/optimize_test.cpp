#include "runtime/cli/optimize.h"

#include <gtest/gtest.h>

#include "runtime/cli/progress.h"
#include "runtime/cli/time_text.h"
#include "tests/runtime/models.h"

namespace axrun::cli {
namespace {

using tests::ModelMaker;

/// What the first runs after a rest take says nothing of the others.
TEST(Optimise, RunsAreTimedBackToBack) {
  int runs = 0;
  const Settled some = settled([&] { return ++runs <= 3 ? 5.0 : 1.0; });
  EXPECT_EQ(some.ms, 1);
  EXPECT_EQ(some.total_ms, 19);
  EXPECT_EQ(some.runs, 7);
  EXPECT_EQ(settled([] { return 30.0; }).runs, 1);
  EXPECT_EQ(settled([] { return 0.01; }).runs, 200);
}

TEST(Optimise, StartAndEndAreTimedAlike) {
  runtime::SessionOptions options;
  options.optimize = false;
  const auto session = tests::residual_network(1).session(options);
  const std::vector<runtime::RuntimeValue> inputs = {
      runtime::RuntimeValue(ModelMaker::random({1, 3, 12, 12}, 9))};
  session->run(inputs);
  int runs = 0;
  Progress progress(false);
  const Optimisation result = optimise(
      *session, inputs, 0.3, [&] { return ++runs <= 3 ? 5.0 : 1.0; }, progress);
  EXPECT_EQ(result.runs, runs);
  EXPECT_EQ(result.start_ms, 1);
  EXPECT_EQ(result.end_ms, 1);
}

std::string gain(double start_ms, double end_ms) {
  Optimisation optimisation;
  optimisation.start_ms = start_ms;
  optimisation.end_ms = end_ms;
  return gain_text(optimisation);
}

TEST(Optimise, OneUnitALine) {
  EXPECT_EQ(gain(1.5, 0.75), "1500 us a run at the start, 750 us now: 2.00 x");
  EXPECT_EQ(gain(15, 7.5), "15.00 ms a run at the start, 7.50 ms now: 2.00 x");
  EXPECT_EQ(time_text(0.0123), "12.3 us");
  EXPECT_EQ(time_text(123.4), "123 ms");
}

TEST(Progress, WholePartsThatFit) {
  const std::string line = "12 of 60 s | 36.0 us now | 3/9 swapped";
  EXPECT_EQ(fitting(line, 0), line);
  EXPECT_EQ(fitting(line, 200), line);
  EXPECT_EQ(fitting(line, 38), "12 of 60 s | 36.0 us now");
  EXPECT_EQ(fitting(line, 25), "12 of 60 s | 36.0 us now");
  EXPECT_EQ(fitting(line, 24), "12 of 60 s");
  EXPECT_EQ(fitting(line, 5), "12 o");
}

}  // namespace
}  // namespace axrun::cli
