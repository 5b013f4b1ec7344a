#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx_import/import.h"
#include "runtime/onnxruntime_ep/host.h"

namespace axrun::ort {

/// Part of a graph of ONNX Runtime as an ONNX model for our importer.
struct WrittenModel {
  std::string bytes;
  onnx_import::ImportOptions options;  ///< holds the constants, as external data in memory

  /// Throws Error as the importer does.
  ir::Model import() const { return onnx_import::import_memory(bytes.data(), bytes.size(), {}, options); }
};

/// What is to be written: nodes of one graph, in topological order, and what enters and leaves them.
struct GraphPart {
  const Graph* graph = nullptr;
  std::vector<const Node*> nodes;
  std::vector<const ValueInfo*> inputs, outputs;  ///< tensors
  /// Names of inputs whose declared sizes are written, too; null: none. Those of values inside of a graph are
  /// not to be relied on: files in the wild carry stale ones.
  const std::set<std::string>* sized = nullptr;
};

enum class Constants {
  borrowed,  ///< from the runtime: the model must not outlive the call in which it was written
  kept,      ///< shared with the runtime where it can be, copied otherwise
  inside,  ///< of the model's bytes, which then say all
};

/// Throws HostError, and Error(unsupported) for an attribute that the runtime does not show.
WrittenModel write_model(const Host& host, const GraphPart& part, Constants constants);

/// Every value that a node reads: its inputs that are there, then what its bodies take from outside.
std::vector<const ValueInfo*> reads_of(const Host& host, const Node* node);
std::string name_of(const Host& host, const ValueInfo* value);
bool is_constant(const Host& host, const ValueInfo* value);
/// The element type of a tensor, as ONNX numbers them; 0 for what is no tensor.
int tensor_type(const Host& host, const ValueInfo* value);

}  // namespace axrun::ort
