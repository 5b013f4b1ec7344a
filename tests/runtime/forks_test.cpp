// Servers that load a model, then fork.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;

#if !defined(__SANITIZE_THREAD__)  // which forbids threads in a forked child
/// Servers that load, then fork workers: the children answer with all their threads, load more, and end.
class Forks : public testing::TestWithParam<const char*> {};

TEST_P(Forks, ChildrenAnswerLoadAndEnd) {
  setenv("AXRUN_PARALLEL", GetParam(), 1);
  ModelMaker m;
  const auto x = m.input("x", ir::ElementType::f32, {64, 256});
  m.output(m.node("MatMul", {x, m.weights({256, 256}, 1)}));
  SessionOptions options;
  options.threads = 4;
  options.optimize = false;
  auto session = m.session(options);
  const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({64, 256}, 2))};
  const ir::Tensor want = session->run(inputs)[0].tensor.clone();
  const auto answers = [&](Session& one) {
    const ir::Tensor got = one.run(inputs)[0].tensor;
    bool right = true;
    for (int64_t k = 0; k < want.size(); ++k) right &= std::fabs(got.get_real(k) - want.get_real(k)) < 1e-3;
    return right;
  };
  const auto wait_for = [](pid_t child) {
    for (int k = 0; k < 600; ++k) {
      int status = 0;
      if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
      usleep(50'000);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return 200;
  };
  for (int round = 0; round < 20; ++round) {
    session->run(inputs);  // its threads have just worked
    const pid_t child = fork();
    if (child == 0) {
      bool right = true;
      for (int k = 0; k < 10; ++k) right &= answers(*session);
      std::thread other([&] { right &= answers(*session); });
      other.join();
      auto second = m.session(options);
      right &= answers(*second);
      const pid_t grandchild = round % 10 == 0 ? fork() : -1;
      if (grandchild == 0) _exit(answers(*session) && answers(*second) ? 0 : 1);
      if (grandchild > 0) right &= wait_for(grandchild) == 0;
      second.reset();
      session.reset();  // ends in the child, too
      _exit(right ? 0 : 1);
    }
    ASSERT_EQ(wait_for(child), 0) << "round " << round;
    ASSERT_TRUE(answers(*session));
  }
  unsetenv("AXRUN_PARALLEL");
}

INSTANTIATE_TEST_SUITE_P(Pools, Forks, testing::Values("tbb", "threads"));
#endif

}  // namespace
}  // namespace axrun::tests
