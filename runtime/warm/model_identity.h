#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "runtime/cache/hash.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

/// Hashes of constants by where they lie: every byte of each was looked at, once. For constants that outlive
/// it and never change. Many threads may ask at once, while nothing new is met; nobody is ever locked out of
/// it, in forked processes neither.
class Contents {
 public:
  /// Of constants that have been met.
  std::optional<cache::Hash> known(const void* address, size_t bytes) const;
  /// Those of a graph and of the bodies in it.
  void meet(const ir::Graph& graph, ThreadPool& pool);
  void meet(const std::vector<ir::Tensor>& constants, ThreadPool& pool);

 private:
  std::map<std::pair<const void*, size_t>, cache::Hash> hashes_;
};

/// Equal for graphs of equal nodes, attributes, types and dims; names are no part of it but those of open
/// sizes, nor what is in constants.
cache::Hash structure_of(const ir::Graph& graph);
/// The same with what is in constants, byte by byte. structure: the graph's. Contents must have met the
/// graph.
cache::Hash identity_of(const ir::Graph& graph, const cache::Hash& structure, const Contents& contents);

}  // namespace axrun::runtime
