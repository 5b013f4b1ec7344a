#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/dim.h"

namespace axrun::ir::loop {

/// A Dim over loop variables, prepared for many evaluations: affine ones are a sum of products, the others a
/// program for a stack.
class Index {
 public:
  /// sizes: what is known already. variables: names in the order of the values that `at` is given; others
  /// must not occur.
  Index(const Dim& dim, const std::map<std::string, Dim>& sizes, const std::vector<std::string>& variables);

  int64_t at(const std::vector<int64_t>& values) const;

 private:
  enum class Code : uint8_t { constant, variable, add, multiply, floor_div, floor_mod, min, max };
  /// Pushes (the constant, or the value at this position) or replaces the two on top.
  struct Step {
    Code code;
    int64_t operand = 0;
  };
  struct Compiler;

  bool affine_ = true;
  int64_t constant_ = 0;
  std::vector<std::pair<size_t, int64_t>> terms_;  ///< position of the variable, coefficient
  std::vector<Step> steps_;                        ///< unless affine
};

}  // namespace axrun::ir::loop
