#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace axrun::perf {

/// An expression of literal sizes whose generated kernel is measured.
struct GeneratedCase {
  std::string name;
  std::function<ir::Program()> make;
  std::vector<bool> constant;  ///< per operand
  double flops = 0;            ///< multiply-adds count two; what the case adds to its base does not count
  std::string base;            ///< the case without the epilogue
};

/// "product_MxKxN" or "product_MxKxN_bias_gelu": a[M, K] times constant b[K, N]. Empty for other names.
std::optional<GeneratedCase> product_case(const std::string& name);
/// The names that are measured where none are given.
std::vector<std::string> generated_cases();

}  // namespace axrun::perf
