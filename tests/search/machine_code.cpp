#include "tests/search/machine_code.h"

#include <gtest/gtest.h>

#include <cstring>

#include "jit/detect.h"

namespace axrun::tests {

using ir::Tensor;

std::vector<jit::Target> targets_with_code() {
  std::vector<jit::Target> targets;
  const jit::Target host = jit::detect_target();
  if (host.vector_bytes >= 64) targets.push_back(host);
  if (host.vector_bytes >= 32) targets.push_back(jit::restricted(host, jit::Level::avx2));
  for (jit::Target& target : targets) target.cores = 2;
  return targets;
}

ir::Shape shape_at(const ir::Dims& dims, const SizeValues& sizes) {
  std::map<std::string, ir::Dim> values;
  for (const auto& [name, value] : sizes) values[name] = ir::Dim(value);
  ir::Shape shape;
  for (const ir::Dim& dim : dims) shape.push_back(dim.substitute(values).value());
  return shape;
}

std::vector<Tensor> run_guarded(const std::shared_ptr<const jit::KernelCode>& code, const SizeValues& sizes,
                                const std::vector<Tensor>& inputs, const std::vector<bool>& constant,
                                verify::Placement placement) {
  jit::BoundKernel kernel(code, sizes, constant);
  std::vector<verify::GuardedArray> memory;
  std::vector<const void*> read;
  std::vector<void*> written;
  std::vector<Tensor> outputs;
  size_t next = 0;
  for (const ir::loop::Buffer& buffer : code->program().buffers) {
    if (buffer.role == ir::loop::Role::scratch) continue;
    const bool output = buffer.role == ir::loop::Role::output;
    if (output) outputs.push_back(Tensor::allocate(buffer.type, shape_at(buffer.dims, sizes)));
    const Tensor& tensor = output ? outputs.back() : inputs[next++];
    memory.emplace_back(tensor.bytes(), sizeof(float));
    memory.back().place(placement);
    if (output) {
      std::memset(memory.back().data(), 0xff, tensor.bytes());
      written.push_back(memory.back().data());
    } else {
      std::memcpy(memory.back().data(), tensor.data(), tensor.bytes());
      read.push_back(memory.back().data());
    }
  }
  jit::Workers& workers = jit::inline_workers();
  kernel.prepare(read.data(), workers);
  verify::GuardedArray scratch((kernel.scratch_bytes(workers.count()) + 63) / 64 * 64, 64);
  scratch.place(verify::Placement::ends_at_guard);
  std::memset(scratch.data(), 0xff, scratch.bytes());
  kernel.run(read.data(), written.data(), scratch.data(), workers);
  for (const verify::GuardedArray& array : memory) EXPECT_TRUE(array.surroundings_intact());
  for (size_t k = 0; k < outputs.size(); ++k) std::memcpy(outputs[k].data(), written[k], outputs[k].bytes());
  return outputs;
}

}  // namespace axrun::tests
