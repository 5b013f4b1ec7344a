#include "runtime/optimizer/optimizer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "runtime/session.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using std::chrono::milliseconds;

constexpr double patience = 120;

/// A knob for the length of a test.
class Knobs {
 public:
  Knobs(std::initializer_list<std::pair<const char*, const char*>> values) {
    for (const auto& [name, value] : values) {
      names_.emplace_back(name);
      setenv(name, value, 1);
    }
  }
  ~Knobs() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  Knobs(const Knobs&) = delete;
  Knobs& operator=(const Knobs&) = delete;

 private:
  std::vector<std::string> names_;
};

/// x [rows, 24] -> product with constant weights, bias, gelu-like chain, softmax.
ModelMaker small_model(const ir::Dim& rows) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {rows, 24});
  ir::ValueId a = m.node("MatMul", {x, m.weights({24, 40}, 1)});
  a = m.node("Add", {a, m.weights({40}, 2)});
  a = m.node("Relu", {a});
  ir::ValueId b = m.node("Mul", {a, m.node("Sigmoid", {a})});
  b = m.node("MatMul", {b, m.weights({40, 16}, 3)});
  b = m.node("Softmax", {b}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
  m.output(b);
  return m;
}

SessionOptions one_thread() {
  SessionOptions options;
  options.threads = 1;
  return options;
}

std::string text_of(const OptimizerStatus& status) {
  std::string text = std::string(name_of(status.state)) + " " + status.reason + "\n";
  for (const OptimizedKernel& kernel : status.kernels) {
    text += kernel.ops + " [" + kernel.kind + "] " + name_of(kernel.state) + ": " + kernel.reason + " | " +
            kernel.proof + " | " + kernel.gate + "\n";
  }
  for (const PlanSwap& swap : status.swaps) text += swap.what + " " + swap.shapes + "\n";
  return text;
}

void expect_near(const ir::Tensor& got, const ir::Tensor& want, const std::string& where) {
  ASSERT_EQ(got.shape(), want.shape()) << where;
  for (int64_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-5) << where << " element " << i;
  }
}

TEST(Optimizer, VerifiedKernelsReplaceTheFallback) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_OPTIMIZER_PRIORITY", "normal"}};
  const auto session = small_model(6).session(one_thread());
  const ir::Tensor input = ModelMaker::random({6, 24}, 9);
  const ir::Tensor want = session->run({RuntimeValue(input)})[0].tensor.clone();
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_EQ(status.swapped, status.steps) << text_of(status);
  EXPECT_GE(status.steps, 3);
  EXPECT_EQ(status.worker_starts, 1) << text_of(status);
  expect_near(session->run({RuntimeValue(input)})[0].tensor, want, "swapped");
  printf("%s", text_of(status).c_str());
}

}  // namespace
}  // namespace axrun::tests
