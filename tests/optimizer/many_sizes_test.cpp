// Memory while sizes change with every run: what a session keeps is bounded, whatever comes. The command
// many_sizes does the same for longer.
#include "tests/optimizer/many_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

class ManySizes : public testing::TestWithParam<Workload (*)()> {};

TEST_P(ManySizes, TakeNoMemoryEach) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_CACHE", "off"}};
  const Workload workload = GetParam()();
  const auto session = workload.maker.session(one_thread());
  Draw draw(1);
  // What the optimiser learns of a model is bounded, too, but takes its time.
  for (int k = 0; k < 1000; ++k) workload.run(*session, draw);
  session->wait_for_optimizer(patience);
  session->freeze();
  // Plans differ in size; the least of many moments does not, unless something grows.
  const auto least = [&](int runs) {
    size_t bytes = allocated_bytes();
    for (int k = 0; k < runs; ++k) {
      workload.run(*session, draw);
      bytes = std::min(bytes, allocated_bytes());
    }
    return bytes;
  };
  least(3000);
  const size_t before = least(500);
  least(4000);
  EXPECT_LT(least(500), before + 450000) << "100 bytes for each of 4500 runs";
}

INSTANTIATE_TEST_SUITE_P(Workloads, ManySizes, testing::Values(five_sizes, growing_states, bodies));

}  // namespace
}  // namespace axrun::tests
