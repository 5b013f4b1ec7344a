#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/custom_operator.h"
#include "ir/graph.h"

namespace axrun::onnx_import {

/// External data that lies in memory. With an owner, which keeps it alive, large aligned weights borrow from
/// it; without one everything is copied.
struct MemoryFile {
  const void* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
};

/// Bounds on what a model may ask for. A model beyond one of them is refused with Error(unsupported).
struct ImportOptions {
  int max_nesting = 64;                          ///< graphs within graphs, and functions calling functions
  int64_t max_nodes = 10'000'000;                ///< over all graphs
  int64_t max_inlined_bytes = int64_t{1} << 28;  ///< of model-local functions, counted once per call
  int64_t max_dense_bytes = int64_t{1} << 30;    ///< of all sparse constants together, once dense
  /// Refuse the model when it uses an operator that is not in the operator table. Tools that only look at a
  /// model turn this off.
  bool check_operators = true;
  /// By the location that tensors name; looked for before any file.
  std::map<std::string, MemoryFile, std::less<>> memory_files = {};
  /// Operators besides axrun's own; may be null.
  std::shared_ptr<const ir::CustomOperators> operators = {};
  /// Gets a line for each thing that ONNX forbids and that has one sensible meaning all the same; may be
  /// null.
  std::vector<std::string>* notes = nullptr;
};

/// An imported model with what its file says of its outputs. Without the latter it is an ir::Model.
struct ImportedModel : ir::Model {
  /// Kind, type and dims that the file declares for each output of the main graph, in order; a claim that
  /// nothing has checked: files in the wild carry stale ones. Named sizes are symbols of that name, other
  /// open sizes symbols "<output>_dim_<k>".
  std::vector<ir::Value> declared_outputs;
};

/// Reads an ONNX model and checks all of it.
///
/// What comes out:
/// - Names are resolved; nodes are in topological order; Constant nodes, initializers and sparse
///   initializers are constants of the graph. An initializer that is also listed as a graph input is a
///   constant and not an input, in every IR version: its default cannot be overridden.
/// - Calls of model-local functions are inlined. A function wins over an operator of the same name.
/// - A body reads what its enclosing graphs define through Graph::captures only; constants of enclosing
///   graphs become constants of the body (sharing the buffer).
/// - A domain that is not imported has the newest version that axrun knows, and what is defined twice as the
///   same constant is that constant; both are noted.
/// - Only graph inputs of the main graph have dims: constants, sizes named in the file (one Dim symbol per
///   name), and fresh symbols "<input>_dim_<k>" for "?", negative and missing
///   sizes. Inputs of bodies keep their stored element type; inputs and outputs of a Loop's body, and inputs
///   of text generation's, their dims, too: the first say what a Loop gives that makes no trip. Outputs keep
///   it only where they are declared as a sequence, optional or map; the rest of what is declared of them is
///   told aside (ImportedModel::declared_outputs). All other stored types and shapes are left unread.
/// - Names that are not UTF-8, or contain control characters, appear with \xNN escapes.
/// - An attribute that holds a type (Optional's `type`) becomes a string in ONNX's notation,
///   "seq(tensor(float))".
///
/// Files are read and not mapped: what happens to them afterwards is of no account. Weights are in memory
/// once.
///
/// Throws Error: user (the file cannot be read), model (damaged or invalid, with the model's own names), or
/// unsupported (one line for each operator, element type or field that axrun lacks, all at once).
ImportedModel import_file(const std::string& path, const ImportOptions& options = {});

/// The same from memory. External data is looked up in `directory`; when that is empty, a model with
/// external data is refused. With an owner, which keeps `data` alive, large aligned weights borrow from
/// `data`; without one everything is copied and `data` may go when this returns.
ImportedModel import_memory(const void* data, size_t size, const std::string& directory = {},
                            const ImportOptions& options = {}, std::shared_ptr<const void> owner = {});

}  // namespace axrun::onnx_import
