#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "ir/graph.h"
#include "runtime/warm/model_identity.h"

namespace axrun::tests {

/// The same nodes, names and constants; memory that both share is not looked at.
inline void expect_same_graph(const ir::Graph& got, const ir::Graph& want) {
  EXPECT_EQ(runtime::structure_of(got), runtime::structure_of(want));
  ASSERT_EQ(got.values.size(), want.values.size());
  for (size_t id = 0; id < want.values.size(); ++id) {
    EXPECT_EQ(got.values[id].name, want.values[id].name);
    const ir::Tensor &a = got.values[id].constant, &b = want.values[id].constant;
    ASSERT_EQ(a.defined(), b.defined()) << id;
    if (!b.defined() || a.data() == b.data()) continue;
    EXPECT_EQ(std::memcmp(a.data(), b.data(), b.bytes()), 0) << id;
  }
  ASSERT_EQ(got.nodes.size(), want.nodes.size());
  for (size_t n = 0; n < want.nodes.size(); ++n) EXPECT_EQ(got.nodes[n].name, want.nodes[n].name);
}

}  // namespace axrun::tests
