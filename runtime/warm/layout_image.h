#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/optimizer/chosen_layouts.h"

namespace axrun::runtime {

/// Layouts that were chosen for a model's values, as bytes and back: by what the graph is laid out, not the
/// graph. What is read computes what the model does, whatever the bytes say: its graph is made here, of the
/// model's own nodes and of conversions.
std::string write_layouts(const std::vector<std::shared_ptr<const ChosenLayouts::Choice>>& choices);
/// Nothing for bytes that do not fit the graph.
std::optional<std::vector<ChosenLayouts::Choice>> read_layouts(std::string_view bytes,
                                                               const ir::Graph& graph);

}  // namespace axrun::runtime
