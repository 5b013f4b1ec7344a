#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"
#include "verify/evidence.h"

namespace axrun::verify {

/// The candidate: reads operands (those of the expression that are not none, in order), writes results (its
/// outputs, in order). The memory is the gate's: operands are read-only, and everything ends or begins at a
/// page that may not be touched.
struct GateCall {
  std::map<std::string, int64_t> sizes;
  std::vector<const void*> operands;
  std::vector<void*> results;
};
using GateCandidate = std::function<void(const GateCall&)>;

struct GateOptions {
  uint64_t seed = 1;
  /// Values of the expression's symbolic sizes to try; one empty map where it has none.
  std::vector<std::map<std::string, int64_t>> sizes = {{}};
  /// Elements of each output, per trial, at which the bound is evaluated; all where there are fewer.
  int64_t samples = 4096;
  bool exact = false;  ///< bit-equality with `twin` is required instead of the bound
  GateCandidate twin;
};

/// Tests machine code against the expression it is to compute: exact probes, the running-error bound,
/// special values, guard pages. See DESIGN.md, "What verified means here". A candidate that faults takes the
/// process with it: the caller runs the gate in a process of its own.
Evidence test_numerically(const ir::Program& expression, const GateCandidate& candidate,
                          const GateOptions& options);

}  // namespace axrun::verify
