// Operators on floats of 16 bits, by the kernels that they have for f32: inputs are widened before, results
// rounded after. What lies between within an operator, or a group of them, is not rounded.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/error.h"
#include "ir/infer.h"
#include "ir/operator.h"
#include "runtime/operators/narrow_parts.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

ElementType widened(ElementType type) { return narrow_type(type) ? ElementType::f32 : type; }

/// A step as it would be if all of its floats of 16 bits were f32. What is made stays while kernels use it.
struct WidenedStep {
  std::vector<ir::Program> programs;
  std::vector<ir::Tensor> constants;  ///< widened, by input; undefined where it is none of 16 bits
};

/// The definitions of the group's nodes once more; false where one does not take f32.
bool define(const StepContext& context, const StepContext& wide, WidenedStep& step) {
  std::map<ir::ValueId, ir::OperandInfo> known;
  for (size_t k = 0; k < wide.inputs.size(); ++k) {
    const StepPort& port = wide.inputs[k];
    if (!port.present) continue;
    ir::OperandInfo& info = known[wide.input_ids[k]];
    info.present = true;
    info.type = port.type;
    info.dims = ir::to_dims(port.shape);
    info.constant = port.constant;
  }
  step.programs.reserve(context.group.size());
  for (const ir::Node* node : context.group) {
    std::vector<ir::OperandInfo> operands;
    for (const ir::ValueId id : node->inputs) {
      const auto found = known.find(id);
      operands.push_back(found == known.end() ? ir::OperandInfo() : found->second);
    }
    try {
      step.programs.push_back(ir::define_node(*node, operands));
    } catch (const ir::NotYetKnown&) {
      return false;
    } catch (const Error&) {
      return false;
    }
    const std::vector<ir::ValueFact> results = ir::output_facts(step.programs.back());
    for (size_t k = 0; k < node->outputs.size() && k < results.size(); ++k) {
      ir::OperandInfo& info = known[node->outputs[k]];
      info.present = true;
      info.type = results[k].type;
      info.dims = results[k].dims;
    }
  }
  for (size_t k = 0; k < wide.outputs.size(); ++k) {
    if (wide.outputs[k].present && known[wide.output_ids[k]].type != wide.outputs[k].type) return false;
  }
  return true;
}

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(const StepContext& context, WidenedStep step, std::unique_ptr<Kernel> kernel)
      : step_(std::move(step)), kernel_(std::move(kernel)) {
    for (size_t k = 0; k < context.inputs.size(); ++k) {
      const StepPort& port = context.inputs[k];
      const bool read =
          port.present && !step_.constants[k].defined() && !kernel_->ignores_input(static_cast<int>(k));
      inputs_.push_back(buffer_of(port, read));
    }
    for (const StepPort& port : context.outputs) outputs_.push_back(buffer_of(port, port.present));
  }

  void run(const KernelCall& call) const override {
    auto* scratch = static_cast<char*>(call.scratch);
    const auto floats = [&](const Buffer& buffer) {
      return reinterpret_cast<float*>(scratch + buffer.offset);
    };
    std::vector<const void*> inputs(call.inputs, call.inputs + inputs_.size());
    std::vector<void*> outputs(call.outputs, call.outputs + outputs_.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (step_.constants[k].defined()) inputs[k] = step_.constants[k].data();
      const Buffer& buffer = inputs_[k];
      if (!buffer.type || inputs[k] == nullptr) continue;
      widen(*buffer.type, buffer.count, inputs[k], floats(buffer), call.pool);
      inputs[k] = floats(buffer);
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (outputs_[k].type) outputs[k] = floats(outputs_[k]);
    }
    kernel_->run({inputs.data(), outputs.data(), scratch + bytes_, call.pool});
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Buffer& buffer = outputs_[k];
      if (buffer.type) narrow(*buffer.type, buffer.count, floats(buffer), call.outputs[k], call.pool);
    }
  }

  std::string describe() const override { return kernel_->describe() + ", widened"; }
  size_t scratch_bytes() const override { return bytes_ + kernel_->scratch_bytes(); }
  bool ignores_input(int k) const override {
    return step_.constants[static_cast<size_t>(k)].defined() || kernel_->ignores_input(k);
  }
  double flops() const override { return kernel_->flops(); }

 private:
  /// Where a value of 16 bits lies as f32, in the scratch memory. No type: it is taken as it is.
  struct Buffer {
    std::optional<NarrowFloat> type;
    int64_t count = 0;
    size_t offset = 0;
  };
  Buffer buffer_of(const StepPort& port, bool used) {
    if (!used || !narrow_type(port.type)) return {};
    const Buffer buffer{narrow_type(port.type), port.count(), bytes_};
    bytes_ += (static_cast<size_t>(buffer.count) * sizeof(float) + buffer_alignment - 1) / buffer_alignment *
              buffer_alignment;
    return buffer;
  }

  WidenedStep step_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Buffer> inputs_, outputs_;
  size_t bytes_ = 0;
};

/// Whether the last digits of what lies between decide which integers come out.
bool rounds_to_integers(const StepContext& context) {
  const auto gives_integers = [](const StepPort& port) { return port.present && !ir::is_float(port.type); };
  const auto quantizes = [](const ir::Node* node) { return node->op == "QuantizeLinear"; };
  return (context.fused() && std::any_of(context.outputs.begin(), context.outputs.end(), gives_integers)) ||
         std::any_of(context.group.begin(), context.group.end(), quantizes);
}

std::unique_ptr<Kernel> make_widened(const StepContext& context) {
  const auto is_narrow = [](const StepPort& port) { return port.present && narrow_type(port.type); };
  if (std::none_of(context.inputs.begin(), context.inputs.end(), is_narrow)) return nullptr;
  if (rounds_to_integers(context)) return nullptr;
  StepContext wide = context;
  for (StepPort& port : wide.inputs) port.type = widened(port.type);
  for (StepPort& port : wide.outputs) port.type = widened(port.type);
  WidenedStep step;
  step.constants.resize(wide.inputs.size());
  for (size_t k = 0; k < wide.inputs.size(); ++k) {
    const ir::Tensor* constant = wide.inputs[k].constant;
    const auto type = narrow_type(context.inputs[k].type);
    if (constant == nullptr || !type) continue;
    const jit::PreparedKey key{fmt::format("widened {}", static_cast<int>(*type)),
                               {{constant->data(), constant->bytes()}}};
    const PackedWeights floats =
        context.packs.get(key, static_cast<size_t>(constant->size()) * sizeof(float), [&](void* to) {
          widen(*type, constant->size(), static_cast<const uint16_t*>(constant->data()),
                static_cast<float*>(to));
        });
    // Others tell it by its address: it stays for as long as what is made of it.
    step.constants[k] =
        ir::Tensor::borrow(ElementType::f32, constant->shape(), const_cast<void*>(floats.get()), floats);
    wide.inputs[k].constant = &step.constants[k];
  }
  if (!define(context, wide, step)) return nullptr;
  wide.programs.clear();
  for (const ir::Program& program : step.programs) wide.programs.push_back(&program);
  for (const KernelFactory factory : factories_for(context.node.domain, context.node.op)) {
    if (factory == make_widened) continue;
    if (auto kernel = factory(wide)) {
      return std::make_unique<WidenedKernel>(context, std::move(step), std::move(kernel));
    }
  }
  return nullptr;
}

}  // namespace

void widened_factories(std::vector<FactoryEntry>& table) { table.push_back({"*", "*", make_widened}); }

}  // namespace axrun::runtime
