// A slow twin of machine code behind the interface of jit/kernel_code.h: loop programs run in their
// interpreter.

#include <fmt/format.h>

#include <cstring>

#include "ir/error.h"
#include "ir/loop/interpreter.h"
#include "jit/kernel_code.h"

namespace axrun::jit {
namespace {

class InlineWorkers final : public Workers {
 public:
  int count() const override { return 1; }
  void run(int64_t iterations, Body body, void* state) override {
    if (iterations > 0) body(state, 0, 0, iterations);
  }
};

class InterpretedCode final : public KernelCode {
 public:
  explicit InterpretedCode(ir::loop::LoopProgram program)
      : program_(std::move(program)), text_(ir::loop::print(program_)) {}
  const ir::loop::LoopProgram& program() const override { return program_; }
  size_t code_bytes() const override { return text_.size(); }
  const void* code() const override { return text_.data(); }
  const std::string& assembly() const override { return none_; }

 private:
  ir::loop::LoopProgram program_;
  std::string text_;
  std::string none_;
};

}  // namespace

Workers& inline_workers() {
  static InlineWorkers one;
  return one;
}

std::shared_ptr<const KernelCode> KernelCode::compile(const ir::loop::LoopProgram& program, const Target&,
                                                      const CompileOptions&) {
  ir::loop::require_valid(program);
  return std::make_shared<InterpretedCode>(program);
}

struct BoundKernel::State {
  std::shared_ptr<const KernelCode> code;
  std::map<std::string, int64_t> sizes;
  std::vector<bool> constant;
  std::vector<ir::Tensor> prepared;  ///< per input; copies of the constants
};

namespace {

ir::Shape shape_of(const ir::loop::Buffer& buffer, const std::map<std::string, int64_t>& sizes) {
  std::map<std::string, ir::Dim> values;
  for (const auto& [name, value] : sizes) values.emplace(name, ir::Dim(value));
  ir::Shape shape;
  for (const ir::Dim& dim : buffer.dims) shape.push_back(dim.substitute(values).value());
  return shape;
}

std::vector<const ir::loop::Buffer*> buffers(const KernelCode& code, ir::loop::Role role) {
  std::vector<const ir::loop::Buffer*> found;
  for (const ir::loop::Buffer& buffer : code.program().buffers) {
    if (buffer.role == role) found.push_back(&buffer);
  }
  return found;
}

}  // namespace

BoundKernel::BoundKernel(std::shared_ptr<const KernelCode> code, const std::map<std::string, int64_t>& sizes,
                         const std::vector<bool>& constant)
    : state_(std::make_unique<State>(State{std::move(code), sizes, constant, {}})) {
  for (const ir::loop::Size& size : state_->code->program().sizes) {
    const auto found = sizes.find(size.name);
    if (found == sizes.end() || found->second < size.low || found->second > size.high) {
      throw Error(Fault::user, fmt::format("size {} is not claimed", size.name));
    }
  }
  const size_t inputs = buffers(*state_->code, ir::loop::Role::input).size();
  state_->constant.resize(inputs, false);
  state_->prepared.resize(inputs);
}
BoundKernel::~BoundKernel() = default;
BoundKernel::BoundKernel(BoundKernel&&) noexcept = default;

void BoundKernel::prepare(const void* const* inputs, Workers&) {
  const auto input_buffers = buffers(*state_->code, ir::loop::Role::input);
  for (size_t k = 0; k < input_buffers.size(); ++k) {
    if (!state_->constant[k]) continue;
    ir::Tensor copy =
        ir::Tensor::allocate(input_buffers[k]->type, shape_of(*input_buffers[k], state_->sizes));
    if (copy.bytes() > 0) std::memcpy(copy.data(), inputs[k], copy.bytes());
    state_->prepared[k] = copy;
  }
}
bool BoundKernel::is_prepared(size_t input) const { return state_->prepared[input].defined(); }
size_t BoundKernel::prepared_bytes() const {
  size_t bytes = 0;
  for (const ir::Tensor& tensor : state_->prepared) bytes += tensor.defined() ? tensor.bytes() : 0;
  return bytes;
}
size_t BoundKernel::scratch_bytes(int workers) const { return static_cast<size_t>(workers) * 64; }

void BoundKernel::run(const void* const* inputs, void* const* outputs, void*, Workers&) const {
  std::vector<ir::Tensor> tensors;
  const auto input_buffers = buffers(*state_->code, ir::loop::Role::input);
  for (size_t k = 0; k < input_buffers.size(); ++k) {
    tensors.push_back(state_->prepared[k].defined()
                          ? state_->prepared[k]
                          : ir::Tensor::borrow(input_buffers[k]->type,
                                               shape_of(*input_buffers[k], state_->sizes),
                                               const_cast<void*>(inputs[k])));
  }
  const ir::loop::Outcome outcome = ir::loop::interpret(state_->code->program(), state_->sizes, tensors);
  if (outcome.mistake) throw Error(Fault::internal, outcome.text);
  for (size_t k = 0; k < outcome.outputs.size(); ++k) {
    if (outcome.outputs[k].bytes() > 0) {
      std::memcpy(outputs[k], outcome.outputs[k].data(), outcome.outputs[k].bytes());
    }
  }
}

}  // namespace axrun::jit
