#include "runtime/optimizer/rewritten_graph.h"

#include <utility>

namespace axrun::runtime {
namespace {

/// New constants are held beside the model's own.
constexpr size_t most_constant_bytes = size_t{512} << 20;
/// Factors of low rank are small next to their product.
constexpr size_t most_growth = 1024;

size_t bytes_of(const std::vector<FoldedNode>& folded) {
  size_t bytes = 0;
  for (const FoldedNode& one : folded)
    for (const ir::Tensor& result : one.results) bytes += result.bytes();
  return bytes;
}

}  // namespace

RewrittenGraph folded_graph(std::shared_ptr<ir::Graph> graph, ThreadPool& pool) {
  RewrittenGraph made;
  if (graph == nullptr) return made;
  made.folded = fold_weights(*graph, pool, {most_growth, most_constant_bytes});
  made.takes_too_much = bytes_of(made.folded) > most_constant_bytes;
  made.graph = std::move(graph);
  return made;
}

}  // namespace axrun::runtime
