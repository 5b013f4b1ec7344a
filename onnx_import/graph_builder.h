#pragma once

#include <memory>
#include <string_view>

#include "ir/graph.h"
#include "onnx_import/context.h"
#include "onnx_import/functions.h"
#include "onnx_import/opsets.h"

namespace axrun::onnx_import {

/// The main graph of a model from its GraphProto, with all bodies, as import.h describes it.
std::shared_ptr<ir::Graph> build_graph(std::string_view graph_bytes, const Opsets& opsets,
                                       const FunctionLibrary& functions, ImportContext& context);

}  // namespace axrun::onnx_import
