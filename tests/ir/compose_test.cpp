#include "ir/compose.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/grammar.h"
#include "ir/text.h"

namespace axrun::ir {
namespace {

Tensor row(const std::vector<float>& values) {
  Tensor tensor = Tensor::allocate(ElementType::f32, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.as<float>()[k] = values[k];
  return tensor;
}

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values;
  for (int64_t k = 0; k < tensor.size(); ++k) values.push_back(static_cast<float>(tensor.get_real(k)));
  return values;
}

/// x op y over [n]; with a second output that is x - y.
Program binary_node(ScalarOp op, bool difference = false) {
  Builder b("node with a name");
  const Dim n = Dim::symbol("n");
  const TensorRef x = b.operand(0, ElementType::f32, {n}), y = b.operand(1, ElementType::f32, {n});
  b.output(b.map({n}, [&](const Indices& i) { return binary(op, x(i), y(i)); }));
  if (difference) b.output(b.map({n}, [&](const Indices& i) { return x(i) - y(i); }));
  return b.finish();
}

TEST(Compose, ChainsReadWhatEarlierPartsGive) {
  const Program add = binary_node(ScalarOp::add), mul = binary_node(ScalarOp::mul);
  // 10 = 1 + 2; 11 = 10 * 1; the result is 11.
  const Program program = compose("group", {{&add, {1, 2}, {10}}, {&mul, {10, 1}, {11}}}, {1, 2}, {11});
  EXPECT_EQ(violations(program).size(), 0u);
  EXPECT_EQ(program.stages.size(), 2u);
  EXPECT_EQ(program.tensors.size(), 4u);  // value 1 is one operand
  EXPECT_EQ(values_of(evaluate(program, {row({1, 2}), row({3, 4})})[0]), (std::vector<float>{4, 12}));
}

TEST(Compose, OrderOfOperandsAndOutputsIsAskedFor) {
  const Program add = binary_node(ScalarOp::add), both = binary_node(ScalarOp::mul, true);
  const Program program =
      compose("group", {{&add, {7, 8}, {1}}, {&both, {1, 8}, {2, 3}}}, {8, 9, 7}, {3, 1, 2});
  ASSERT_EQ(program.operands.size(), 3u);
  EXPECT_EQ(program.operands[1], none);  // nobody reads value 9
  const auto results = evaluate(program, {row({3}), Tensor(), row({1})});
  EXPECT_EQ(values_of(results[0]), (std::vector<float>{1}));
  EXPECT_EQ(values_of(results[1]), (std::vector<float>{4}));
  EXPECT_EQ(values_of(results[2]), (std::vector<float>{12}));
}

TEST(Compose, DeadStagesAndTheirOperandsAreDropped) {
  const Program both = binary_node(ScalarOp::mul, true), add = binary_node(ScalarOp::add);
  const Program program =
      compose("group", {{&add, {1, 2}, {5}}, {&both, {1, 3}, {6, absent}}}, {1, 2, 3}, {6});
  EXPECT_EQ(program.stages.size(), 1u);
  EXPECT_EQ(program.operands[1], none);
  EXPECT_EQ(values_of(evaluate(program, {row({2}), Tensor(), row({5})})[0]), (std::vector<float>{10}));
}

TEST(Compose, NamesAreWordsAndUnique) {
  const Program add = binary_node(ScalarOp::add);
  const Program program = compose("a group/1", {{&add, {1, 2}, {3}}, {&add, {3, 2}, {4}}}, {1, 2}, {4});
  EXPECT_EQ(program.name, "a_group_1");
  EXPECT_EQ(parse(print(program)).stages.size(), 2u);
  EXPECT_NE(program.stages[0].name, program.stages[1].name);
}

TEST(Compose, WhatIsNotComputedIsRefused) {
  const Program add = binary_node(ScalarOp::add);
  EXPECT_THROW(compose("group", {{&add, {1, 2}, {3}}}, {1}, {3}), Error);
  EXPECT_THROW(compose("group", {{&add, {1, 2}, {3}}}, {1, 2}, {4}), Error);
}

}  // namespace
}  // namespace axrun::ir
