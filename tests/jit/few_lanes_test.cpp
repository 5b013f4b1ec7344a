// Vector loops of literal extents: what lies beyond stays as it was, and is not read.
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

}  // namespace
}  // namespace axrun::tests
