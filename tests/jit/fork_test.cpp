#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "jit/detect.h"
#include "jit/kernel_code.h"

namespace axrun::tests {
namespace {

/// y[0] = value.
float run_constant(const jit::KernelCode& code) {
  jit::BoundKernel kernel(std::shared_ptr<const jit::KernelCode>(std::shared_ptr<void>(), &code), {});
  float y = 0;
  void* outputs[] = {&y};
  kernel.run(nullptr, outputs, nullptr, jit::inline_workers());
  return y;
}

std::shared_ptr<const jit::KernelCode> constant(int value) {
  const std::string text =
      "loops one() {\n  output y: f32[1]\n  y[0] = " + std::to_string(value) + ":f32\n}\n";
  return jit::KernelCode::compile(ir::loop::parse(text), jit::detect_target());
}

/// What is made on one side of a fork stays out of the other one's code.
TEST(Fork, ParentAndChildMakeCodeSideBySide) {
  const auto before = constant(1);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    bool right = read(ready[0], &byte, 1) == 1;  // the parent has made its kernel
    const auto mine = constant(3);
    right = right && run_constant(*before) == 1 && run_constant(*mine) == 3;
    _exit(right ? 0 : 1);
  }
  const auto mine = constant(2);
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(run_constant(*before), 1);
  EXPECT_EQ(run_constant(*mine), 2);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace axrun::tests
