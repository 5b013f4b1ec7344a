#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "ir/evaluate.h"
#include "tests/ir/naive_evaluate.h"
#include "tests/ir/random_program.h"

namespace axrun::ir {
namespace {

/// AXRUN_SEED=n runs that one program only.
std::vector<uint64_t> seeds() {
  if (const char* seed = std::getenv("AXRUN_SEED")) return {std::strtoull(seed, nullptr, 10)};
  std::vector<uint64_t> all;
  for (uint64_t seed = 1; seed <= 1500; ++seed) all.push_back(seed);
  return all;
}

void in_threads(int64_t count, const std::function<void(int64_t, int64_t)>& body) {
  std::vector<std::thread> threads;
  for (int64_t part = 0; part < 3; ++part) {
    threads.emplace_back([&, part] { body(count * part / 3, count * (part + 1) / 3); });
  }
  for (std::thread& thread : threads) thread.join();
}

void check(uint64_t seed) {
  RandomProgram made = random_program(seed);
  std::vector<Tensor> expected = naive_evaluate(made.program, made.operands);
  EvaluateOptions options;
  if (seed % 2 == 0) options.parallel_for = in_threads;
  std::vector<Tensor> got = evaluate(made.program, made.operands, options);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    std::string difference;
    ASSERT_TRUE(same_tensor(got[k], expected[k], difference)) << "output " << k << ": " << difference;
  }
}

TEST(EvaluateRandom, EqualsTheTreeWalk) {
  for (uint64_t seed : seeds()) {
    SCOPED_TRACE("AXRUN_SEED=" + std::to_string(seed));
    ASSERT_NO_THROW(check(seed));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace axrun::ir
