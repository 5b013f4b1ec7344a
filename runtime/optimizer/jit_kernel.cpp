#include "runtime/optimizer/jit_kernel.h"

#include <algorithm>
#include <array>

#include "ir/error.h"

namespace axrun::runtime {

void PoolWorkers::run(int64_t iterations, Body body, void* state) {
  pool_.parallel_for_workers(iterations, 1, [&](int64_t worker, int64_t begin, int64_t end) {
    body(state, static_cast<int>(worker), begin, end);
  });
}

JitKernel::JitKernel(JitKernelParts parts) : parts_(std::move(parts)) {
  AXRUN_ASSERT(parts_.inputs.size() <= most_buffers && parts_.outputs.size() <= most_buffers);
}

void JitKernel::run(const KernelCall& call) const {
  std::array<const void*, most_buffers> inputs;
  std::array<void*, most_buffers> outputs;
  for (size_t k = 0; k < parts_.inputs.size(); ++k) inputs[k] = call.inputs[parts_.inputs[k]];
  for (size_t k = 0; k < parts_.outputs.size(); ++k) outputs[k] = call.outputs[parts_.outputs[k]];
  PoolWorkers workers(call.pool);
  try {
    parts_.kernel->run(inputs.data(), outputs.data(), call.scratch, workers);
  } catch (const Error& error) {
    throw Error(error.fault(), parts_.place + ": " + error.what());
  }
}

bool JitKernel::ignores_input(int input) const {
  bool found = false;
  for (size_t k = 0; k < parts_.inputs.size(); ++k) {
    if (parts_.inputs[k] != input) continue;
    if (!parts_.kernel->is_prepared(k)) return false;
    found = true;
  }
  return found;
}

}  // namespace axrun::runtime
