// Loops that copy long runs, which one instruction does where the processor has one for that.
#include <gtest/gtest.h>

#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::Tensor;

bool has_one_instruction(const std::string& text) {
  const jit::Target target = jit::restricted(code_targets().front(), jit::Level::avx2);
  jit::CompileOptions options;
  options.annotate = true;
  return jit::KernelCode::compile(ir::loop::parse(text), target, options)
             ->assembly()
             .find("rep {rcx} movs") != std::string::npos;
}

/// Expected where the host has such an instruction.
void expect_one_instruction(const std::string& text) {
  if (code_targets().empty() || !code_targets().front().has("erms")) return;
  EXPECT_TRUE(has_one_instruction(text)) << text;
}

constexpr const char* with_tail = R"(loops f(n: 5000..9000) {
  input x: f32[3, n + 7]
  output y: f32[n + 5]
  for i < (n + 63) / 64 {
    vector v < min(64, -64*i + n) {
      y[64*i + v + 5] = x[1, 64*i + v + 2]
    }
  }
  vector v < 5 {
    y[v] = 7:f32
  }
}
)";

TEST(Copies, ARunWithATail) {
  expect_one_instruction(with_tail);
  expect_as_interpreted(with_tail, {{{"n", 5000}}, {{"n", 5001}}, {{"n", 5056}}, {{"n", 8999}}});
}

TEST(Copies, WholeVectorsOfBytes) {
  const std::string text = R"(loops f() {
  input x: bool[400, 64]
  output y: bool[25600]
  for i < 400 {
    vector v < 64 {
      y[64*i + v] = x[i, v]
    }
  }
}
)";
  expect_one_instruction(text);
  expect_as_interpreted(text, {{}});
}

TEST(Copies, RowsOfALargerTensor) {
  const std::string text = R"(loops f() {
  input x: f32[3, 5000]
  output y: f32[4, 6000]
  for r < 3 {
    for i < 79 {
      vector v < min(64, -64*i + 5000) {
        y[r + 1, 64*i + v + 999] = x[2 - r, 64*i + v]
      }
    }
    for i < 999 {
      y[r + 1, i] = 1:f32
    }
    y[r + 1, 5999] = 2:f32
  }
  for i < 6000 {
    y[0, i] = 0:f32
  }
}
)";
  expect_one_instruction(text);
  expect_as_interpreted(text, {{}});
}

TEST(Copies, WhatWasReadBeforeIsReadAgain) {
  const std::string text = R"(loops f() {
  input x: f32[8192]
  output y: f32[8192]
  output z: f32[2]
  allocate t: f32[8192] in memory
  t[3] = 5:f32
  z[0] = t[3]
  for i < 128 {
    vector v < 64 {
      t[64*i + v] = x[64*i + v]
    }
  }
  z[1] = t[3]
  for i < 128 {
    vector v < 64 {
      y[64*i + v] = add(t[64*i + v], 1:f32)
    }
  }
}
)";
  expect_one_instruction(text);
  expect_as_interpreted(text, {{}});
}

TEST(Copies, OtherLoopsAreNoCopies) {
  const std::string reversed = R"(loops f() {
  input x: f32[8192]
  output y: f32[8192]
  for i < 128 {
    vector v < 64 {
      y[64*i + v] = x[-64*i + v + 8128]
    }
  }
}
)";
  const std::string overlapping = R"(loops f() {
  input x: f32[9000]
  output y: f32[9000]
  for i < 140 {
    vector v < 65 {
      y[64*i + v] = x[64*i + v]
    }
  }
}
)";
  const std::string converted = R"(loops f() {
  input x: i32[8192]
  output y: f32[8192]
  for i < 128 {
    vector v < 64 {
      y[64*i + v] = cast:f32(x[64*i + v])
    }
  }
}
)";
  const std::string shorter = R"(loops f() {
  input x: f32[8192]
  output y: f32[8192]
  for i < 60 {
    vector v < 64 {
      y[64*i + v] = x[64*i + v]
    }
  }
}
)";
  if (code_targets().empty()) return;
  for (const std::string& text : {reversed, overlapping, converted, shorter})
    EXPECT_FALSE(has_one_instruction(text)) << text;
}

/// Ranges of odd sizes, the last one first.
class UnevenWorkers final : public jit::Workers {
 public:
  int count() const override { return 3; }
  void run(int64_t iterations, Body body, void* state) override {
    const int64_t cuts[] = {0, iterations / 7, iterations / 7 + 1, iterations};
    for (int worker = 2; worker >= 0; --worker) body(state, worker, cuts[worker], cuts[worker + 1]);
  }
};

TEST(Copies, SharedByWorkers) {
  std::string text = with_tail;
  text.replace(text.find("for i"), 3, "parallel");
  expect_one_instruction(text);
  const ir::loop::LoopProgram program = ir::loop::parse(text);
  UnevenWorkers workers;
  for (const jit::Target& target : code_targets()) {
    const auto code = jit::KernelCode::compile(program, target);
    for (const int64_t n : {5000, 5001, 5055, 5056, 9000}) {
      const SizeValues sizes = {{"n", n}};
      const std::vector<Tensor> inputs = inputs_of(program, sizes);
      const Tensor got = run_code(code, sizes, inputs, {}, workers).at(0);
      const Tensor want = interpret(program, sizes, inputs).outputs.at(0);
      for (int64_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(got.get_real(i), want.get_real(i)) << n << ", " << i;
    }
  }
}

}  // namespace
}  // namespace axrun::tests
