#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/infer.h"
#include "runtime/value.h"

namespace axrun::runtime {

// Plans of bodies and continuations are kept by the signatures of the values that they were made for.

/// Appends kind, element type and dims of a value to a key, and the elements of a tensor of numbers where
/// the plan is made for these alone.
void append_signature(std::string& key, const RuntimeValue& value, bool with_content = false);
/// Whether kind, type and dims are the same for both.
bool has_same_signature(const RuntimeValue& a, const RuntimeValue& b);

/// What a key says of one value.
struct Signature {
  ir::ValueKind kind = ir::ValueKind::tensor;
  ir::ValueFact fact;  ///< nothing is known of what is no tensor, or not there
};
/// The signatures of a key, whoever wrote it; nothing for a text that is none.
std::optional<std::vector<Signature>> signatures_in(std::string_view key);

}  // namespace axrun::runtime
