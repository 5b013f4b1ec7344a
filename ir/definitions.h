#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/operator.h"
#include "ir/program.h"

namespace axrun::ir {

/// Programs of nodes, kept while a model is being loaded: its nodes are defined when it is simplified and
/// once more when its plan is built, and many a model repeats a layer. Two nodes have one program when they
/// agree in all that its definition looked at: operator, attributes, which results are wanted, types and
/// sizes of the operands, and those of their values that it asked for. May be used by threads at once.
class Definitions {
 public:
  /// As define_node, which is asked where nothing fits; nothing where that is NotYetKnown.
  std::optional<Program> define(const Node& node, const std::vector<OperandInfo>& operands);

  /// Lets everything go; from then on nothing is kept.
  void close();
  size_t size() const;

 private:
  struct Entry;
  mutable std::mutex mutex_;
  std::unordered_multimap<size_t, std::shared_ptr<const Entry>> entries_;
  std::atomic<bool> closed_ = false;
};

}  // namespace axrun::ir
