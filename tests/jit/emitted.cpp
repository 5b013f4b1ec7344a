#include "tests/jit/emitted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

/// Inputs of small integers, of the shapes that the program states.
std::vector<Tensor> inputs_of(const LoopProgram& program, const SizeValues& sizes) {
  std::map<std::string, ir::Dim> known;
  for (const auto& [name, size] : sizes) known[name] = size;
  std::vector<Tensor> inputs;
  for (const ir::loop::Buffer& buffer : program.buffers) {
    if (buffer.role != ir::loop::Role::input) continue;
    ir::Shape shape;
    for (const ir::Dim& dim : buffer.dims) shape.push_back(dim.substitute(known).value());
    Tensor input = small_integers(shape, static_cast<unsigned>(inputs.size() + 1));
    if (buffer.type == ir::ElementType::boolean) {
      Tensor flags = Tensor::allocate(buffer.type, shape);
      for (int64_t i = 0; i < input.size(); ++i) flags.set_int(i, input.as<float>()[i] > 0 ? 1 : 0);
      input = flags;
    }
    inputs.push_back(input);
  }
  return inputs;
}

/// The machine code of every target against the interpreter of loop programs.
void expect_as_interpreted(const std::string& text, const std::vector<SizeValues>& all_sizes,
                           double tolerance) {
  const LoopProgram program = ir::loop::parse(text);
  for (const jit::Target& target : code_targets()) {
    std::shared_ptr<const jit::KernelCode> code = jit::KernelCode::compile(program, target, {});
    for (const SizeValues& sizes : all_sizes) {
      std::string where = std::to_string(target.vector_bytes) + " bytes";
      for (const auto& [name, size] : sizes) where += ", " + name + " = " + std::to_string(size);
      const std::vector<Tensor> inputs = inputs_of(program, sizes);
      const ir::loop::Outcome want = interpret(program, sizes, inputs);
      ASSERT_FALSE(want.mistake) << want.text << where;
      const std::vector<Tensor> got = run_code(code, sizes, inputs);
      ASSERT_EQ(got.size(), want.outputs.size());
      for (size_t k = 0; k < got.size(); ++k) {
        for (int64_t i = 0; i < got[k].size(); ++i) {
          const double a = got[k].get_real(i), b = want.outputs[k].get_real(i);
          if (a == b || (std::isnan(a) && std::isnan(b))) continue;
          ASSERT_LE(std::abs(a - b), tolerance * std::abs(b))
              << where << ": element " << i << " of output " << k << " is " << a << " instead of " << b;
        }
      }
    }
  }
}

std::vector<jit::Target> code_targets() {
  std::vector<jit::Target> targets;
  const jit::Target host = jit::detect_target();
  if (host.vector_bytes >= 64) targets.push_back(host);
  if (host.vector_bytes >= 32) targets.push_back(jit::restricted(host, jit::Level::avx2));
  return targets;
}

}  // namespace axrun::tests
