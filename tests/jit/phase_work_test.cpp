#include "jit/phase_work.h"

#include <gtest/gtest.h>

#include <vector>

#include "jit/binder.h"
#include "jit/detect.h"
#include "jit/kernel_code.h"

namespace axrun::tests {
namespace {

const char* const doubled =
    "loops doubled(n: 0..100000) {\n"
    "  input x: f32[n, 16]\n"
    "  output y: f32[n, 16]\n"
    "  parallel i < n {\n"
    "    vector v < 16 {\n"
    "      y[i, v] = add(x[i, v], x[i, v])\n"
    "    }\n"
    "  }\n"
    "}\n";

/// Counts the ranges that it is given.
class CountingWorkers final : public jit::Workers {
 public:
  explicit CountingWorkers(bool little) : little_(little) {}
  int count() const override { return 2; }
  void run(int64_t iterations, Body body, void* state) override {
    ++runs;
    if (iterations > 0) body(state, 1, 0, iterations);
  }
  bool spreads_little_work() const override { return little_; }
  int runs = 0;

 private:
  bool little_;
};

int runs_of(int64_t n, bool little) {
  const ir::loop::LoopProgram program = ir::loop::parse(doubled);
  const jit::BoundKernel kernel(jit::KernelCode::compile(program, jit::detect_target()), {{"n", n}});
  std::vector<float> x(static_cast<size_t>(16 * n), 3), y(x.size(), 0);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  CountingWorkers workers(little);
  kernel.run(inputs, outputs, nullptr, workers);
  for (const float value : y) EXPECT_EQ(value, 6);
  return workers.runs;
}

double lanes_at(const ir::loop::Loop& loop, int64_t n) {
  jit::Signature signature;
  signature.sizes = {{"n", 0, 100000, 1}};
  signature.phases.push_back({true, loop.extent, loop.step, jit::lanes_of(loop), {}, {}, {}, {}});
  jit::Binder::AtSizes at;
  at.values = {n};
  jit::Binder(signature, {}).find(at);
  return at.lanes.front();
}

TEST(PhaseWork, CountsLanesAtTheSizesAtHand) {
  const ir::loop::LoopProgram program = ir::loop::parse(doubled);
  const auto& loop = std::get<ir::loop::Loop>(program.body.front());
  EXPECT_EQ(lanes_at(loop, 10), 160);
  EXPECT_EQ(lanes_at(loop, 0), 0);
}

TEST(PhaseWork, ExtentsThatDependOnOtherLoopsAreThoseOfTheFirstIterations) {
  const ir::loop::LoopProgram program = ir::loop::parse(
      "loops tail(n: 0..100) {\n"
      "  input x: f32[n]\n"
      "  output y: f32[n]\n"
      "  parallel i < (n + 7) / 8 {\n"
      "    for j < min(n - 8*i, 8) {\n"
      "      y[8*i + j] = x[8*i + j]\n"
      "    }\n"
      "  }\n"
      "}\n");
  const auto& loop = std::get<ir::loop::Loop>(program.body.front());
  EXPECT_EQ(lanes_at(loop, 20), 3 * 8 * 8);
  // Where sizes are known before, one number is left.
  const std::vector<jit::LaneTerm> terms = jit::lanes_of(loop, {{"n", ir::Dim(20)}});
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_EQ(terms[0].lanes, 3 * 8 * 8);
  EXPECT_TRUE(terms[0].loops.empty());
}

TEST(PhaseWork, LittleIsHandedOnlyToWorkersThatWantIt) {
  EXPECT_EQ(runs_of(0, false), 1);  // nothing to do: theirs to see
  EXPECT_EQ(runs_of(4, false), 0);
  EXPECT_EQ(runs_of(4, true), 1);
  EXPECT_EQ(runs_of(4096, false), 1);
  EXPECT_EQ(runs_of(4096, true), 1);
}

}  // namespace
}  // namespace axrun::tests
