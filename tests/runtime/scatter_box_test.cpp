// ScatterElements with constant indices that cover a box: the definition takes them into its expression, so
// that the step reads no such operand. Kernels must find the indices all the same.
#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;

ir::Tensor counted(const ir::Shape& shape, double first) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::f32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_real(i, first + static_cast<double>(i));
  return tensor;
}

class ScatterBox : public testing::TestWithParam<std::string> {};

TEST_P(ScatterBox, IsWrittenWithoutAnOperandOfIndices) {
  for (const ElementType type : {ElementType::i32, ElementType::i64}) {
    ir::Tensor rows = ir::Tensor::allocate(type, {2, 3});
    for (int64_t i = 0; i < rows.size(); ++i) rows.set_int(i, 1 + i / 3);
    ModelMaker m(18);
    const ir::ValueId x = m.input("x", ElementType::f32, {4, 3});
    const ir::ValueId updates = m.input("updates", ElementType::f32, {2, 3});
    ir::Attribute reduction;
    reduction.kind = ir::Attribute::Kind::string;
    reduction.string = GetParam();
    m.output(m.node("ScatterElements", {x, m.constant(rows), updates}, {{"reduction", reduction}}));
    SessionOptions options;
    options.threads = 1;
    options.tier = Tier::fallback;
    const auto session = m.session(options);
    const ir::Tensor y =
        session->run({RuntimeValue(counted({4, 3}, 0)), RuntimeValue(counted({2, 3}, 100))})[0].tensor;
    for (int64_t i = 0; i < y.size(); ++i) {
      const double old = static_cast<double>(i), update = 97 + old;
      const bool is_written = i >= 3 && i < 9;
      const double both = GetParam() == "add" ? old + update : update;
      EXPECT_EQ(y.get_real(i), is_written ? both : old) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, ScatterBox, testing::Values("none", "add", "max"));

}  // namespace
}  // namespace axrun::tests
