// Reductions and maps of rows as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

using ir::Builder;
using ir::Dim;
using ir::Indices;
using ir::Program;
using ir::Tensor;
using Kind = ir::Monoid::Kind;

Program softmax(const Dim& m, const Dim& n) {
  Builder b("softmax");
  const auto x = b.operand(0, ir::ElementType::f32, {m, n}, "x");
  const auto top = b.reduce(Kind::max, {m}, {n}, [&](const Indices& i, const Indices& r) {
    return x({i[0], r[0]});
  });
  const auto power = b.map({m, n}, [&](const Indices& i) { return exp(x(i) - top({i[0]})); });
  const auto total = b.sum({m}, {n}, [&](const Indices& i, const Indices& r) { return power({i[0], r[0]}); });
  b.output(b.map({m, n}, [&](const Indices& i) { return power(i) / total({i[0]}); }));
  return b.finish();
}

Program layer_norm(const Dim& m, const Dim& n) {
  Builder b("layer_norm");
  const auto x = b.operand(0, ir::ElementType::f32, {m, n}, "x");
  const auto scale = b.operand(1, ir::ElementType::f32, {n}, "scale");
  const auto total = b.sum({m}, {n}, [&](const Indices& i, const Indices& r) { return x({i[0], r[0]}); });
  const auto deviation = [&](const Indices& i) { return x(i) - total({i[0]}) * (1.0 / 64); };
  const auto squares = b.sum({m}, {n}, [&](const Indices& i, const Indices& r) {
    return deviation({i[0], r[0]}) * deviation({i[0], r[0]});
  });
  b.output(b.map({m, n}, [&](const Indices& i) {
    return deviation(i) / sqrt(squares({i[0]}) * (1.0 / 64) + 1e-3) * scale({i[1]});
  }));
  return b.finish();
}

Program extremes(const Dim& m, const Dim& n) {
  Builder b("extremes");
  const auto x = b.operand(0, ir::ElementType::f32, {m, n}, "x");
  const auto element = [&](const Indices& i, const Indices& r) { return x({i[0], r[0]}); };
  b.output(b.reduce(Kind::max, {m}, {n}, element));
  b.output(b.reduce(Kind::min, {m}, {n}, element));
  return b.finish();
}

/// Ordinary numbers; or masked scores, infinities, NaN, denormals among them, in some rows.
Tensor data(const ir::Shape& shape, bool special, std::mt19937& random) {
  Tensor tensor = Tensor::allocate(ir::ElementType::f32, shape);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float values[] = {std::nanf(""), infinity, -infinity, 1e-40F, -1e-40F,
                          -1e9F,         -3e38F,   -103.5F,   -90.0F, 0.0F};
  std::uniform_real_distribution<float> number(-3, 3);
  std::uniform_int_distribution<int> chosen(0, 9), rare(0, 29), kind_of_row(0, 3);
  const int64_t columns = shape.back();
  for (int64_t row = 0; row < tensor.size() / columns; ++row) {
    const int kind = special ? kind_of_row(random) : 0;
    for (int64_t i = 0; i < columns; ++i) {
      float& value = tensor.as<float>()[row * columns + i];
      value = number(random);
      if (kind == 1 && rare(random) == 0) value = values[chosen(random)];          // anything
      if (kind == 2 && rare(random) < 10) value = values[5 + chosen(random) / 2];  // large negative ones
      if (kind == 3) value = values[2 + chosen(random) / 5 * 3];  // a whole row of -infinity, -1e9
    }
  }
  return tensor;
}

using Make = Program (*)(const Dim& m, const Dim& n);

/// `open`: the code is made once for all sizes.
void expect_right(Make make, bool open, const std::vector<std::pair<int64_t, int64_t>>& all_sizes) {
  for (const jit::Target& target : targets_with_code()) {
    std::shared_ptr<const jit::KernelCode> code;
    for (const auto& [m, n] : all_sizes) {
      const Program expression = make(Dim(m), Dim(n));
      if (!open || !code) {
        const search::Lowered lowered =
            open ? search::lower(make(sym("m"), sym("n")), {{"m", 1, 4096, 1}, {"n", 1, 4096, 1}},
                                 {false, true}, target)
                 : search::lower(expression, {}, {false, true}, target);
        ASSERT_TRUE(lowered.program) << lowered.reason;
        ASSERT_TRUE(n == 1 || lowered.kind.substr(0, 4) == "rows") << lowered.kind;
        code = jit::KernelCode::compile(*lowered.program, target, {});
      }
      const SizeValues sizes = open ? SizeValues{{"m", m}, {"n", n}} : SizeValues{};
      for (const bool special : {false, true}) {
        std::mt19937 random(static_cast<unsigned>(1000 * m + n));
        std::vector<Tensor> inputs = {data({m, n}, special, random)};
        if (expression.operands.size() > 1) inputs.push_back(data({n}, false, random));
        const std::vector<Tensor> want = ir::evaluate(expression, inputs);
        const auto placement =
            m % 2 == 0 ? verify::Placement::ends_at_guard : verify::Placement::begins_at_guard;
        const std::vector<Tensor> got = run_guarded(code, sizes, inputs, {}, placement);
        ASSERT_EQ(got.size(), want.size());
        for (size_t k = 0; k < got.size(); ++k) {
          for (int64_t i = 0; i < want[k].size(); ++i) {
            const double a = got[k].get_real(i), b = want[k].get_real(i);
            if (a == b || (std::isnan(a) && std::isnan(b))) continue;
            ASSERT_LE(std::abs(a - b), 4e-6 * std::abs(b) + 1e-6)
                << expression.name << " of " << m << " x " << n << (open ? ", open" : "")
                << (special ? ", special values" : "") << ", " << target.vector_bytes << " bytes: element "
                << i << " is " << a << " instead of " << b;
          }
        }
      }
    }
  }
}

/// Rows short of a tile, tails of all lengths, rows that are too long for several at once.
const std::vector<std::pair<int64_t, int64_t>> sizes = {
    {1, 1},  {2, 7},   {3, 16},  {4, 17},  {5, 31},  {6, 32},   {7, 33},   {8, 64},
    {9, 65}, {1, 100}, {4, 128}, {6, 130}, {3, 384}, {5, 1024}, {2, 2000},
};

TEST(Rows, Softmax) { expect_right(softmax, false, sizes); }
TEST(Rows, SoftmaxOfAnySize) { expect_right(softmax, true, sizes); }
TEST(Rows, LayerNormalization) { expect_right(layer_norm, false, sizes); }
TEST(Rows, LayerNormalizationOfAnySize) { expect_right(layer_norm, true, sizes); }
TEST(Rows, Extremes) { expect_right(extremes, false, sizes); }
TEST(Rows, ExtremesOfAnySize) { expect_right(extremes, true, sizes); }

}  // namespace
}  // namespace axrun::tests
