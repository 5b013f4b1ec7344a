#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace axrun::ir::loop {

/// A Dim over loop variables, prepared for many evaluations: affine ones are a sum of products.
class Index {
 public:
  /// sizes: what is known already. variables: names in the order of the values that `at` is given; others
  /// must not occur.
  Index(const Dim& dim, const std::map<std::string, Dim>& sizes, const std::vector<std::string>& variables);

  int64_t at(const std::vector<int64_t>& values) const;

 private:
  Dim dim_;
  std::vector<std::string> variables_;
  bool affine_ = false;
  int64_t constant_ = 0;
  std::vector<std::pair<size_t, int64_t>> terms_;  ///< position of the variable, coefficient
};

}  // namespace axrun::ir::loop
