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

JitKernel::JitKernel(std::shared_ptr<const JitKernelParts> parts,
                     std::shared_ptr<const jit::BoundKernel> kernel, std::vector<int64_t> sizes)
    : parts_(std::move(parts)), kernel_(std::move(kernel)), sizes_(std::move(sizes)) {
  AXRUN_ASSERT(parts_->inputs.size() <= most_buffers && parts_->outputs.size() <= most_buffers);
}

void JitKernel::run(const KernelCall& call) const {
  std::array<const void*, most_buffers> inputs;
  std::array<void*, most_buffers> outputs;
  for (size_t k = 0; k < parts_->inputs.size(); ++k) inputs[k] = call.inputs[parts_->inputs[k]];
  for (size_t k = 0; k < parts_->outputs.size(); ++k) outputs[k] = call.outputs[parts_->outputs[k]];
  PoolWorkers workers(call.pool);
  try {
    kernel_->run(inputs.data(), outputs.data(), call.scratch, workers);
  } catch (const Error& error) {
    throw Error(error.fault(), parts_->place + ": " + error.what());
  }
}

bool JitKernel::ignores_input(int input) const {
  bool found = false;
  for (size_t k = 0; k < parts_->inputs.size(); ++k) {
    if (parts_->inputs[k] != input) continue;
    if (!kernel_->is_prepared(k)) return false;
    found = true;
  }
  return found;
}

std::optional<jit::WorkCount> JitKernel::work(const jit::Target& target) const {
  if (!parts_->work) return std::nullopt;
  return parts_->work(sizes(), target);
}

SizeValues JitKernel::sizes() const {
  SizeValues sizes;
  for (size_t k = 0; k < sizes_.size(); ++k) sizes.emplace(parts_->symbols[k], sizes_[k]);
  return sizes;
}

}  // namespace axrun::runtime
