#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "runtime/operators/product_sizes.h"

namespace axrun::runtime {

/// Matrices [batch..., rows, columns] as they lie in a tensor that operators have moved about: the beginning
/// of a longer buffer (axrun.state::Prefix), Transpose, Expand, Reshape and its like, one after the other.
/// Nothing is copied where strides say where each element is.
class MovedOperand {
 public:
  /// Whether the node only moves its first input, in a way that this class may follow.
  static bool moves(const ir::Node& node);
  /// programs: of the nodes, each of which moves what the one before gives, over numbers or names of sizes.
  /// Nothing where an element is not where strides along the result's dims say.
  static std::optional<MovedOperand> of(const std::vector<const ir::Node*>& nodes,
                                        const std::vector<const ir::Program*>& programs);

  /// source: the dims of the tensor; length: of its beginning, where that is all that is read.
  MatrixStrides at(const Extents& source, int64_t length) const;

 private:
  /// A part of a dim: `extent` steps of so many elements of the source's dim.
  struct Factor {
    ir::Dim extent;
    int dim = -1;  ///< of the source; -1: each step is at the same place
    int64_t step = 1;
    bool cut = false;  ///< of the beginning, which is as long as the runs say
  };
  using Dim = std::vector<Factor>;

  bool follow(const ir::Node& node, const ir::Dims& from, const ir::Dims& to);
  bool regroup(const ir::Dims& to);
  bool expand(const ir::Dims& from, const ir::Dims& to);
  bool is_usable() const;

  std::vector<Dim> dims_;
};

}  // namespace axrun::runtime
