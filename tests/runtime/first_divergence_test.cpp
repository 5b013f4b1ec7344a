// The search for the first node whose result differs from the reference's.
#include <gtest/gtest.h>

#include "ir/custom_operator.h"
#include "ir/text.h"
#include "runtime/run_control.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using runtime::RuntimeValue;

/// The sums of rows, plus an error that its definition does not know of.
class RowSums final : public ir::CustomOperator {
 public:
  explicit RowSums(float error)
      : CustomOperator("com.example", "RowSums", 1, "revision " + std::to_string(error)), error_(error) {}

  ir::Program define(const ir::OperatorContext& context) const override {
    static const ir::Program text =
        ir::parse("program RowSums(x: f32[n, c]) -> (y) { y: f32[n] = reduce sum (i: n; j: c) { x[i, j] } }");
    return ir::bind_expression(text, context, nullptr);
  }
  std::shared_ptr<const ir::CustomKernel> whole_kernel(const ir::Node&) const override {
    return std::make_shared<Kernel>(error_);
  }

 private:
  class Kernel final : public ir::CustomKernel {
   public:
    explicit Kernel(float error) : error_(error) {}
    void run(const std::vector<ir::Tensor>& inputs, std::vector<ir::CustomResult>& results,
             const ir::ParallelFor&) const override {
      for (int64_t row = 0; row < 4; ++row) {
        const double sum = inputs[0].get_real(2 * row) + inputs[0].get_real(2 * row + 1);
        results[0].tensor.set_real(row, sum + (row == 3 ? error_ : 0.0f));
      }
    }

   private:
    float error_;
  };
  float error_;
};

/// x [4, 2] -> Neg -> RowSums -> Abs -> Exp.
std::unique_ptr<runtime::Session> chain(float error, runtime::Tier tier = runtime::Tier::fallback) {
  ModelMaker m;
  const ir::ValueId sums = m.node("RowSums", {m.node("Neg", {m.input("x", ir::ElementType::f32, {4, 2})})});
  m.graph().nodes.back().domain = "com.example";
  m.graph().nodes.back().version = 1;
  m.graph().nodes.back().custom = std::make_shared<RowSums>(error);
  m.output(m.node("Exp", {m.node("Abs", {sums})}));
  ir::Model model;
  model.graph = std::make_shared<ir::Graph>(m.graph());
  model.ir_version = 8;
  model.opsets = {{"", 17}, {"com.example", 1}};
  return runtime::Session::load_model(std::move(model), one_thread(tier));
}

std::vector<RuntimeValue> inputs() { return {RuntimeValue(ModelMaker::random({4, 2}, 3))}; }

TEST(FirstDivergence, IsTheNodeAndTheReferenceGoesNoFarther) {
  std::vector<size_t> agreed;
  const runtime::DivergenceSearch found =
      chain(0.5f)->first_divergence(inputs(), 1e-4, nullptr, [&](size_t nodes) { agreed.push_back(nodes); });
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->op, "RowSums");
  EXPECT_NEAR(found.first->max_error, 0.5, 1e-6);
  EXPECT_GT(found.first->scale, 0);
  EXPECT_EQ(agreed, (std::vector<size_t>{1})) << "Neg, and nothing behind the node";
  EXPECT_TRUE(found.reference.empty());
}

TEST(FirstDivergence, WhereThereIsNoneTheReferencesOutputsAreThere) {
  std::vector<size_t> agreed;
  const auto session = chain(1e-7f);
  const runtime::DivergenceSearch found =
      session->first_divergence(inputs(), 1e-4, nullptr, [&](size_t nodes) { agreed.push_back(nodes); });
  EXPECT_FALSE(found.first);
  EXPECT_EQ(agreed, (std::vector<size_t>{1, 2, 3, 4}));
  ASSERT_EQ(found.reference.size(), 1u);
  const ir::Tensor exact = chain(0, runtime::Tier::reference)->run(inputs())[0].tensor;
  ASSERT_EQ(found.reference[0].tensor.type(), exact.type());
  for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(found.reference[0].tensor.get_real(k), exact.get_real(k));
  EXPECT_FALSE(chain(0.5f, runtime::Tier::reference)->first_divergence(inputs(), 1e-4).first);
}

TEST(FirstDivergence, EndsWhenItIsTold) {
  const auto session = chain(0.5f);
  runtime::RunControl control;
  control.set_deadline(runtime::RunControl::Clock::now());
  EXPECT_THROW(session->first_divergence(inputs(), 1e-4, &control), runtime::RunEnded);
  control.clear_deadline();
  // While the reference is at work.
  EXPECT_THROW(chain(1e-7f)->first_divergence(inputs(), 1e-4, &control, [&](size_t) { control.cancel(); }),
               runtime::RunEnded);
  control.reset();
  EXPECT_TRUE(session->first_divergence(inputs(), 1e-4, &control).first) << "the session serves on";
}

}  // namespace
}  // namespace axrun::tests
