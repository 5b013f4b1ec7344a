// Scan: opset 9 and later, and opset 8 with its batch dimension and sequence lengths.
#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
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

int normal_axis(const ir::Node& node, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    fail_at(node, fmt::format("axis {} is out of range for rank {}", axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// Element `index` of a scanned tensor along an axis: a view where its elements lie side by side, which keeps
/// `owner` alive.
RuntimeValue element(const RuntimeValue& scanned, const std::shared_ptr<const ir::Tensor>& owner, int axis,
                     int64_t index) {
  const ir::Shape& shape = scanned.tensor.shape();
  const bool side_by_side =
      scanned.tensor.type() != ir::ElementType::string &&
      std::all_of(shape.begin(), shape.begin() + axis, [](int64_t extent) { return extent == 1; });
  if (!side_by_side) return {take(scanned.tensor, axis, index, false), scanned.type};
  ir::Shape rest = shape;
  rest.erase(rest.begin() + axis);
  const auto bytes = static_cast<size_t>(ir::element_count(rest)) * ir::size_of(scanned.tensor.type());
  char* data = const_cast<char*>(scanned.tensor.as<char>()) + static_cast<size_t>(index) * bytes;
  return {ir::Tensor::borrow(scanned.tensor.type(), rest, data, owner), scanned.type};
}

/// One sequence: states and scanned tensors in, final states and stacked tensors out, `length` steps.
std::vector<RuntimeValue> scan_sequence(const ir::Node& node, const ir::Graph& body, const ScanPlan& plan,
                                        const std::vector<RuntimeValue>& inputs, int64_t length,
                                        const RunBody& run_body) {
  std::vector<RuntimeValue> state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(plan.states));
  std::vector<std::vector<ir::Tensor>> slices(plan.emitted);
  std::vector<ir::ElementType> types(plan.emitted, ir::ElementType::f32);
  std::vector<std::shared_ptr<const ir::Tensor>> owners;
  for (size_t k = 0; k < plan.scanned; ++k) {
    const ir::Tensor& x = inputs[plan.states + k].tensor;
    owners.push_back(x.keeps_buffer() ? std::make_shared<const ir::Tensor>(x) : nullptr);
  }
  for (int64_t t = 0; t < length; ++t) {
    std::vector<RuntimeValue> arguments = std::move(state);
    state.resize(plan.states);
    for (size_t k = 0; k < plan.scanned; ++k) {
      const RuntimeValue& x = inputs[plan.states + k];
      const int axis = normal_axis(node, plan.input_axes[k], x.tensor.rank());
      const int64_t index = plan.input_reverse[k] != 0 ? length - 1 - t : t;
      arguments.push_back(element(x, owners[k], axis, index));
    }
    std::vector<RuntimeValue> results = run_body(body, arguments);
    for (size_t k = 0; k < plan.states; ++k) state[k] = std::move(results[k]);
    for (size_t k = 0; k < plan.emitted; ++k) {
      types[k] = results[plan.states + k].type;
      slices[k].push_back(std::move(results[plan.states + k].tensor));
    }
  }
  for (size_t k = 0; k < plan.emitted; ++k) {
    if (plan.output_reverse[k] != 0) std::reverse(slices[k].begin(), slices[k].end());
    if (slices[k].empty()) {
      const ir::Value& declared = body.value(body.outputs[plan.states + k]);
      const auto type = declared.type == ir::ElementType::undefined ? ir::ElementType::f32 : declared.type;
      state.emplace_back(ir::Tensor::allocate(type, {0}));
      continue;
    }
    const int axis = normal_axis(node, plan.output_axes[k], slices[k][0].rank() + 1);
    state.emplace_back(stack(slices[k], axis), types[k]);
  }
  return state;
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
