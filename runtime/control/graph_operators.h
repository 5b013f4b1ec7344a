#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"
#include "runtime/value.h"

namespace axrun::runtime {

/// Runs a body on its inputs (what it captures is the caller's business). outputs: one per output of the
/// body; a defined tensor, which shares no memory with anything else, may be written in place where its type
/// and shape fit, and is replaced otherwise.
using RunBody = std::function<void(const ir::Graph& body, const std::vector<RuntimeValue>& inputs,
                                   std::vector<RuntimeValue>& outputs)>;

/// Runs an operator that has no tensor expression (ir::is_graph_operator): control flow and containers.
/// Inputs that the node leaves out are not present. Throws Error(user) for bad data and Error(model) for an
/// ill-formed node.
std::vector<RuntimeValue> run_graph_operator(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                             const RunBody& run_body);

// One function per group, in the file of that name.
std::vector<RuntimeValue> run_if(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                 const RunBody& run_body);
std::vector<RuntimeValue> run_loop(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                   const RunBody& run_body);
std::vector<RuntimeValue> run_scan(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                   const RunBody& run_body);
std::vector<RuntimeValue> run_container_operator(const ir::Node& node,
                                                 const std::vector<RuntimeValue>& inputs,
                                                 const RunBody& run_body);

std::vector<RuntimeValue> run_map_operator(const ir::Node& node, const std::vector<RuntimeValue>& inputs);
std::vector<RuntimeValue> run_text_generation(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                              const RunBody& run_body);

/// The body held by an attribute; Error(model) when it is missing.
const ir::Graph& body_of(const ir::Node& node, const std::string& attribute);
int64_t integer_attribute(const ir::Node& node, const std::string& name, int64_t otherwise);
std::vector<int64_t> integers_attribute(const ir::Node& node, const std::string& name);
/// Error(user) "Op 'name': text".
[[noreturn]] void fail_at(const ir::Node& node, const std::string& text);
/// An axis of that many, counted from the front; Error(user) where there is no such axis.
int normal_axis(const ir::Node& node, int64_t axis, int rank);
/// The single element of a tensor input, as an integer.
int64_t scalar_of(const ir::Node& node, const RuntimeValue& value, const std::string& what);

}  // namespace axrun::runtime
