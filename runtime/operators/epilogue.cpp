#include "runtime/operators/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/view.h"

namespace axrun::runtime {
namespace {

double attribute(const ir::Node& node, const char* name, double otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.real;
}

bool is_constant_f32(const StepPort& port) {
  return port.present && port.constant != nullptr && port.type == ir::ElementType::f32;
}

/// A constant that has one value per channel of the result (or one for all): its values, per channel.
bool per_channel(const EpiloguePlan& plan, const StepPort& port, std::vector<float>& values) {
  if (!is_constant_f32(port)) return false;
  const int64_t channels = plan.channels();
  const auto rank = static_cast<int>(plan.shape.size());
  if (port.rank() > rank) return false;
  const int64_t count = port.count();
  if (count != 1) {
    // The only dimension larger than 1 is the channel's, under broadcasting from the right.
    const int at = plan.channel_axis - (rank - port.rank());
    if (at < 0 || count != channels || port.shape[static_cast<size_t>(at)] != channels) return false;
  }
  const auto* data = port.constant->as<float>();
  values.resize(static_cast<size_t>(channels));
  for (int64_t c = 0; c < channels; ++c) values[static_cast<size_t>(c)] = data[count == 1 ? 0 : c];
  return true;
}

void multiply_by(EpiloguePlan& plan, const std::vector<float>& factors) {
  if (plan.factor.empty()) plan.factor.assign(factors.size(), 1.0f);
  for (size_t c = 0; c < factors.size(); ++c) plan.factor[c] *= factors[c];
  for (size_t c = 0; c < plan.bias.size(); ++c) plan.bias[c] *= factors[c];
}

void add_bias(EpiloguePlan& plan, const std::vector<float>& values, float sign) {
  if (plan.bias.empty()) plan.bias.assign(values.size(), 0.0f);
  for (size_t c = 0; c < values.size(); ++c) plan.bias[c] += sign * values[c];
}

bool extend_by_normalization(EpiloguePlan& plan, const ir::Node& node, const PortLookup& port) {
  const auto training = node.attributes.find("training_mode");
  if (training != node.attributes.end() && training->second.integer != 0) return false;
  if (node.inputs.size() < 5 || node.attributes.count("spatial") > 0 || node.version < 7) return false;
  if (plan.channel_axis != 1) return false;
  const float epsilon = static_cast<float>(attribute(node, "epsilon", 1e-5));
  std::vector<StepPort> parameters;
  for (size_t k = 1; k < 5; ++k) {
    parameters.push_back(port(node.inputs[k]));
    if (!is_constant_f32(parameters.back()) || parameters.back().count() != plan.channels()) return false;
  }
  const auto* gamma = parameters[0].constant->as<float>();
  const auto* beta = parameters[1].constant->as<float>();
  const auto* mean = parameters[2].constant->as<float>();
  const auto* variance = parameters[3].constant->as<float>();
  std::vector<float> factors, shifts;
  for (int64_t c = 0; c < plan.channels(); ++c) {
    const double factor = gamma[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    factors.push_back(static_cast<float>(factor));
    shifts.push_back(static_cast<float>(beta[c] - factor * mean[c]));
  }
  multiply_by(plan, factors);
  add_bias(plan, shifts, 1.0f);
  return true;
}

bool extend_by_arithmetic(EpiloguePlan& plan, const ir::Node& node, ir::ValueId value,
                          const PortLookup& port) {
  if (node.inputs.size() != 2 || node.attributes.count("axis") > 0 || node.version < 7) return false;
  const bool left = node.inputs[0] == value;
  const ir::ValueId other = node.inputs[left ? 1 : 0];
  if (other == value) return false;
  const StepPort operand = port(other);
  std::vector<float> values;
  if (plan.residual == ir::absent && per_channel(plan, operand, values)) {
    if (node.op == "Add") {
      add_bias(plan, values, 1.0f);
    } else if (node.op == "Mul") {
      multiply_by(plan, values);
    } else if (node.op == "Sub" && left) {
      add_bias(plan, values, -1.0f);
    } else if (node.op == "Div" && left) {
      for (float& v : values) v = 1.0f / v;
      if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return false;
      multiply_by(plan, values);
    } else {
      return false;
    }
    return true;
  }
  if (node.op != "Add" || plan.residual != ir::absent || !operand.present) return false;
  if (operand.type != ir::ElementType::f32 || operand.shape != plan.shape) return false;
  plan.residual = other;
  return true;
}

/// A constant scalar input of the node.
bool scalar_input(const ir::Node& node, size_t k, const PortLookup& port, float otherwise, float& value) {
  value = otherwise;
  if (k >= node.inputs.size() || node.inputs[k] == ir::absent) return true;
  const StepPort operand = port(node.inputs[k]);
  if (!is_constant_f32(operand) || operand.count() != 1) return false;
  value = operand.constant->as<float>()[0];
  return true;
}

}  // namespace

Activation activation_of(const ir::Node& node, const PortLookup& port, float& alpha, float& beta) {
  if (!node.domain.empty()) return Activation::none;
  const auto real = [&](const char* name, double otherwise) {
    return static_cast<float>(attribute(node, name, otherwise));
  };
  if (node.op == "Relu") return Activation::relu;
  if (node.op == "Sigmoid") return Activation::sigmoid;
  if (node.op == "Tanh") return Activation::tanh;
  if (node.op == "HardSwish") return Activation::hard_swish;
  if (node.op == "LeakyRelu") {
    alpha = real("alpha", 0.01);
    return Activation::leaky_relu;
  }
  if (node.op == "HardSigmoid") {
    alpha = real("alpha", 0.2);
    beta = real("beta", 0.5);
    return Activation::hard_sigmoid;
  }
  if (node.op == "Gelu") {
    const auto form = node.attributes.find("approximate");
    const bool tanh = form != node.attributes.end() && form->second.string == "tanh";
    return tanh ? Activation::gelu_tanh : Activation::gelu_erf;
  }
  if (node.op == "Clip") {
    constexpr float limit = std::numeric_limits<float>::infinity();
    if (node.version < 11) {
      alpha = real("min", -limit);
      beta = real("max", limit);
      return Activation::clip;
    }
    if (scalar_input(node, 1, port, -limit, alpha) && scalar_input(node, 2, port, limit, beta)) {
      return Activation::clip;
    }
  }
  return Activation::none;
}

size_t extension_length(const std::vector<const ir::Node*>& group, size_t position) {
  const ir::Node& node = *group[position];
  const bool gate = node.op == "Sigmoid" || node.op == "HardSigmoid";
  if (gate && position + 1 < group.size() && group[position + 1]->op == "Mul" &&
      group[position + 1]->inputs.size() == 2) {
    const auto& inputs = group[position + 1]->inputs;
    const ir::ValueId x = node.inputs[0];
    const ir::ValueId y = node.outputs[0];
    if ((inputs[0] == x && inputs[1] == y) || (inputs[0] == y && inputs[1] == x)) return 2;
  }
  return 1;
}

bool extend_epilogue(EpiloguePlan& plan, const std::vector<const ir::Node*>& nodes, ir::ValueId value,
                     const PortLookup& port) {
  if (plan.activation != Activation::none) return false;
  const ir::Node& node = *nodes[0];
  if (nodes.size() == 2) {
    if (node.op == "Sigmoid") {
      plan.activation = Activation::silu;
      return true;
    }
    float alpha = 0, beta = 0;
    activation_of(node, port, alpha, beta);
    // x * min(max(x / 6 + 1/2, 0), 1): ONNX's HardSwish.
    if (std::fabs(alpha - 1.0f / 6.0f) > 1e-6f || beta != 0.5f) return false;
    plan.activation = Activation::hard_swish;
    return true;
  }
  if (node.inputs.empty() || !node.domain.empty()) return false;
  if (node.op == "BatchNormalization") {
    return node.inputs[0] == value && plan.residual == ir::absent &&
           extend_by_normalization(plan, node, port);
  }
  if (node.op == "Add" || node.op == "Mul" || node.op == "Sub" || node.op == "Div") {
    return extend_by_arithmetic(plan, node, value, port);
  }
  if (node.inputs[0] != value) return false;
  float alpha = 0, beta = 0;
  const Activation activation = activation_of(node, port, alpha, beta);
  if (activation == Activation::none) return false;
  plan.activation = activation;
  plan.alpha = alpha;
  plan.beta = beta;
  return true;
}

ir::Shape own_result_shape(const StepContext& context) {
  const ir::Program& program = *context.programs[0];
  return *ir::constant_dims(program.tensors[static_cast<size_t>(program.outputs[0])].dims);
}

bool follow_view(EpiloguePlan& plan, const ir::Program& program) {
  if (ir::viewed_operand(program) < 0) return false;
  const auto shape = ir::constant_dims(program.tensors[static_cast<size_t>(program.outputs[0])].dims);
  int64_t before = 1;
  for (int d = 0; d < plan.channel_axis; ++d) before *= plan.shape[static_cast<size_t>(d)];
  int64_t seen = 1;
  for (size_t d = 0; d < shape->size(); ++d) {
    if (seen == before && (*shape)[d] == plan.channels()) {
      plan.shape = *shape;
      plan.channel_axis = static_cast<int>(d);
      plan.is_viewed = true;
      return true;
    }
    seen *= (*shape)[d];
  }
  return false;
}

bool name_activation(EpiloguePlan& plan, std::string_view name, const std::vector<double>& parameters) {
  const auto parameter = [&](size_t k, double otherwise) {
    return static_cast<float>(k < parameters.size() ? parameters[k] : otherwise);
  };
  if (name == "Relu") {
    plan.activation = Activation::relu;
  } else if (name == "Sigmoid") {
    plan.activation = Activation::sigmoid;
  } else if (name == "Tanh") {
    plan.activation = Activation::tanh;
  } else if (name == "HardSwish") {
    plan.activation = Activation::hard_swish;
  } else if (name == "LeakyRelu") {
    plan.activation = Activation::leaky_relu;
    plan.alpha = parameter(0, 0.01F);
  } else if (name == "HardSigmoid") {
    plan.activation = Activation::hard_sigmoid;
    plan.alpha = parameter(0, 0.2F);
    plan.beta = parameter(1, 0.5);
  } else if (name == "Clip") {
    plan.activation = Activation::clip;
    plan.alpha = parameter(0, std::numeric_limits<float>::lowest());
    plan.beta = parameter(1, std::numeric_limits<float>::max());
  } else {
    return name.empty();
  }
  return true;
}

bool read_epilogue(EpiloguePlan& plan, const StepContext& context) {
  const PortLookup port = [&](ir::ValueId id) {
    const auto found = std::find(context.input_ids.begin(), context.input_ids.end(), id);
    return found == context.input_ids.end() || id == ir::absent
               ? StepPort()
               : context.inputs[static_cast<size_t>(found - context.input_ids.begin())];
  };
  ir::ValueId value = context.node.outputs[0];
  for (size_t position = 1; position < context.group.size();) {
    if (follow_view(plan, *context.programs[position])) {
      value = context.group[position]->outputs[0];
      ++position;
      continue;
    }
    const size_t length = extension_length(context.group, position);
    const std::vector<const ir::Node*> nodes(
        context.group.begin() + static_cast<std::ptrdiff_t>(position),
        context.group.begin() + static_cast<std::ptrdiff_t>(position + length));
    if (!extend_epilogue(plan, nodes, value, port)) return false;
    value = nodes.back()->outputs[0];
    position += length;
  }
  return true;
}

}  // namespace axrun::runtime
