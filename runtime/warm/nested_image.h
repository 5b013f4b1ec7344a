#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/nested_forms.h"

namespace axrun::runtime {

/// What nested plans of a graph's plan were made for, as bytes and back. Written are those that at least half
/// of the runs needed, as far as is known, and no more than some dozens.
std::string write_nested(const std::vector<NestedForm>& forms, const ir::Graph& graph);
/// Nothing for bytes that do not fit the graph.
std::optional<std::vector<NestedForm>> read_nested(std::string_view bytes, const ir::Graph& graph);

}  // namespace axrun::runtime
