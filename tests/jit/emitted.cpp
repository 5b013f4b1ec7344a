#include "tests/jit/emitted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "jit/detect.h"

namespace axrun::tests {

using ir::Tensor;
using ir::loop::LoopProgram;
using ir::loop::Role;

std::vector<Tensor> run_code(const std::shared_ptr<const jit::KernelCode>& code,
                             const std::map<std::string, int64_t>& sizes, const std::vector<Tensor>& inputs,
                             const std::vector<bool>& constant, jit::Workers& workers) {
  const LoopProgram& program = code->program();
  jit::BoundKernel kernel(code, sizes, constant);
  std::map<std::string, ir::Dim> known;
  for (const auto& [name, size] : sizes) known[name] = size;
  for (const ir::loop::Size& size : program.sizes) known.emplace(size.name, size.low);
  std::vector<Tensor> outputs;
  for (const ir::loop::Buffer& buffer : program.buffers) {
    if (buffer.role != Role::output) continue;
    ir::Shape shape;
    for (const ir::Dim& dim : buffer.dims) shape.push_back(dim.substitute(known).value());
    Tensor output = Tensor::allocate(buffer.type, shape);
    std::memset(output.data(), 0xff, output.bytes());  // NaN: what is not written shows
    outputs.push_back(output);
  }
  std::vector<const void*> read;
  std::vector<void*> written;
  for (const Tensor& input : inputs) read.push_back(input.data());
  for (Tensor& output : outputs) written.push_back(output.data());
  kernel.prepare(read.data(), workers);
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (kernel.is_prepared(k)) read[k] = nullptr;
  }
  // Scratch memory holds garbage, as it does in a plan.
  std::vector<char> scratch(kernel.scratch_bytes(workers.count()) + 64, static_cast<char>(0xff));
  const auto address = (reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64;
  kernel.run(read.data(), written.data(), reinterpret_cast<void*>(address), workers);
  return outputs;
}

Tensor small_integers(const ir::Shape& shape, unsigned seed) {
  Tensor tensor = Tensor::allocate(ir::ElementType::f32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.as<float>()[i] = static_cast<float>(static_cast<int>(seed >> 28) - 8);
  }
  return tensor;
}

std::vector<jit::Target> code_targets() {
  std::vector<jit::Target> targets;
  const jit::Target host = jit::detect_target();
  if (host.vector_bytes >= 64) targets.push_back(host);
  if (host.vector_bytes >= 32) targets.push_back(jit::restricted(host, jit::Level::avx2));
  return targets;
}

}  // namespace axrun::tests
