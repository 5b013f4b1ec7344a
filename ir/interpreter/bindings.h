#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/dim.h"

namespace axrun::ir::interpreter {

/// Values of symbolic extents, learned from the shapes of tensors.
class Bindings {
 public:
  /// Records that `dim` is `value`. Throws Error(user), naming `what`, where that contradicts what is known.
  void bind(const Dim& dim, int64_t value, const std::string& what);
  /// Throws Error(user) when the dim cannot be computed, or is negative.
  int64_t extent(const Dim& dim, const std::string& what) const;
  std::optional<int64_t> find(const Dim& dim) const;
  /// The value of any Dim; throws Error(user) when it cannot be computed.
  int64_t value(const Dim& dim, const std::string& what) const;

  friend bool operator==(const Bindings& a, const Bindings& b) {
    return a.sizes_ == b.sizes_ && a.facts_ == b.facts_;
  }

 private:
  void use_facts(const std::string& what);
  std::map<std::string, Dim> sizes_;
  /// Expressions that do not determine their names yet.
  std::vector<std::pair<Dim, int64_t>> facts_;
};

}  // namespace axrun::ir::interpreter
