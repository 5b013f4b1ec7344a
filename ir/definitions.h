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
#include "ir/sizes_at_hand.h"

namespace axrun::ir {

/// Programs of nodes, kept while a model is being loaded: its nodes are defined when it is simplified and
/// once more when its plan is built, and many a model repeats a layer. Two nodes have one program when they
/// agree in all that its definition looked at: operator, attributes, which results are wanted, types and
/// sizes of the operands, and those of their values that it asked for. What a program that is kept gives for
/// a few small values is computed once. Where sizes are at hand, programs that these have decided on are kept
/// with their guards. May be used by threads at once.
class Definitions {
 public:
  /// As define_node, which is asked where nothing fits; null where that is NotYetKnown.
  std::shared_ptr<const Program> define(const Node& node, const std::vector<OperandInfo>& operands,
                                        SizesAtHand* sizes = nullptr);

  /// As the functions of these names (ir/evaluate.h).
  std::vector<Tensor> evaluate(const Program& program, const std::vector<Tensor>& operands);
  std::vector<std::optional<Dims>> evaluate_symbolic(const Program& program,
                                                     const std::vector<std::optional<Dims>>& operands,
                                                     int64_t limit, SizesAtHand* sizes = nullptr);

  /// Lets everything go; from then on nothing is kept.
  void close();
  size_t size() const;

 private:
  struct Entry;
  /// What a program has given for these operands.
  struct Results {
    std::vector<Tensor> operands, results;
  };
  struct SymbolicResults {
    int64_t limit;
    std::vector<std::optional<Dims>> operands, results;
  };
  struct Evaluated {
    std::vector<Results> results;
    std::vector<SymbolicResults> symbolic;
  };
  mutable std::mutex mutex_;
  std::unordered_multimap<size_t, std::shared_ptr<const Entry>> entries_;
  std::unordered_map<const Program*, Evaluated> evaluated_;  ///< of those in entries_, which stay: no other
                                                             ///< program has their addresses
  std::atomic<bool> closed_ = false;
};

}  // namespace axrun::ir
