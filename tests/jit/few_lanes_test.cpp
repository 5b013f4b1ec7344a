// Vector loops of literal extents: what lies beyond stays as it was, and is not read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::Tensor;
using ir::loop::LoopProgram;

TEST(FewLanes, AreLoadedAndStoredAlone) {
  for (const jit::Target& target : code_targets()) {
    for (int64_t few = 1; few <= 20; ++few) {
      const std::string extent = std::to_string(few);
      const LoopProgram program = ir::loop::parse(R"(loops few() {
  input x: f32[3, )" + extent + R"(]
  output y: f32[3, 24]
  for i < 3 {
    vector v < 24 {
      y[i, v] = 7:f32
    }
    vector w < )" + extent + R"( {
      y[i, w] = add(x[i, w], guarded(x[i, w + 1], less(index(w + 1), )" +
                                                  extent + R"(:i64), 5:f32))
    }
    vector u < )" + extent + R"( {
      y[i, u] += guarded(x[i, u], less(index(u), 2:i64), 0:f32)
    }
  }
}
)");
      const Tensor x = small_integers({3, few}, static_cast<unsigned>(few));
      const ir::loop::Outcome want = interpret(program, {}, {x});
      ASSERT_FALSE(want.mistake) << want.text;
      const Tensor y = run_code(jit::KernelCode::compile(program, target, {}), {}, {x})[0];
      for (int64_t k = 0; k < y.size(); ++k)
        ASSERT_EQ(y.get_real(k), want.outputs[0].get_real(k)) << target.name << ": " << few << " at " << k;
    }
  }
}

/// Rows of any length, so that 16 bytes fit into the buffer around some lanes' bytes, and not around others'.
TEST(FewLanes, AreEveryOtherByte) {
  using ir::ElementType;
  for (int64_t columns = 2; columns <= 40; ++columns) {
    for (const ElementType type : {ElementType::u8, ElementType::i8}) {
      const LoopProgram program = ir::loop::parse(
          fmt::format(R"(loops bytes() {{
  input x: {type}[3, {all}]
  output y: i32[3, {even}]
  output z: i32[3, {odd}]
  for i < 3 {{
    vector v < {even} {{
      y[i, v] = cast:i32(x[i, 2*v])
    }}
    vector w < {odd} {{
      z[i, w] = cast:i32(x[i, 2*w + 1])
    }}
  }}
}}
)",
                      fmt::arg("type", type == ElementType::u8 ? "u8" : "i8"), fmt::arg("all", columns),
                      fmt::arg("even", (columns + 1) / 2), fmt::arg("odd", columns / 2)));
      Tensor x = Tensor::allocate(type, {3, columns});
      for (int64_t k = 0; k < x.size(); ++k)
        x.set_int(k, (k * 37 + 11) % 256 - (type == ElementType::i8 ? 128 : 0));
      const ir::loop::Outcome want = interpret(program, {}, {x});
      ASSERT_FALSE(want.mistake) << want.text;
      for (const jit::Target& target : code_targets()) {
        const auto got = run_code(jit::KernelCode::compile(program, target, {}), {}, {x});
        for (size_t output : {size_t{0}, size_t{1}}) {
          for (int64_t k = 0; k < got[output].size(); ++k)
            ASSERT_EQ(got[output].get_int(k), want.outputs[output].get_int(k)) << columns << " at " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
