#include "ir/known_scalars.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/grammar.h"

namespace axrun::ir {
namespace {

Tensor filled(const Shape& shape, double value) {
  Tensor tensor = Tensor::allocate(ElementType::f32, shape);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_real(k, value);
  return tensor;
}

/// x * s + y, s and y scalars.
Program scaled() {
  Builder b("scaled");
  const TensorRef x = b.operand(0, ElementType::f32, {3}), s = b.operand(1, ElementType::f32, {}),
                  y = b.operand(2, ElementType::f32, {1, 1});
  b.output(b.map({3}, [&](const Indices& i) { return x(i) * s({}) + y({b.integer(0), b.integer(0)}); }));
  return b.finish();
}

TEST(KnownScalars, BecomeLiterals) {
  const Tensor two = filled({}, 2), three = filled({1, 1}, 3);
  const Program program = with_known_scalars(scaled(), {nullptr, &two, &three});
  EXPECT_TRUE(violations(program).empty());
  EXPECT_EQ(program.operands, (std::vector<TensorId>{0, none, none}));
  EXPECT_EQ(evaluate(program, {filled({3}, 5), Tensor(), Tensor()})[0].get_real(1), 13.0);
}

TEST(KnownScalars, UnknownOnesAndTensorsStay) {
  const Tensor two = filled({}, 2), row = filled({3}, 1);
  const Program program = with_known_scalars(scaled(), {&row, &two, nullptr});
  EXPECT_NE(program.operands[0], none);
  EXPECT_EQ(program.operands[1], none);
  EXPECT_NE(program.operands[2], none);
}

TEST(KnownSizes, AreWrittenInto) {
  Builder b("mean");
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  const TensorRef x = b.operand(0, ElementType::f32, {m, n});
  const TensorRef sum = b.sum({m}, {n}, [&](const Indices& i, const Indices& r) { return x({i[0], r[0]}); });
  b.output(b.map({m}, [&](const Indices& i) { return sum(i) / cast(ElementType::f32, b.extent(n)); }));
  const Program program = with_known_sizes(b.program(), {{"n", Dim(4)}});
  EXPECT_TRUE(violations(program).empty());
  EXPECT_EQ(to_string(program.tensors[0].dims), "[m, 4]");
  EXPECT_EQ(evaluate(program, {filled({2, 4}, 3)})[0].get_real(1), 3.0);
}

}  // namespace
}  // namespace axrun::ir
