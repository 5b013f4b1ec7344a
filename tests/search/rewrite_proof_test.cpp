// What default schedules compute is proved to be what was asked for: the expression as it was simplified
// means the same as the one that was given.
#include "verify/rewrite_proof.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/grammar.h"
#include "ir/text.h"
#include "tests/search/cases.h"
#include "tests/search/quantized_cases.h"

namespace axrun::tests {
namespace {

class EveryRewrite : public testing::TestWithParam<Case> {};

TEST_P(EveryRewrite, IsProved) {
  const Case& c = GetParam();
  const ir::Program expression = c.make();
  const search::Lowered lowered = search::lower(expression, c.sizes, c.constant, avx2_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  const verify::Evidence evidence = verify::prove_rewrite(expression, lowered.expression, c.sizes);
  EXPECT_EQ(name_of(evidence.verdict), "proved") << evidence.text << '\n'
                                                 << ir::print(expression) << ir::print(lowered.expression);
}

INSTANTIATE_TEST_SUITE_P(Lowering, EveryRewrite, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

/// One change of one expression node, or of what a scan hands on; the result may be no valid program.
ir::Program mutant(ir::Program program, std::mt19937_64& random) {
  using ir::ScalarOp;
  for (ir::Stage& stage : program.stages) {
    if (!stage.step || random() % 2 == 0) continue;
    ir::Program step = *stage.step;
    if (random() % 4 == 0) {
      std::swap(step.outputs[random() % step.outputs.size()], step.outputs[random() % step.outputs.size()]);
    } else if (random() % 4 == 0) {
      std::swap(stage.initial.front(), stage.initial.back());
    } else {
      step = mutant(std::move(step), random);
    }
    stage.step = std::make_shared<const ir::Program>(std::move(step));
    return program;
  }
  if (program.exprs.empty()) return program;
  ir::Expr& e = program.exprs[random() % program.exprs.size()];
  const bool up = random() % 2 == 0;
  constexpr ScalarOp others[] = {ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::div,
                                 ScalarOp::min, ScalarOp::max, ScalarOp::neg, ScalarOp::abs};
  switch (e.op) {
    case ScalarOp::real:
      e.real += up ? 1 : -0.5;
      break;
    case ScalarOp::integer:
    case ScalarOp::axis:
      e.integer += up ? 1 : -1;
      break;
    case ScalarOp::extent:
      e.dim = e.dim + ir::Dim(up ? 1 : -1);
      break;
    case ScalarOp::load:
      if (e.indices.size() > 1 && up) {
        std::swap(e.indices[0], e.indices[1]);
      } else {
        e.integer = static_cast<int64_t>(random() % program.tensors.size());
      }
      break;
    default:
      if (e.args[1] != ir::none && up) {
        std::swap(e.args[0], e.args[1]);
      } else {
        e.op = others[random() % std::size(others)];
      }
  }
  return program;
}

/// Elements of all outputs, one after another; empty where the expression cannot be evaluated.
std::vector<double> values_of(const ir::Program& program, const SizeValues& sizes) {
  std::map<std::string, ir::Dim> known(sizes.begin(), sizes.end());
  std::mt19937_64 random(5);
  std::vector<ir::Tensor> operands;
  for (const ir::TensorId id : program.operands) {
    operands.emplace_back();
    if (id == ir::none) continue;
    ir::Shape shape;
    const ir::TensorDecl& tensor = program.tensors[static_cast<size_t>(id)];
    for (const ir::Dim& dim : tensor.dims) shape.push_back(dim.substitute(known).value());
    operands.back() = ir::Tensor::allocate(tensor.type, shape);
    for (int64_t i = 0; i < operands.back().size(); ++i) {
      const auto value = static_cast<int64_t>(random() % 9) - 4;
      if (is_float(tensor.type)) {
        operands.back().set_real(i, static_cast<double>(value) / 2);
      } else {
        operands.back().set_int(i, tensor.type == ir::ElementType::boolean ? value & 1 : value);
      }
    }
  }
  std::vector<double> found;
  try {
    for (const ir::Tensor& output : ir::evaluate(program, operands)) {
      for (int64_t i = 0; i < output.size(); ++i) found.push_back(output.get_real(i));
    }
  } catch (const Error&) {
    found.clear();
  }
  return found;
}

bool differ(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return true;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool close = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                       std::abs(a[i] - b[i]) <= 1e-4 * std::max(1.0, std::abs(b[i]));
    if (!close) return true;
  }
  return false;
}

TEST(Rewrites, WrongOnesAreNotProved) {
  int wrong = 0, proved = 0;
  std::mt19937_64 random(1);
  std::vector<std::pair<Case, jit::Target>> cases;
  for (Case& c : all_cases()) cases.emplace_back(std::move(c), avx2_like());
  for (Case& c : byte_cases()) cases.emplace_back(std::move(c), with_byte_products());
  for (const auto& [c, target] : cases) {
    const ir::Program expression = c.make();
    const search::Lowered lowered = search::lower(expression, c.sizes, c.constant, target);
    for (int k = 0; k < 24; ++k) {
      const ir::Program changed = mutant(lowered.expression, random);
      if (!ir::violations(changed).empty()) continue;
      if (verify::prove_rewrite(expression, changed, c.sizes).verdict == verify::Verdict::proved) {
        ++proved;  // equal all the same
        for (const SizeValues& sizes : c.values) {
          EXPECT_FALSE(differ(values_of(expression, sizes), values_of(changed, sizes)))
              << c.name << '\n'
              << ir::print(expression) << ir::print(changed);
        }
      } else {
        wrong += differ(values_of(expression, c.values.back()), values_of(changed, c.values.back())) ? 1 : 0;
      }
    }
  }
  EXPECT_GE(wrong, 200);
  RecordProperty("wrong", wrong);
  RecordProperty("proved", proved);
}

}  // namespace
}  // namespace axrun::tests
