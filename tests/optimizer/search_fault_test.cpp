// A fault in what search/ does besides lowering (layouts, identities, bilinear algorithms) costs what was
// asked for, and nothing else: it happens in the helper process.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/optimizer/reproducer.h"
#include "search/lowering.h"
#include "tests/optimizer/attention_model.h"
#include "tests/optimizer/knobs.h"
#include "tests/optimizer/served.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ValueId;

struct PlantedFault {
  const char* what;
  const char* reason;
};
constexpr PlantedFault segmentation_fault = {"segmentation fault", "Segmentation fault) while "};
const PlantedFault planted_faults[] = {
    segmentation_fault,
    {"assertion", "Aborted) while "},
    {"exception", "vector::at"},
    {"endless loop", "CPU time limit exceeded) while "},
};

OptimizerSettings with_faults() {
  OptimizerSettings settings;
  settings.standing = Standing::ordinary;
  settings.worker.program = AXRUN_FAULTY_SEARCH;
  settings.search_seconds = 1;  // an endless loop is ended soon
  settings.always = true;
  settings.schedules = settings.layouts = settings.algebra = false;
  return settings;
}

/// Whatever has become of the search: the model is served, and has its kernels.
void expect_served(Served& served, const Values& want, const std::string& where) {
  const OptimizerStatus status = served.status();
  EXPECT_NE(status.state, OptimizerStatus::State::stopped) << where << ": " << status.reason;
  EXPECT_TRUE(std::any_of(
      status.kernels.begin(), status.kernels.end(),
      [](const OptimizedKernel& kernel) { return kernel.state == OptimizedKernel::State::accepted; }))
      << where << ": " << text_of(status);
  const Values got = served.run();
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].tensor.shape(), want[k].tensor.shape()) << where;
    for (int64_t i = 0; i < want[k].tensor.size(); ++i)
      ASSERT_NEAR(got[k].tensor.get_real(i), want[k].tensor.get_real(i), 2e-3) << where << ", element " << i;
  }
}

void expect_said(const std::string& said, const PlantedFault& fault, const std::string& stage) {
  EXPECT_NE(said.find(fault.reason), std::string::npos) << stage << ", " << fault.what << ": " << said;
  EXPECT_NE(said.find(stage), std::string::npos) << stage << ", " << fault.what << ": " << said;
}

/// Of a search that is done once for each set of shapes.
struct Searched {
  ModelMaker model;
  Values input;
  OptimizerSettings settings;
  std::function<std::string(const OptimizerStatus&)> said;
};

void expect_survived(const Searched& search, const PlantedFault& fault, const char* stage) {
  const Knobs knobs{{"FAULT_IN_SEARCH", fault.what}, {"FAULTY_SEARCH", stage}};
  Served served(search.model, search.input, search.settings);
  ASSERT_TRUE(served.is_given_time()) << stage << ", " << fault.what;
  expect_said(search.said(served.status()), fault, stage);
  expect_served(served, fallback_answers(search.model, search.input), std::string(stage) + ", " + fault.what);
}

// Layouts
// ---------------------------------------------------------------------------------------------------------

/// Two convolutions, one behind the other, and a step that has no layouts.
ModelMaker convolutions() {
  const auto pads = ModelMaker::attribute(std::vector<int64_t>{1, 1, 1, 1});
  ModelMaker m;
  const ValueId x = m.input("x", ir::ElementType::f32, {1, 16, 14, 15});
  const ValueId a = m.node("Relu", {m.node("Conv", {x, m.weights({24, 16, 3, 3}, 1)}, {{"pads", pads}})});
  const ValueId b = m.node("Conv", {a, m.weights({24, 24, 3, 3}, 3)}, {{"pads", pads}});
  m.output(m.node("Trilu", {b}, {{"upper", ModelMaker::attribute(int64_t{0})}}));
  return m;
}

Searched layouts() {
  Searched search{convolutions(), {RuntimeValue(ModelMaker::random({1, 16, 14, 15}, 9))}, with_faults(), {}};
  search.settings.layouts = true;
  search.settings.join = false;
  // Whatever is faster on this machine.
  search.settings.promising_layouts = -1;
  search.said = [](const OptimizerStatus& status) { return status.layouts.outcome; };
  return search;
}

TEST(FaultInLayouts, LeavesThemAsTheyAre) {
  for (const PlantedFault& fault : planted_faults) expect_survived(layouts(), fault, "choosing layouts");
}

/// What ended the helper can be asked again.
TEST(FaultInLayouts, IsKeptForWhoeverWantsToRepeatIt) {
  std::string folder = (std::filesystem::temp_directory_path() / "axrun_faults_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  Searched search = layouts();
  search.settings.reproducers = folder;
  expect_survived(search, segmentation_fault, "choosing layouts");
  int found = 0;
  for (const auto& kept : std::filesystem::directory_iterator(folder)) {
    const WorkerRequest request = read_reproducer(kept.path());
    if (!request.search) continue;
    ++found;
    EXPECT_EQ(request.search, WorkerStage::choosing_layouts);
    const StopSignal stop;
    WorkerProcess sound{WorkerOptions{}};
    EXPECT_TRUE(sound.ask(request, 60, stop).found.has_value());
  }
  EXPECT_EQ(found, 1);
  std::filesystem::remove_all(folder);
}

TEST(FaultInLayouts, IsNoneWhereTheHelperWasKilledTwice) {
  const std::string count =
      (std::filesystem::temp_directory_path() / ("axrun_kills_" + std::to_string(getpid()))).string();
  std::filesystem::remove(count);
  const Knobs knobs{{"FAULT_IN_SEARCH", "killed twice"},
                    {"FAULTY_SEARCH", "choosing layouts"},
                    {"FAULT_COUNT", count.c_str()}};
  const Searched search = layouts();
  Served served(search.model, search.input, search.settings);
  ASSERT_TRUE(served.is_given_time());
  const std::string outcome = served.status().layouts.outcome;
  EXPECT_EQ(outcome.find("helper"), std::string::npos) << outcome;
  EXPECT_EQ(std::filesystem::file_size(count), 3u) << outcome;
  std::filesystem::remove(count);
}

// Identities
// ---------------------------------------------------------------------------------------------------------

/// A product with a wide matrix and then with a narrow one, which together are narrow.
Searched with_algebra(ModelMaker model, const ir::Shape& shape) {
  Searched search{std::move(model), {RuntimeValue(ModelMaker::random(shape, 9))}, with_faults(), {}};
  search.settings.algebra = search.settings.force_algebra = true;
  search.said = [](const OptimizerStatus& status) { return status.algebra.outcome; };
  return search;
}

Searched algebra() {
  ModelMaker m;
  const ValueId x = m.input("x", ir::ElementType::f32, {32, 256});
  const ValueId wide = m.node("MatMul", {x, m.weights({256, 384}, 1)});
  m.output(m.node("Relu", {m.node("MatMul", {wide, m.weights({384, 16}, 2)})}));
  return with_algebra(std::move(m), {32, 256});
}

Searched much_algebra() { return with_algebra(attention(), {24, 32}); }

TEST(FaultInAlgebra, LeavesTheModelAsItIs) {
  for (const PlantedFault& fault : planted_faults) expect_survived(algebra(), fault, "rewriting windows");
  expect_survived(algebra(), segmentation_fault, "writing a graph");
}

TEST(FaultInAlgebra, OfRulesLeavesThoseThatAreKnown) {
  Searched search = algebra();
  search.said = [](const OptimizerStatus& status) { return status.algebra.trouble; };
  for (const PlantedFault& fault : planted_faults) expect_survived(search, fault, "looking for rules");
}

/// The others are proved, and used.
TEST(FaultInAlgebra, OfOneProofCostsTheIdentity) {
  const std::string count =
      (std::filesystem::temp_directory_path() / ("axrun_proofs_" + std::to_string(getpid()))).string();
  std::filesystem::remove(count);
  const Knobs knobs{{"FAULT_IN_SEARCH", "segmentation fault once"},
                    {"FAULTY_SEARCH", "proving"},
                    {"FAULT_COUNT", count.c_str()}};
  const Searched search = much_algebra();
  Served served(search.model, search.input, search.settings);
  ASSERT_TRUE(served.is_given_time());
  const OptimizerStatus status = served.status();
  EXPECT_GT(std::filesystem::file_size(count), 1u);
  EXPECT_TRUE(status.algebra.trouble.starts_with("identities left out: 1; ")) << status.algebra.trouble;
  expect_said(status.algebra.trouble, segmentation_fault, "proving");
  EXPECT_EQ(status.algebra.outcome, "rewritten") << text_of(status);
  EXPECT_GT(status.algebra.found, 1) << text_of(status);
  EXPECT_GE(status.worker_starts, 2);
  expect_served(served, fallback_answers(search.model, search.input), "one proof");
  std::filesystem::remove(count);
}

TEST(FaultInAlgebra, OfEveryProofLeavesThemAllOut) {
  Searched search = much_algebra();
  search.said = [](const OptimizerStatus& status) { return status.algebra.trouble; };
  expect_survived(search, segmentation_fault, "proving");
}

/// Without a fault it is what these tests leave out.
TEST(FaultInAlgebra, IsAllThatKeepsItAway) {
  const Searched search = algebra();
  Served served(search.model, search.input, search.settings);
  ASSERT_TRUE(served.is_given_time());
  const OptimizerStatus status = served.status();
  EXPECT_EQ(status.algebra.outcome, "rewritten") << text_of(status);
  EXPECT_EQ(status.algebra.trouble, "");
  EXPECT_EQ(products_in(*served.plan()), 1);
  expect_served(served, fallback_answers(search.model, search.input), "no fault");
}

// Bilinear algorithms
// ---------------------------------------------------------------------------------------------------------

Searched bilinear() {
  Searched search{convolutions(), {RuntimeValue(ModelMaker::random({1, 16, 14, 15}, 9))}, with_faults(), {}};
  search.settings.bilinear = search.settings.force_bilinear = true;
  search.said = [](const OptimizerStatus& status) { return status.bilinear.outcome; };
  return search;
}

TEST(FaultInBilinearAlgorithms, LeavesConvolutionsAsTheyAre) {
  for (const PlantedFault& fault : planted_faults)
    expect_survived(bilinear(), fault, "writing a bilinear graph");
  expect_survived(bilinear(), segmentation_fault, "looking for convolutions");
  expect_survived(bilinear(), segmentation_fault, "proving a bilinear algorithm");
}

TEST(FaultInBilinearAlgorithms, IsAllThatKeepsThemAway) {
  const Searched search = bilinear();
  Served served(search.model, search.input, search.settings);
  ASSERT_TRUE(served.is_given_time());
  const OptimizerStatus status = served.status();
  EXPECT_EQ(status.bilinear.outcome, "bilinear") << text_of(status);
  EXPECT_TRUE(served.plan()->graph().limits != nullptr);
  expect_served(served, fallback_answers(search.model, search.input), "no fault");
}

}  // namespace
}  // namespace axrun::tests
