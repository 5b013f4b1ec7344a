// Scan: opset 9 and later, and opset 8 with its batch dimension and sequence lengths.
#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "runtime/control/body_results.h"
#include "runtime/control/graph_operators.h"

namespace axrun::runtime {
namespace {

struct ScanPlan {
  size_t states = 0;
  size_t scanned = 0;
  size_t emitted = 0;
  std::vector<int64_t> input_axes, output_axes;
  std::vector<int64_t> input_reverse, output_reverse;
};

ScanPlan plan_of(const ir::Node& node, size_t inputs, const ir::Graph& body) {
  ScanPlan plan;
  const int64_t scanned = integer_attribute(node, "num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(inputs) || body.inputs.size() != inputs ||
      body.outputs.size() < inputs - static_cast<size_t>(scanned)) {
    throw Error(
        Fault::model,
        fmt::format("Scan '{}': {} inputs, num_scan_inputs {}, but the body has {} inputs and {} outputs",
                    node.name, inputs, scanned, body.inputs.size(), body.outputs.size()));
  }
  plan.scanned = static_cast<size_t>(scanned);
  plan.states = inputs - plan.scanned;
  plan.emitted = body.outputs.size() - plan.states;
  const auto list = [&](const std::string& name, size_t count) {
    std::vector<int64_t> values = integers_attribute(node, name);
    if (values.size() > count) {
      throw Error(Fault::model, fmt::format("Scan '{}': attribute '{}' is too long", node.name, name));
    }
    values.resize(count, 0);
    return values;
  };
  const bool with_batch = node.version < 9;
  plan.input_reverse = list(with_batch ? "directions" : "scan_input_directions", plan.scanned);
  plan.output_reverse = list("scan_output_directions", plan.emitted);
  plan.input_axes = list("scan_input_axes", plan.scanned);
  plan.output_axes = list("scan_output_axes", plan.emitted);
  return plan;
}

/// A tensor whose elements along an axis are given to the body one after another: as views where they lie
/// side by side, which keep the tensor alive.
class Scanned {
 public:
  Scanned(const ir::Node& node, const RuntimeValue& whole, int64_t axis)
      : whole_(whole), axis_(normal_axis(node, axis, whole.tensor.rank())), rest_(whole.tensor.shape()) {
    const ir::Tensor& x = whole.tensor;
    side_by_side_ =
        x.type() != ir::ElementType::string &&
        std::all_of(rest_.begin(), rest_.begin() + axis_, [](int64_t extent) { return extent == 1; });
    rest_.erase(rest_.begin() + axis_);
    if (!side_by_side_) return;
    bytes_ = static_cast<size_t>(ir::element_count(rest_)) * ir::size_of(x.type());
    if (x.keeps_buffer()) owner_ = std::make_shared<const ir::Tensor>(x);
  }

  void element(int64_t index, RuntimeValue& value) const {
    const ir::Tensor& x = whole_.tensor;
    if (!side_by_side_) {
      value = RuntimeValue(take(x, axis_, index, false), whole_.type);
      return;
    }
    char* data = const_cast<char*>(x.as<char>()) + static_cast<size_t>(index) * bytes_;
    value.tensor.lend(x.type(), rest_, data, owner_);
    value.type = whole_.type;
  }

 private:
  const RuntimeValue& whole_;
  int axis_;
  ir::Shape rest_;
  bool side_by_side_ = false;
  size_t bytes_ = 0;
  std::shared_ptr<const ir::Tensor> owner_;
};

/// One sequence: states and scanned tensors in, final states and stacked tensors out, `length` steps.
std::vector<RuntimeValue> scan_sequence(const ir::Node& node, const ir::Graph& body, const ScanPlan& plan,
                                        const std::vector<RuntimeValue>& inputs, int64_t length,
                                        const RunBody& run_body) {
  std::vector<RuntimeValue> arguments(inputs.begin(),
                                      inputs.begin() + static_cast<std::ptrdiff_t>(plan.states));
  arguments.resize(inputs.size());
  std::vector<RuntimeValue> results(plan.states + plan.emitted);
  std::vector<CarriedValue> places(plan.states);
  std::vector<Scanned> scanned;
  for (size_t k = 0; k < plan.scanned; ++k)
    scanned.emplace_back(node, inputs[plan.states + k], plan.input_axes[k]);
  std::vector<StackedValue> stacks;
  for (size_t k = 0; k < plan.emitted; ++k)
    stacks.emplace_back(node, plan.output_axes[k], plan.output_reverse[k] != 0, length);
  for (int64_t t = 0; t < length; ++t) {
    for (size_t k = 0; k < plan.scanned; ++k)
      scanned[k].element(plan.input_reverse[k] != 0 ? length - 1 - t : t, arguments[plan.states + k]);
    for (size_t k = 0; k < plan.states; ++k) places[k].offer(arguments[k], results[k]);
    for (size_t k = 0; k < plan.emitted; ++k) stacks[k].offer(results[plan.states + k]);
    run_body(body, arguments, results);
    for (size_t k = 0; k < plan.states; ++k) {
      places[k].taken(results[k]);
      std::swap(arguments[k], results[k]);
    }
    for (size_t k = 0; k < plan.emitted; ++k) stacks[k].add(results[plan.states + k]);
  }
  arguments.resize(plan.states);
  for (size_t k = 0; k < plan.emitted; ++k) {
    if (length > 0) {
      arguments.push_back(stacks[k].whole());
      continue;
    }
    const ir::Value& declared = body.value(body.outputs[plan.states + k]);
    const auto type = declared.type == ir::ElementType::undefined ? ir::ElementType::f32 : declared.type;
    arguments.emplace_back(ir::Tensor::allocate(type, {0}));
  }
  return arguments;
}

int64_t scan_length(const ir::Node& node, const ScanPlan& plan, const std::vector<RuntimeValue>& inputs) {
  int64_t length = -1;
  for (size_t k = 0; k < plan.scanned; ++k) {
    const RuntimeValue& x = inputs[plan.states + k];
    if (x.kind != ir::ValueKind::tensor || !x.tensor.defined())
      fail_at(node, "a scanned input is not a tensor");
    const int axis = normal_axis(node, plan.input_axes[k], x.tensor.rank());
    const int64_t extent = x.tensor.shape()[static_cast<size_t>(axis)];
    if (length >= 0 && extent != length) {
      fail_at(node, fmt::format("scanned inputs have {} and {} elements", length, extent));
    }
    length = extent;
  }
  return length;
}

/// Opset 8: inputs {sequence_lens, states..., scanned...}, each with a leading batch dimension.
std::vector<RuntimeValue> scan_batches(const ir::Node& node, const ir::Graph& body,
                                       const std::vector<RuntimeValue>& inputs, const RunBody& run_body) {
  const std::vector<RuntimeValue> values(inputs.begin() + 1, inputs.end());
  const ScanPlan plan = plan_of(node, values.size(), body);
  for (const RuntimeValue& value : values) {
    if (value.tensor.rank() < 1) fail_at(node, "every input needs a batch dimension");
  }
  const int64_t batch = values[0].tensor.shape()[0];
  if (batch < 1) fail_at(node, "the batch is empty");
  std::vector<std::vector<ir::Tensor>> parts(body.outputs.size());
  std::vector<ir::ElementType> types(body.outputs.size());
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<RuntimeValue> one;
    for (const RuntimeValue& value : values) {
      if (value.tensor.shape()[0] != batch) fail_at(node, "batch sizes differ");
      one.emplace_back(take(value.tensor, 0, b, false), value.type);
    }
    const int64_t full = scan_length(node, plan, one);
    int64_t length = full;
    if (inputs[0].present()) {
      if (inputs[0].tensor.size() != batch) fail_at(node, "sequence_lens must have one entry per batch");
      length = inputs[0].tensor.get_int(b);
      if (length < 0 || length > full)
        fail_at(node, fmt::format("sequence length {} is out of range", length));
    }
    std::vector<RuntimeValue> results = scan_sequence(node, body, plan, one, length, run_body);
    for (size_t k = 0; k < results.size(); ++k) {
      ir::Tensor& part = results[k].tensor;
      types[k] = results[k].type;
      if (k >= plan.states && length < full) {  // shorter sequences are padded with zeros
        ir::Shape rest = part.shape();
        rest[0] = full - length;
        part = concatenate({part, ir::Tensor::allocate(part.type(), rest)}, 0);
      }
      parts[k].push_back(part);
    }
  }
  std::vector<RuntimeValue> joined;
  for (size_t k = 0; k < parts.size(); ++k) joined.emplace_back(stack(parts[k], 0), types[k]);
  return joined;
}

}  // namespace

std::vector<RuntimeValue> run_scan(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                   const RunBody& run_body) {
  const ir::Graph& body = body_of(node, "body");
  if (node.version < 9) {
    if (inputs.size() < 2) fail_at(node, "inputs are missing");
    return scan_batches(node, body, inputs, run_body);
  }
  const ScanPlan plan = plan_of(node, inputs.size(), body);
  return scan_sequence(node, body, plan, inputs, scan_length(node, plan, inputs), run_body);
}

}  // namespace axrun::runtime
