#pragma once

#include <optional>
#include <string>

#include "perf/generated/cases.h"

namespace axrun::perf {

/// "step:NODE:MODEL.onnx": what the step that begins with that node computes, at the sizes that the model
/// declares; open ones are 1. Operations are those of its sums, a multiply-add counts two. Empty for other
/// names; throws Error where there is no such model or step, or it has no expression.
std::optional<GeneratedCase> model_step_case(const std::string& name);

}  // namespace axrun::perf
