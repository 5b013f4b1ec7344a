// What `axrun explain` makes of a measurement: limits, what belongs to a step, the page.
#include "runtime/cli/explanation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ir/error.h"

namespace axrun::tests {
namespace {

using cli::Explanation;
using runtime::OptimizedKernel;
using runtime::StepProfile;

/// 100 GFLOP/s, 100 GB/s from 32 KiB, 10 GB/s from memory, of each of two cores.
jit::Target machine() {
  jit::Target target;
  target.cores = 2;
  target.flops_per_second = 100e9;
  target.caches = {{32 << 10, 64, 1, 100e9}};
  target.memory_bytes_per_second = 10e9;
  return target;
}

StepProfile step(const std::string& name, const std::string& op, double us) {
  StepProfile profile;
  profile.name = name;
  profile.op = op;
  profile.kernel = "some kernel";
  profile.runs = 1;
  profile.total_us = us;
  return profile;
}

Explanation explained(const std::vector<StepProfile>& steps, std::vector<OptimizedKernel> kernels = {},
                      std::vector<OptimizedKernel> joints = {}) {
  cli::Record record;
  record.model = "model.onnx";
  record.threads = 1;
  record.measurement.optimisation.asked = true;
  record.measurement.optimisation.status.kernels = std::move(kernels);
  record.measurement.optimisation.status.lost_joints = std::move(joints);
  return cli::explain(std::move(record), machine(), steps, 1);
}

TEST(Limits, ArithmeticOrTheMemoryThatHoldsTheOperandsBoundsAStep) {
  StepProfile product = step("product", "MatMul", 50);
  product.flops = 2e6;
  product.bytes = 1e4;
  StepProfile copy = step("copy", "Identity", 50);
  copy.bytes = 2e4;
  StepProfile large = step("large", "Identity", 50);
  large.bytes = 2e5;
  const cli::Limits one(machine(), 1, {product, copy, large}), two(machine(), 2, {product, copy, large});
  EXPECT_NEAR(one.of(product, 50).us, 20, 1e-9);
  EXPECT_EQ(one.of(product, 50).by, "arithmetic");
  EXPECT_NEAR(two.of(product, 50).us, 10, 1e-9);
  EXPECT_NEAR(one.of(copy, 50).us, 0.2, 1e-9);
  EXPECT_EQ(one.of(copy, 50).by, "cache 1");
  EXPECT_NEAR(one.of(large, 50).us, 20, 1e-9);
  EXPECT_EQ(one.of(large, 50).by, "memory");
}

TEST(Limits, ConstantsComeFromWhereAllOfTheModelsFit) {
  StepProfile first = step("first", "Add", 50);
  first.bytes = first.constant_bytes = 2e4;
  const StepProfile second = first;
  const cli::Limits alone(machine(), 1, {first}), both(machine(), 1, {first, second});
  EXPECT_EQ(alone.of(first, 50).by, "cache 1");
  EXPECT_EQ(both.of(first, 50).by, "memory");
  EXPECT_NEAR(both.of(first, 50).us, 2, 1e-9);
}

TEST(Limits, WhatIsFasterThanReadingItsOperandsReadsPartsOfThem) {
  StepProfile lookup = step("look-up", "Gather", 1);
  lookup.constant_bytes = 1e8;
  lookup.result_bytes = 1e3;
  lookup.bytes = 1e8 + 1e3;
  const cli::Limit limit = cli::Limits(machine(), 1, {lookup}).of(lookup, 1);
  EXPECT_LE(limit.us, 1);
  EXPECT_NEAR(limit.us, 0.01, 1e-9);
}

TEST(Explanation, AStepHasTheRecordsOfItsNodeAndOperators) {
  OptimizedKernel fixed, range, other, joint;
  fixed.ops = range.ops = "Conv+Relu";
  other.ops = "Conv";
  joint.ops = "Conv+Relu+Add";
  for (OptimizedKernel* kernel : {&fixed, &range, &other, &joint}) kernel->nodes = {"conv"};
  range.state = OptimizedKernel::State::slower;
  fixed.state = OptimizedKernel::State::accepted;
  fixed.steps = 1;
  const Explanation whole =
      explained({step("conv", "Conv+Relu", 3), step("add", "Add", 1)}, {range, fixed, other}, {joint});
  ASSERT_EQ(whole.steps.size(), 2u);
  ASSERT_EQ(whole.steps[0].kernels.size(), 2u);
  EXPECT_EQ(whole.steps[0].kernels[0].state, OptimizedKernel::State::accepted) << "the one in force is first";
  ASSERT_EQ(whole.steps[0].lost_joints.size(), 1u);
  EXPECT_TRUE(whole.steps[1].kernels.empty());
  EXPECT_DOUBLE_EQ(whole.run_us, 4);
  EXPECT_DOUBLE_EQ(whole.steps[0].share, 0.75);
}

TEST(Explanation, NodesAreChosenByNameOrByAPartOfIt) {
  const Explanation whole = explained({step("layer1/conv", "Conv", 1), step("layer1", "Add", 1)});
  EXPECT_EQ(cli::about(whole, {}).steps.size(), 2u);
  EXPECT_EQ(cli::about(whole, {"layer1"}).steps.size(), 1u) << "the whole name is meant where there is one";
  EXPECT_EQ(cli::about(whole, {"layer1/"}).steps.size(), 1u);
  EXPECT_EQ(cli::about(whole, {"layer1", "conv"}).steps.size(), 2u);
  EXPECT_DOUBLE_EQ(cli::about(whole, {"conv"}).run_us, 2) << "shares are of the whole model";
  EXPECT_THROW(cli::about(whole, {"layer1", "none"}), Error);
}

TEST(Explanation, TheInterpreterIsNotCalledPrecompiled) {
  StepProfile slow = step("spectrum", "DFT", 1);
  slow.kernel = "interpreter DFT";
  const std::string text = cli::explanation_text(explained({slow, step("conv", "Conv", 1)}), false);
  EXPECT_NE(text.find("interpreted; not looked at"), std::string::npos) << text;
  EXPECT_NE(text.find("precompiled; not looked at"), std::string::npos) << text;
}

TEST(Explanation, EveryTrialIsInTheTextOfItsStep) {
  OptimizedKernel kernel;
  kernel.ops = "Conv";
  kernel.nodes = {"conv"};
  runtime::TriedKernel trial;
  trial.kind = "gathered";
  trial.schedule = "tile 6x32";
  trial.end = runtime::TriedKernel::End::not_proved;
  trial.reason = "two iterations write one element";
  trial.expected_us = 12.5;
  kernel.trials = {trial};
  const Explanation whole = explained({step("conv", "Conv", 1)}, {kernel});
  const std::string text = cli::explanation_text(whole, true);
  for (const char* part :
       {"gathered: tile 6x32", "not proved", "two iterations write one element", "12.50 us"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const auto json = cli::explanation_json(whole);
  const auto& told = json["steps"][0]["kernels"][0]["trials"][0];
  EXPECT_EQ(told["end"], "not proved");
  EXPECT_DOUBLE_EQ(told["expected_us"].get<double>(), 12.5);
  EXPECT_TRUE(told["us"].is_null()) << "not measured";
}

TEST(Explanation, WhatLoopsExecuteIsPutAgainstTheMachine) {
  cli::Record record;
  record.threads = 1;
  jit::Target target = machine();  // 1e9 cycles a second, of 100 operations
  target.vector_bytes = 100;
  target.fma_ports = 2;
  jit::WorkCount work;
  work.multiply_adds = 4000;
  work.stores = 500;
  work.missed_bytes = {1e6};
  work.chain_cycles = 3000;
  const cli::StepWork counted{{{"product", "MatMul"}, work}};
  const auto told = [&](const std::string& op) {
    return cli::explanation_json(
        cli::explain(record, target, {step("product", op, 5)}, 1, counted))["steps"][0];
  };
  const auto found = told("MatMul")["work"];
  EXPECT_DOUBLE_EQ(found["us"]["arithmetic"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(found["us"]["memory"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(found["us"]["chain"].get<double>(), 3);
  EXPECT_EQ(found["beyond"][0]["from"], "memory");
  EXPECT_DOUBLE_EQ(found["beyond"][0]["us"].get<double>(), 100);
  EXPECT_TRUE(told("Add")["work"].is_null()) << "of another step";
  work.missed_bytes = {1e3};
  const auto near = cli::explanation_json(
      cli::explain(record, target, {step("product", "MatMul", 5)}, 1, {{{"product", "MatMul"}, work}}));
  EXPECT_TRUE(near["steps"][0]["work"]["beyond"][0]["us"].is_null()) << "it fits: it may have been there";
}

TEST(Explanation, NamesCannotLeaveThePagesData) {
  const std::string name = "</script><img src=x onerror=alert(1)><!--<script>";
  const std::string page = cli::explanation_page(explained({step(name, "Conv", 1)}));
  EXPECT_EQ(page.find(name), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("@EXPLANATION@"), std::string::npos);
  const std::string begin = "id=\"data\">";
  const size_t from = page.find(begin) + begin.size(), to = page.find("</script>", from);
  const auto data = nlohmann::json::parse(page.substr(from, to - from));
  EXPECT_EQ(data["steps"][0]["node"], name);
}

}  // namespace
}  // namespace axrun::tests
