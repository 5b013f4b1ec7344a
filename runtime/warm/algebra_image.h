#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/hash.h"
#include "runtime/optimizer/chosen_layouts.h"

namespace axrun::runtime {

/// How a model's graph was rewritten by identities, as bytes and back: by what it is made, not the graph, and
/// the rules that say why it is the same.
std::string write_rewrites(const std::vector<std::shared_ptr<const ChosenLayouts::Choice>>& choices);

/// Names what is made of a graph in this way: equal for equal recipes and results.
cache::Hash name_of_rewrite(const AlgebraRecipe& recipe, const cache::Hash& structure);

/// The graph of such a name, made of `base`, where it was kept as it is.
using FindGraph =
    std::function<std::shared_ptr<const ir::Graph>(const cache::Hash& name, const ir::Graph& base)>;

/// The graphs are found, or made again, with their constants. Nothing for bytes that do not fit the model, or
/// lead to another graph than they did when they were written.
struct ReadRewrites {
  std::vector<ChosenLayouts::Choice> choices;
  std::vector<FoldedNode> folded;  ///< of those that were made again
};
std::optional<ReadRewrites> read_rewrites(std::string_view bytes, const ir::Graph& model, ThreadPool& pool,
                                          const MakeGraph& make, const FindGraph& find = nullptr);

/// What such bytes say, whatever model they are of: without graphs. Nothing for bytes that make no sense.
std::optional<std::vector<AlgebraRecipe>> rewrites_in(std::string_view bytes);

}  // namespace axrun::runtime
