#pragma once

#include <optional>
#include <vector>

#include "verify/terms.h"

namespace axrun::verify {

/// A tensor under dims of which adjacent ones were merged and those of 1 left out: the elements stay where
/// they are in memory.
class MergedDims {
 public:
  /// Nothing where `merged` does not come from `dims` in this way.
  static std::optional<MergedDims> find(Terms& terms, const TermList& dims, const TermList& merged);

  /// Coordinates under the merged dims, of an element that is within the original ones.
  TermList merge(Terms& terms, const TermList& coordinates) const;
  /// The inverse.
  TermList split(Terms& terms, const TermList& coordinates) const;

 private:
  TermList dims_;
  std::vector<std::vector<size_t>> runs_;  ///< per merged dim: the original ones, those of 1 not among them
};

}  // namespace axrun::verify
