#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/dim.h"
#include "search/lowering.h"

namespace axrun::search {

/// What decisions may ask about sizes. Programs must be right for every size of the range; these only choose
/// between programs, except is_multiple, which is certain.
class SizeFacts {
 public:
  explicit SizeFacts(const Sizes& sizes) : sizes_(sizes) {}

  const Sizes& sizes() const { return sizes_; }
  /// The sizes with one value only.
  std::map<std::string, ir::Dim> known() const;
  /// Whether the value is a multiple of `factor` at every claimed size. False when that is not known.
  bool is_multiple(const ir::Dim& dim, int64_t factor) const;
  /// The value where every size has a middling value of its range: 128 where the range allows.
  int64_t typical(const ir::Dim& dim) const;

 private:
  const Sizes& sizes_;
};

}  // namespace axrun::search
