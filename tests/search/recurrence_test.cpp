// Machine code of scans, and what has no schedule.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/loop/interpreter.h"
#include "tests/search/machine_code.h"
#include "tests/search/recurrence_cases.h"

namespace axrun::tests {
namespace {

/// By the definition; absent operands are left out of `inputs`.
std::vector<ir::Tensor> evaluated(const ir::Program& program, const std::vector<ir::Tensor>& inputs) {
  std::vector<ir::Tensor> operands(program.operands.size());
  size_t next = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (program.operands[k] != ir::none) operands[k] = inputs[next++];
  }
  return ir::evaluate(program, operands);
}

class EveryRecurrence : public testing::TestWithParam<Case> {};

TEST_P(EveryRecurrence, IsComputed) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Recurrences, EveryRecurrence, testing::ValuesIn(recurrence_cases()),
                         [](const auto& info) { return info.param.name; });

/// What each length does: those that fit give what the definition gives, the others are errors.
TEST(Recurrence, LengthsThatDoNotFitAreErrorsBackwards) {
  constexpr int64_t steps = 5;
  const ir::Program program =
      program_of({.op = "GRU", .length = steps, .batch = 3, .direction = "reverse", .lengths = true});
  std::mt19937 random(1);
  std::vector<ir::Tensor> inputs;
  for (const ir::TensorId id : program.operands) {
    if (id == ir::none) continue;
    const ir::TensorDecl& operand = program.tensors[static_cast<size_t>(id)];
    const ir::Shape shape = shape_at(operand.dims, {});
    const bool real = operand.type == ir::ElementType::f32;
    inputs.push_back(real ? halves(shape, false, random) : ir::Tensor::allocate(operand.type, shape));
  }
  const auto lengths = std::find_if(inputs.begin(), inputs.end(),
                                    [](const auto& one) { return one.type() == ir::ElementType::i32; });
  ASSERT_NE(lengths, inputs.end());
  for (const jit::Target& target : targets_with_code()) {
    const search::Lowered lowered = search::lower(program, {}, {}, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const auto code = jit::KernelCode::compile(*lowered.program, target, {});
    for (int64_t place = 0; place < 3; ++place) {
      for (const int64_t length : {int64_t{0}, int64_t{3}, steps, steps + 1, int64_t{INT32_MAX}, int64_t{-1},
                                   -steps - 1, -steps - 2, int64_t{INT32_MIN}}) {
        for (int64_t k = 0; k < 3; ++k) lengths->set_int(k, k == place ? length : 2);
        const auto run = [&] {
          return run_guarded(code, {}, inputs, {}, verify::Placement::ends_at_guard)[0];
        };
        if (length > steps || length < -steps - 1) {
          EXPECT_THROW(run(), Error) << length;
          EXPECT_THROW(ir::loop::interpret(*lowered.program, {}, inputs), Error) << length;
          EXPECT_THROW(evaluated(program, inputs), Error) << length;
          continue;
        }
        const ir::Tensor got = run(), want = evaluated(program, inputs)[0];
        for (int64_t i = 0; i < want.size(); ++i)
          EXPECT_NEAR(got.get_real(i), want.get_real(i), 1e-5) << length << " element " << i;
      }
    }
  }
}

/// A scan whose step has a scan.
TEST(Recurrence, ScansWithinScansHaveNoSchedule) {
  using ir::Builder;
  const ir::Dims width = {4};
  Builder b("nested");
  const auto x = b.operand(0, ir::ElementType::f32, width, "x");
  const auto again = [&](Builder& step, const auto&, const auto& states) {
    const auto more = step.map(width, [&](const ir::Indices& i) { return states[0](i) * 2.0; });
    return Builder::StepResult{{more}, {}};
  };
  const auto outer = [&](Builder& step, const auto&, const auto& states) {
    return Builder::StepResult{step.scan(3, {}, {states[0]}, again), {}};
  };
  b.output(b.scan(5, {}, {x}, outer)[0]);
  const search::Lowered lowered = search::lower(b.finish(), {}, {false}, avx512_like());
  EXPECT_FALSE(lowered.program);
  EXPECT_NE(lowered.reason.find("a scan within a scan"), std::string::npos) << lowered.reason;
}

}  // namespace
}  // namespace axrun::tests
