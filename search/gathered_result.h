#pragma once

#include "search/gathered_form.h"
#include "search/piece.h"

namespace axrun::search {

/// Where the elements of sums whose columns are lines one after another go, and what is made of them.
class GatheredResult {
 public:
  GatheredResult(PieceContext& context, const GatheredForm& form);
  /// What is the same in every run of what follows the sum; before its first element is stored.
  void prepare();
  /// Stores what follows an element of the sum, or the element itself. point: of the sum, whose lines do not
  /// matter; column: of all lines one after another.
  void store(const ir::Dims& point, const ir::loop::Access& element, const ir::Dim& column);

 private:
  ir::Dim index(size_t dimension, const ir::Dims& point, const ir::Dim& column) const;

  PieceContext& context_;
  const GatheredForm& form_;
  const int buffer_;
  ir::Dims map_point_;  ///< of the epilogue, where it is computed
};

}  // namespace axrun::search
