// libFuzzer target: a model from memory, and data files of every kind, from arbitrary bytes. Nothing but an
// Error may come of them, and no Error may be our own fault. What imports is written and must import again.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ir/error.h"
#include "onnx_import/export.h"
#include "onnx_import/import.h"
#include "onnx_import/tensor_file.h"

namespace {

using axrun::Error;
using axrun::Fault;

[[noreturn]] void report(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.what());
  std::abort();
}

/// Small limits: the fuzzer looks for mistakes, not for the size of its machine.
axrun::onnx_import::ImportOptions options() {
  axrun::onnx_import::ImportOptions options;
  options.max_nodes = 20000;
  options.max_inlined_bytes = 1 << 20;
  options.max_dense_bytes = 1 << 20;
  options.check_operators = false;
  return options;
}

/// What is refused otherwise, and what is composed of graphs, which becomes ordinary nodes.
void import_checked(const uint8_t* data, size_t size) {
  auto checked = options();
  checked.check_operators = true;
  try {
    axrun::onnx_import::import_memory(data, size, {}, checked);
  } catch (const Error& error) {
    if (error.fault() == Fault::internal) report("checked import", error);
  }
}

void import_and_export(const uint8_t* data, size_t size) {
  axrun::ir::Model model;
  try {
    model = axrun::onnx_import::import_memory(data, size, {}, options());
  } catch (const Error& error) {
    if (error.fault() == Fault::internal) report("import", error);
    return;
  }
  import_checked(data, size);
  std::string bytes;
  try {
    bytes = axrun::onnx_import::export_memory(model);
  } catch (const Error& error) {
    if (error.fault() != Fault::user) report("export", error);
    return;  // ONNX cannot say it, after functions of other versions were inlined
  }
  try {
    const axrun::ir::Model again =
        axrun::onnx_import::import_memory(bytes.data(), bytes.size(), {}, options());
    if (again.graph->nodes.size() != model.graph->nodes.size()) {
      std::fprintf(stderr, "a written model has other nodes\n");
      std::abort();
    }
  } catch (const Error& error) {
    report("import of what was exported", error);
  }
}

void read_values(const uint8_t* data, size_t size) {
  for (int kind = 0; kind < 4; ++kind) {
    try {
      axrun::onnx_import::read_value_memory(data, size, static_cast<axrun::ir::ValueKind>(kind), "fuzz");
    } catch (const Error& error) {
      if (error.fault() == Fault::internal) report("data file", error);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  import_and_export(data, size);
  read_values(data, size);
  return 0;
}
