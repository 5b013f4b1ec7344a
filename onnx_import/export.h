#pragma once

#include <string>

#include "ir/graph.h"

namespace axrun::onnx_import {

/// The model as the bytes of an ONNX ModelProto. Constants become initializers; values without a name, or
/// with one already taken in an enclosing graph, get a new one; i4 and u4 are packed.
///
/// Throws Error(user) for what ONNX cannot say: a graph input without an element type, a node whose version
/// differs from the model's version of its domain, a domain without a version.
std::string export_memory(const ir::Model& model);

/// The same into a file, replaced as a whole. Throws Error(user) when it cannot be written.
void export_file(const ir::Model& model, const std::string& path);

}  // namespace axrun::onnx_import
