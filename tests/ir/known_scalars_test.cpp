#include "ir/known_scalars.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/bounded_scales.h"
#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/grammar.h"
#include "ir/text.h"

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

/// x - z by columns, times s by columns.
Program dequantized(ElementType type = ElementType::i8) {
  Builder b("dequantized");
  const TensorRef x = b.operand(0, type, {2, 3}), s = b.operand(1, ElementType::f32, {3}),
                  z = b.operand(2, type, {3});
  const auto wide = [](const Scalar& one) { return cast(ElementType::i32, one); };
  b.output(b.map({2, 3}, [&](const Indices& i) {
    return cast(ElementType::f32, wide(x(i)) - wide(z({i[1]}))) * s({i[1]});
  }));
  return b.finish();
}

Tensor integers(const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::allocate(ElementType::i8, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

TEST(KnownScalars, EqualIntegersAreOne) {
  const Tensor equal = integers({5, 5, 5}), others = integers({5, 5, 4});
  EXPECT_EQ(with_known_scalars(dequantized(), {nullptr, nullptr, &equal}).operands[2], none);
  EXPECT_NE(with_known_scalars(dequantized(), {nullptr, nullptr, &others}).operands[2], none);
  // Vectors of floats are data.
  const Tensor twos = filled({3}, 2);
  EXPECT_NE(with_known_scalars(dequantized(), {nullptr, &twos, nullptr}).operands[1], none);
}

std::vector<double> values_of(const Program& program, const Tensor& scales) {
  Tensor x = Tensor::allocate(ElementType::i8, {2, 3});
  for (int64_t k = 0; k < 6; ++k) x.set_int(k, 10 * k - 20);
  const Tensor y = evaluate(program, {x, scales, integers({1, 2, 3})})[0];
  std::vector<double> values;
  for (int64_t k = 0; k < y.size(); ++k) values.push_back(y.get_real(k));
  return values;
}

TEST(BoundedScales, AreThoseThatAreWithinBounds) {
  Tensor scales = filled({3}, 0.5);
  scales.set_real(1, 0x1p-40);
  scales.set_real(2, 0x1p40);
  const Program program = bounded_scales(dequantized(), {nullptr, &scales, nullptr});
  EXPECT_TRUE(violations(program).empty());
  EXPECT_EQ(values_of(program, scales), values_of(dequantized(), scales));
  // Of others the program makes other things, which are finite.
  const Tensor zeros = filled({3}, 0), infinite = filled({3}, HUGE_VAL);
  EXPECT_EQ(values_of(program, zeros)[0], -21 * 0x1p-40);
  EXPECT_EQ(values_of(program, infinite)[0], -21 * 0x1p40);
}

TEST(BoundedScales, OthersStayAsTheyAre) {
  const std::string plain = print(dequantized());
  for (const double other : {0.0, -1.0, 0x1p-41, 0x1p41, HUGE_VAL, std::nan("")}) {
    Tensor scales = filled({3}, 0.5);
    scales.set_real(2, other);
    EXPECT_EQ(print(bounded_scales(dequantized(), {nullptr, &scales, nullptr})), plain) << other;
  }
  EXPECT_EQ(print(bounded_scales(dequantized(), {nullptr, nullptr, nullptr})), plain);
  // No integers: factors of floats may be anything.
  const Tensor ones = filled({3}, 1), two = filled({}, 2);
  EXPECT_EQ(print(bounded_scales(scaled(), {&ones, &two, nullptr})), print(scaled()));
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
