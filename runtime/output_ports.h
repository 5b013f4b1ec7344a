#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/session.h"

namespace axrun::runtime {

/// The named sizes of a graph's inputs, each once, in order of appearance.
std::vector<std::string> input_size_names(const ir::Graph& graph);

/// An output as it is told before any run. What inference knows (`inferred`) wins; what the file declares,
/// which may be stale, gives only a type or rank that inference lacks, and sizes that inference knows by
/// names of its own, which are not among `names`.
Port completed_port(Port inferred, const ir::Value& declared, const std::vector<std::string>& names);

}  // namespace axrun::runtime
