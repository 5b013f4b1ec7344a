#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>

#include "jit/detect.h"
#include "jit/executable_memory.h"
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

/// Called when a fork has begun, as other threads may go on then.
std::function<void()> while_forking;

/// Before the generator's own handlers, so called after these.
[[gnu::constructor(101)]] void register_handler() {
  pthread_atfork(
      [] {
        if (while_forking) while_forking();
      },
      nullptr, nullptr);
}

/// Forks; the child goes on when the parent has done its part, and says whether all is right.
void fork_and_check(const std::function<void()>& parent, const std::function<bool()>& child) {
  std::array<int, 2> done{};
  ASSERT_EQ(pipe(done.data()), 0);
  const pid_t process = fork();
  if (process == 0) {
    char byte = 0;
    _exit(read(done[0], &byte, 1) == 1 && child() ? 0 : 1);
  }
  parent();
  ASSERT_EQ(write(done[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  close(done[0]);
  close(done[1]);
}

/// What is made on one side of a fork stays out of the other one's code.
TEST(Fork, ParentAndChildMakeCodeSideBySide) {
  const auto before = constant(1);
  std::shared_ptr<const jit::KernelCode> mine;
  fork_and_check([&] { mine = constant(2); },
                 [&] {
                   mine = constant(3);
                   return run_constant(*before) == 1 && run_constant(*mine) == 3;
                 });
  EXPECT_EQ(run_constant(*before), 1);
  EXPECT_EQ(run_constant(*mine), 2);
}

TEST(Fork, CodeMadeWhileAForkIsUnderWay) {
  std::shared_ptr<const jit::KernelCode> before, mine;
  const uint64_t earlier = jit::shared_memory()->made_at();
  while_forking = [&] {
    before = constant(1);
    EXPECT_GT(jit::shared_memory()->made_at(), earlier) << "the fork had not begun";
  };
  fork_and_check([&] { mine = constant(2); },
                 [&] {
                   mine = constant(3);
                   return run_constant(*before) == 1 && run_constant(*mine) == 3;
                 });
  while_forking = nullptr;
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(run_constant(*before), 1);
  EXPECT_EQ(run_constant(*mine), 2);
}

/// One that asked for memory before the fork may place its code after it.
TEST(Fork, CodeThatTheParentGivesUpStaysTheChilds) {
  const auto memory = jit::shared_memory();
  auto before = constant(1);
  const void* place = before->code();
  const size_t bytes = before->code_bytes();
  fork_and_check(
      [&] {
        before.reset();
        void *executed = nullptr, *written = nullptr;
        ASSERT_EQ(memory->alloc(&executed, &written, bytes), asmjit::kErrorOk);
        EXPECT_NE(executed, place);
        std::memset(written, 0xcc, bytes);
      },
      [&] { return run_constant(*before) == 1; });
}

}  // namespace
}  // namespace axrun::tests
