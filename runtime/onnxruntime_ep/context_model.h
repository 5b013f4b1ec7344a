#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/onnxruntime_ep/host.h"
#include "runtime/onnxruntime_ep/model_writer.h"
#include "runtime/onnxruntime_ep/provider_options.h"

namespace axrun::ort {

// Context models: what ONNX Runtime saves when it compiles a model ahead (`ep.context_enable`). Each part
// becomes an EPContext node that holds the part as a model of its own, constants included, or names the file
// beside the context model that does. Kernels are not in it: those of this machine are in axrun's cache.

/// What ONNX Runtime keeps with a context model, and asks about before it loads one.
const char* context_compatibility();
/// The answer, as OrtCompiledModelCompatibility numbers it: 0 not ours, 1 fits, 3 does not.
int compatibility_of(const char* information);

/// The bytes of a context: a header with a checksum, then the model.
std::string packed_context(std::string_view model);
/// The model in it. Throws Error(model) where it is damaged, and Error(unsupported) where it is of another
/// format.
std::string_view unpacked_context(std::string_view context, std::string_view where);

/// Whether a node is a context that this provider made.
bool is_context(const Host& host, const Node* node);

/// The model that a context node holds. Throws Error: model (damaged; a file outside of its folder), user (no
/// such file).
WrittenModel read_context(const Host& host, const Graph* graph, const Node* node,
                          const ContextOptions& options);

/// The context node for a part that has been written with all of its constants inside. The runtime owns it.
/// number: different for every part of a session. Throws Error(user) where a file cannot be written.
Node* make_context(const Host& host, const Graph* graph, const Node* fused, const WrittenModel& model,
                   const ContextOptions& options, std::size_t number);

/// Where the file of a context lies: `name` in `folder`. Throws Error(model) for a name that leads elsewhere.
std::string context_path(const std::string& folder, const std::string& name);

}  // namespace axrun::ort
