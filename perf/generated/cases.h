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

/// "product_MxKxN" or "product_MxKxN_bias_gelu": a[M, K] times constant b[K, N]. "softmax_MxN",
/// "layer_norm_MxN" or "sums_MxN": of the rows of a matrix; an element counts as one operation.
/// "lstm_STEPSxINPUTSxHIDDEN", "gru_STEPSxINPUTSxHIDDEN" (both directions), "gru_..._lengths" (one, its
/// length is data), "attention_HEADSxQUERIESxKEYSxSIZE": their products count; those of planes.h.
/// Empty for other names.
std::optional<GeneratedCase> generated_case(const std::string& name);
/// The names that are measured where none are given.
std::vector<std::string> generated_cases();

}  // namespace axrun::perf
