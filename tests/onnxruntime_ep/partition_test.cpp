#include "runtime/onnxruntime_ep/partition.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace axrun::ort {
namespace {

using Groups = std::vector<std::vector<std::size_t>>;

/// Node n writes value 100 + n; it reads what the nodes of `from` write.
PartitionNode node(std::size_t n, bool supported, const std::vector<std::size_t>& from) {
  PartitionNode made;
  made.supported = supported;
  for (const std::size_t producer : from) made.reads.push_back(100 + static_cast<int>(producer));
  if (from.empty()) made.reads.push_back(0);
  made.writes.push_back(100 + static_cast<int>(n));
  return made;
}

TEST(Partition, AGraphThatIsAllSupportedIsOneGroup) {
  EXPECT_EQ(convex_groups({node(0, true, {}), node(1, true, {0}), node(2, true, {}), node(3, true, {1, 2})}),
            (Groups{{0, 1, 2, 3}}));
}

TEST(Partition, NothingSupportedIsNoGroup) {
  EXPECT_TRUE(convex_groups({node(0, false, {}), node(1, false, {0})}).empty());
  EXPECT_TRUE(convex_groups({}).empty());
}

TEST(Partition, AnUnsupportedNodeBetweenSeparates) {
  EXPECT_EQ(convex_groups({node(0, true, {}), node(1, false, {0}), node(2, true, {1})}), (Groups{{0}, {2}}));
  // Also where there is a way around it.
  EXPECT_EQ(convex_groups({node(0, true, {}), node(1, false, {0}), node(2, true, {0, 1})}),
            (Groups{{0}, {2}}));
}

TEST(Partition, AnUnsupportedNodeBesideSeparatesNothing) {
  EXPECT_EQ(convex_groups({node(0, true, {}), node(1, false, {0}), node(2, true, {0})}), (Groups{{0, 2}}));
}

TEST(Partition, WhatOnlyALaterGroupReadsMovesThere) {
  // 0 is unsupported at the start; 1 could come before it, but only 2 reads it.
  EXPECT_EQ(convex_groups({node(0, false, {}), node(1, true, {}), node(2, true, {0, 1})}), (Groups{{1, 2}}));
}

TEST(Partition, RandomGraphsAreCutIntoConvexGroupsWithoutCycles) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t count = 1 + random() % 24;
    std::vector<PartitionNode> nodes;
    std::vector<std::vector<bool>> edge(count, std::vector<bool>(count)), path;
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<std::size_t> from;
      for (std::size_t p = 0; p < n; ++p) {
        if (random() % 5 == 0) {
          from.push_back(p);
          edge[p][n] = true;
        }
      }
      nodes.push_back(node(n, random() % 4 != 0, from));
    }
    const Groups groups = convex_groups(nodes);

    std::vector<std::size_t> group_of(count, groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::size_t n : groups[g]) {
        EXPECT_EQ(group_of[n], groups.size()) << "node " << n << " is in two groups";
        group_of[n] = g;
      }
    }
    for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(group_of[n] != groups.size(), nodes[n].supported);

    // Each group becomes one node: what is left must be free of cycles, which is more than convex.
    const auto merged = [&](std::size_t n) {
      return group_of[n] < groups.size() ? group_of[n] : groups.size() + n;
    };
    const std::size_t total = groups.size() + count;
    path.assign(total, std::vector<bool>(total));
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t n = 0; n < count; ++n) {
        if (edge[p][n] && merged(p) != merged(n)) path[merged(p)][merged(n)] = true;
      }
    }
    for (std::size_t k = 0; k < total; ++k) {
      for (std::size_t a = 0; a < total; ++a) {
        for (std::size_t b = 0; path[a][k] && b < total; ++b) path[a][b] = path[a][b] || path[k][b];
      }
    }
    for (std::size_t a = 0; a < total; ++a) EXPECT_FALSE(path[a][a]) << "a cycle through group " << a;
  }
}

}  // namespace
}  // namespace axrun::ort
