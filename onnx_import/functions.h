#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/graph.h"
#include "onnx_import/context.h"
#include "onnx_import/messages.h"
#include "onnx_import/opsets.h"

namespace axrun::onnx_import {

/// A model-local function, ready to be inlined.
struct Function {
  std::string_view name;
  std::vector<std::string_view> inputs, outputs;
  std::vector<NodeMessage> nodes;
  std::map<std::string, ir::Attribute> defaults;  ///< attributes that a call may leave out
  Opsets opsets;                                  ///< its own, completed by the model's
  int64_t bytes = 0;                              ///< size in the file
};

/// The functions of a model.
class FunctionLibrary {
 public:
  /// Throws Error(model) for two functions of the same domain, name and overload, or two inputs or outputs of
  /// the same name.
  FunctionLibrary(const std::vector<std::string_view>& messages, const Opsets& model_opsets,
                  ImportContext& context);

  /// nullptr when the node calls no function.
  const Function* find(const NodeMessage& node) const;

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;  ///< domain, name, overload
  std::map<Key, Function> functions_;
};

}  // namespace axrun::onnx_import
