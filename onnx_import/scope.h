#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "onnx_import/functions.h"
#include "onnx_import/names.h"
#include "onnx_import/opsets.h"

namespace axrun::onnx_import {

/// A graph that is being built, and the names given in it so far.
struct GraphDraft {
  std::shared_ptr<ir::Graph> graph = std::make_shared<ir::Graph>();
  UniqueNames node_names;
  /// Values whose name is not the one in the file, from functions or escaped: these may meet others.
  std::vector<ir::ValueId> made_up = {};

  /// Makes the names of all values unique; those from the file stay.
  void finish_names();
};

/// One call that is being inlined.
struct FunctionCall {
  const Function& function;
  std::map<std::string, ir::Attribute> attributes;  ///< as called, completed by the defaults
  const FunctionCall* caller = nullptr;             ///< the call inside whose function this one stands
};

/// Which declared dims of a body count; all others are hints, and often stale.
enum class DeclaredDims : uint8_t {
  unread,
  inputs,  ///< of text generation: of what size the first past states are
  /// of a Loop: the rank of the iteration number and of the condition, and what no trip stacks
  loop,
};

/// Where names are looked up: those of a graph, or of a function that is being inlined into a graph. A body
/// looks on in the scope of its node; a function sees nothing but itself.
struct Scope {
  GraphDraft& draft;
  const Opsets& opsets;
  Scope* parent_of_body = nullptr;
  DeclaredDims declared_dims = DeclaredDims::unread;  ///< of a body's inputs and outputs
  const FunctionCall* call = nullptr;                 ///< the innermost, also in the bodies of its nodes
  std::string prefix = {};                            ///< of all names: "outer call/inner call/"
  int nesting = 0;
  /// By name in the file. `absent`: an input of a function that its call leaves out.
  std::unordered_map<std::string_view, ir::ValueId> values = {};

  ir::Graph& graph() const { return *draft.graph; }
  /// A new value called after `name`, not entered in `values`.
  ir::ValueId add_value(std::string_view name);
  /// The value of a name. Crossing from a body into its enclosing graph it adds a capture, or a copy of a
  /// constant, to every graph on the way.
  std::optional<ir::ValueId> find(std::string_view name);
};

}  // namespace axrun::onnx_import
