#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/text.h"
#include "tests/search/machine_code.h"
#include "tests/search/type_cases.h"

namespace axrun::tests {
namespace {

class Types : public testing::TestWithParam<Case> {};

TEST_P(Types, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, Types, testing::ValuesIn(type_cases()),
                         [](const auto& info) { return info.param.name; });

/// x[rows, 40] times w[40, 70], of 16 bits each.
ir::Program halves_product(const char* type, int64_t rows) {
  const std::string r = std::to_string(rows);
  return ir::parse("program m(x: f32[" + r + ", 40], w: " + type + "[40, 70]) -> (y) {\n  y: f32[" + r +
                   ", 70] = reduce sum (i0: " + r +
                   ", i1: 70; r0: 40) { x[i0, r0] * cast(f32, w[r0, i1]) }\n}");
}

/// Weights stay narrow in memory where few rows are multiplied by them.
TEST(NarrowWeights, ArePackedAsTheyAre) {
  const auto packed_as = [](int64_t rows, ir::ElementType type) {
    const auto lowered = search::lower(halves_product(type == ir::ElementType::bf16 ? "bf16" : "f16", rows),
                                       {}, {false, true}, avx512_like());
    return std::any_of(lowered.program->buffers.begin(), lowered.program->buffers.end(),
                       [&](const auto& one) {
                         return one.role == ir::loop::Role::scratch && one.level == ir::loop::Level::memory &&
                                one.type == type;
                       });
  };
  for (const ir::ElementType type : {ir::ElementType::bf16, ir::ElementType::f16}) {
    EXPECT_TRUE(packed_as(1, type));
    EXPECT_TRUE(packed_as(16, type));
    EXPECT_FALSE(packed_as(64, type));
  }
}

/// Every one of 16 bits, denormals and infinities too, is multiplied as what it is.
TEST(NarrowWeights, EveryValueIsItself) {
  for (const char* name : {"bf16", "f16"}) {
    const ir::Program expression = ir::parse(std::string("program m(x: f32[2], w: ") + name +
                                             "[2, 65536]) -> (y) {\n  y: f32[65536] = reduce sum (i0: 65536; "
                                             "r0: 2) { x[r0] * cast(f32, w[r0, i0]) }\n}");
    ir::Tensor x = ir::Tensor::allocate(ir::ElementType::f32, {2});
    x.as<float>()[0] = 1;
    ir::Tensor w = ir::Tensor::allocate(expression.tensors[1].type, {2, 65536});
    for (int64_t i = 0; i < 65536; ++i) w.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    for (const jit::Target& target : targets_with_code()) {
      const auto lowered = search::lower(expression, {}, {false, true}, target);
      ASSERT_TRUE(lowered.program) << lowered.reason;
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      const ir::Tensor y = run_guarded(code, {}, {x, w}, {false, true}, verify::Placement::ends_at_guard)[0];
      for (int64_t i = 0; i < 65536; ++i) {
        const double want = w.get_real(i);
        ASSERT_TRUE(y.get_real(i) == want || (std::isnan(want) && std::isnan(y.get_real(i))))
            << name << ' ' << i << ": " << y.get_real(i) << " instead of " << want;
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
