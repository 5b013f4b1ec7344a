#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// How the elements of a value of dims [N, C, spatial...] follow one another in memory.
enum class Layout : uint8_t {
  plain,         ///< as the dims say
  channels_last  ///< as those of [N, spatial..., C]
};
inline constexpr int layout_count = 2;

/// A value that a step makes: in which layout, and in which others it is to be there besides (a mask).
struct ValueLayout {
  Layout made = Layout::plain;
  uint32_t there = 1;
  bool is_there(Layout layout) const { return (there >> static_cast<int>(layout) & 1) != 0; }
};

/// What a graph is laid out by: of the same graph and the same recipe the same graph is made, node by node.
struct LayoutRecipe {
  /// Nodes that become one step, or whose values are not plain; all others are copied as they are.
  struct Step {
    std::vector<int> nodes;  ///< in order
    std::vector<ir::ValueId> outputs;
    std::map<ir::ValueId, Layout> reads;  ///< of values that are there in it
  };
  struct Stored {
    ValueLayout layout;
    int64_t rank = 0;
  };
  std::vector<Step> steps;
  std::map<ir::ValueId, Stored> values;  ///< those that are not plain only
};

/// A graph that computes the same as the one of a plan, in which values are stored in other layouts: as
/// permuted values, between conversions that are ordinary nodes.
struct LaidOut {
  std::shared_ptr<const ir::Graph> graph;
  LayoutRecipe recipe;  ///< its steps are those of the plan
  /// Per step of the plan: its own nodes in the new graph,
  std::vector<std::vector<int>> steps;
  /// and those with the conversions that belong to it; the same where it has none. As one step they read and
  /// make the values in the layouts in which they are stored.
  std::vector<std::vector<int>> converting_steps;
};

/// values: of those that are not plain only. reads: per step of the plan, the values that it reads in a
/// layout that is not the plain one; they must be there in it. Values that the plan's graph has keep their
/// numbers; whatever no step reads in another layout is read plain, from a copy where it has to be. Values of
/// the graph must not be used by steps with bodies in other layouts than the plain one. Weights are shared
/// with the plan's graph.
LaidOut lay_out(const Plan& plan, const std::map<ir::ValueId, ValueLayout>& values,
                const std::vector<std::map<ir::ValueId, Layout>>& reads);

/// The graph of a recipe, whoever wrote that: it computes what `graph` does, or there is none. Null where the
/// recipe does not fit the graph.
std::shared_ptr<const ir::Graph> lay_out(const ir::Graph& graph, const LayoutRecipe& recipe);

/// Whether lay_out has made the value, to store another one in another layout.
bool is_stored_otherwise(const ir::Value& value);

/// Whether layouts other than the plain one differ from it: values of dims [N, C, spatial...] with more than
/// one channel and more than one element in each.
bool has_layouts(const ir::ValueFact& fact);

}  // namespace axrun::runtime
