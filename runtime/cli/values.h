#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cli/options.h"
#include "runtime/session.h"

namespace axrun::cli {

/// One value per input of the model, and where each came from.
struct Inputs {
  std::vector<runtime::RuntimeValue> values;
  std::vector<std::string> origins;    ///< "image: f32 [1, 3, 224, 224], uniform in [-1, 1), seed 0"
  std::vector<std::string> open_dims;  ///< sizes that were chosen here: "seq = 16"
};

/// --input first, then --data, and made-up values where neither is given, open sizes being `free_size` (0:
/// what suits their place). Throws Error(user): names that are no inputs, inputs that --data lacks, damaged
/// files.
Inputs gather_inputs(const runtime::Session& session, const Options& options, int64_t free_size);

/// Refuses, before anything runs, what gather_expected would refuse of the command line.
void check_expected(const runtime::Session& session, const Options& options);

/// What each output is to be compared with, --expect before --data; empty for those that nothing is known of.
/// `got` tells which kinds of values the outputs are.
std::vector<std::optional<runtime::RuntimeValue>> gather_expected(
    const runtime::Session& session, const Options& options, const std::vector<runtime::RuntimeValue>& got);

/// "tensor", "sequence", ...
const char* kind_name(ir::ValueKind kind);
/// "f32 [1, 3]", "sequence of 2".
std::string describe(const runtime::RuntimeValue& value);

}  // namespace axrun::cli
