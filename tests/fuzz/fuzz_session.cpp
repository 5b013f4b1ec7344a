// Fuzz target: bytes that may be a model are loaded and, when that works, run on made-up inputs. Whatever
// they hold, the only way out is a result or an axrun::Error. Build with libFuzzer (AXRUN_FUZZ), or with
// replay.cpp, which mutates the committed corpus by itself.
#include <cstddef>
#include <cstdint>

#include "ir/error.h"
#include "runtime/session.h"

namespace {

using axrun::ir::Graph;

/// Loops may run as long as their model says, which is for ever in some: they are loaded only.
bool may_run_for_ever(const Graph& graph) {
  for (const axrun::ir::Node& node : graph.nodes) {
    if (node.op == "Loop" || node.op == "Scan") return true;
    for (const Graph* body : axrun::ir::bodies_of(node)) {
      if (may_run_for_ever(*body)) return true;
    }
  }
  return false;
}

/// Models whose inputs alone are large take too long for a fuzzer, and are not more interesting than small
/// ones.
bool has_large_inputs(const axrun::runtime::Session& session) {
  constexpr int64_t limit = 1 << 16;
  for (const axrun::runtime::Port& port : session.inputs()) {
    if (!port.dims) continue;
    int64_t count = 1;
    for (const axrun::ir::Dim& dim : *port.dims) {
      const int64_t size = dim.constant().value_or(2);
      if (size < 0 || size > limit) return true;
      count *= size;
      if (count > limit) return true;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axrun::runtime::SessionOptions options;
  options.threads = 1;
  options.tier = size % 2 == 0 ? axrun::runtime::Tier::fallback : axrun::runtime::Tier::reference;
  options.memory_limit = int64_t{1} << 28;
  try {
    const auto session = axrun::runtime::Session::load_memory(data, size, options);
    if (may_run_for_ever(*session->model().graph) || has_large_inputs(*session)) return 0;
    session->run(axrun::runtime::make_inputs(*session, options, 1, 2, nullptr));
  } catch (const axrun::Error& error) {
    if (error.fault() == axrun::Fault::internal) __builtin_trap();
  }
  return 0;
}
