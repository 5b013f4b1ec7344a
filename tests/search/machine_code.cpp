#include "tests/search/machine_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ir/evaluate.h"
#include "ir/loop/loop_program.h"
#include "jit/detect.h"
#include "verify/gate_inputs.h"

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
    memory.emplace_back(tensor.bytes(), ir::size_of(buffer.type));
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

Tensor halves(const ir::Shape& shape, bool special, std::mt19937& random) {
  Tensor tensor = Tensor::allocate(ir::ElementType::f32, shape);
  std::uniform_int_distribution<int> number(-8, 8), kind(0, 39);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.as<float>()[i] = static_cast<float>(number(random)) / 2;
    const int draw = special ? kind(random) : 3;
    if (draw < 3) tensor.as<float>()[i] = draw == 0 ? std::nanf("") : draw == 1 ? infinity : -infinity;
  }
  return tensor;
}

Tensor indices(ir::ElementType type, const ir::Shape& shape, int64_t limit, std::mt19937& random) {
  Tensor tensor = Tensor::allocate(type, shape);
  std::uniform_int_distribution<int64_t> number(-limit, limit - 1);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_int(i, number(random));
  return tensor;
}

/// Anything of a type that is no float: small numbers, and some near its bounds; of i64 near those of i32.
Tensor any_integers(ir::ElementType type, const ir::Shape& shape, std::mt19937& random) {
  Tensor tensor = Tensor::allocate(type, shape);
  const ir::ElementType range = ir::size_of(type) == 8 ? ir::ElementType::i32 : type;
  const bool flags = type == ir::ElementType::boolean;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto near = static_cast<int64_t>(random() % 11) - 5;
    const auto draw = random() % 4;
    const int64_t from = flags || draw > 1 ? 0 : draw == 0 ? ir::integer_min(range) : ir::integer_max(range);
    tensor.set_int(i, flags ? static_cast<int64_t>(draw & 1) : ir::wrap_to(type, from + near));
  }
  return tensor;
}

Tensor of_type(ir::ElementType type, const Tensor& floats) {
  if (type == ir::ElementType::f32) return floats;
  Tensor tensor = Tensor::allocate(type, floats.shape());
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_real(i, floats.get_real(i));
  return tensor;
}

void expect_computed(const Case& c) {
  const ir::Program expression = c.make();
  for (const jit::Target& target : targets_with_code()) {
    const search::Lowered lowered = lowered_case(c, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const auto code = jit::KernelCode::compile(*lowered.program, target, {});
    for (const SizeValues& sizes : c.values) {
      for (const bool special : {false, true}) {
        std::mt19937 random(special ? 2 : 1);
        std::vector<Tensor> operands, inputs;
        std::vector<bool> constant;
        const auto plans = verify::plan_operands(expression, sizes);
        for (size_t k = 0; k < expression.operands.size(); ++k) {
          operands.emplace_back();
          if (expression.operands[k] == ir::none) continue;
          const ir::TensorDecl& tensor = expression.tensors[static_cast<size_t>(expression.operands[k])];
          const ir::Shape shape = shape_at(tensor.dims, sizes);
          const int64_t limit = plans[inputs.size()].limit;
          operands.back() = is_float(tensor.type) ? of_type(tensor.type, halves(shape, special, random))
                            : limit > 0           ? indices(tensor.type, shape, limit, random)
                                                  : any_integers(tensor.type, shape, random);
          inputs.push_back(operands.back());
          constant.push_back(k < c.constant.size() && c.constant[k]);
        }
        const Tensor want = ir::evaluate(expression, operands)[0];
        for (const auto placement : {verify::Placement::ends_at_guard, verify::Placement::begins_at_guard}) {
          const Tensor got = run_guarded(code, sizes, inputs, constant, placement)[0];
          ASSERT_EQ(got.size(), want.size());
          for (int64_t i = 0; i < want.size(); ++i) {
            const double a = got.get_real(i), b = want.get_real(i);
            if (a == b || (std::isnan(a) && std::isnan(b))) continue;
            ASSERT_LE(std::abs(a - b), is_float(want.type()) ? 2e-6 * std::max(1.0, std::abs(b)) : 0)
                << target.vector_bytes << " bytes, element " << i << " is " << a << " instead of " << b
                << '\n'
                << ir::loop::print(*lowered.program);
          }
        }
      }
    }
  }
}

}  // namespace axrun::tests
