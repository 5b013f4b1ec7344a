#include "perf/limits/caches.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/machine.h"

namespace axrun::perf {
namespace {

TEST(Topology, LevelsGrowAndMemoryIsLast) {
  const Topology topology = find_topology();
  ASSERT_GE(topology.levels.size(), 2u);
  EXPECT_EQ(topology.levels.back().name, "memory");
  EXPECT_EQ(topology.levels.back().bytes, 0);
  EXPECT_FALSE(topology.levels.back().is_private);
  for (size_t k = 0; k + 1 < topology.levels.size(); ++k) {
    EXPECT_GT(topology.levels[k].bytes, k == 0 ? 4096 : topology.levels[k - 1].bytes)
        << topology.levels[k].name;
  }
}

TEST(Topology, ProcessorsAreDistinctAndThisProcessMayUseThem) {
  const std::vector<int> processors = find_topology().processors;
  ASSERT_FALSE(processors.empty());
  EXPECT_LE(processors.size(), static_cast<size_t>(runtime::available_processors()));
  EXPECT_EQ(std::set<int>(processors.begin(), processors.end()).size(), processors.size());
}

TEST(Topology, SomeMemoryIsFree) { EXPECT_GT(free_memory_bytes(), 1 << 20); }

}  // namespace
}  // namespace axrun::perf
