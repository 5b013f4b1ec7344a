// Writes the models that sessions are measured on, node by node, in memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "onnx_import/export.h"
#include "runtime/session.h"

namespace axrun::perf {

class ModelWriter {
 public:
  explicit ModelWriter(int opset) : opset_(opset) {
    model_.graph = std::make_shared<ir::Graph>();
    model_.graph->name = "workload";
    model_.ir_version = 8;
    model_.opsets = {{"", opset}};
  }

  ir::ValueId input(const std::string& name, const ir::Shape& shape,
                    ir::ElementType type = ir::ElementType::f32) {
    ir::Value value;
    value.name = name;
    value.type = type;
    value.dims = ir::to_dims(shape);
    model_.graph->inputs.push_back(model_.graph->add_value(value));
    return model_.graph->inputs.back();
  }

  ir::ValueId constant(const ir::Tensor& tensor) {
    ir::Value value;
    value.name = "constant_" + std::to_string(model_.graph->values.size());
    value.constant = tensor;
    return model_.graph->add_value(value);
  }
  /// A float32 scalar.
  ir::ValueId number(double value) { return constant(ir::Tensor::scalar(ir::ElementType::f32, value)); }

  ir::ValueId node(const std::string& op, const std::vector<ir::ValueId>& inputs,
                   std::map<std::string, ir::Attribute> attributes = {}) {
    ir::Value value;
    value.name = op + "_" + std::to_string(model_.graph->values.size());
    ir::Node node;
    node.name = value.name;
    node.op = op;
    node.version = opset_;
    node.inputs = inputs;
    node.outputs = {model_.graph->add_value(value)};
    node.attributes = std::move(attributes);
    model_.graph->nodes.push_back(node);
    return node.outputs[0];
  }

  void output(ir::ValueId id, ir::ElementType type = ir::ElementType::f32) {
    model_.graph->value(id).type = type;
    model_.graph->outputs.push_back(id);
  }

  std::unique_ptr<runtime::Session> session(int threads) const {
    const std::string bytes = onnx_import::export_memory(model_);
    runtime::SessionOptions options;
    options.threads = threads;
    options.optimize = false;  // what is timed must stay the same
    return runtime::Session::load_memory(bytes.data(), bytes.size(), options);
  }

  static ir::Attribute integer(int64_t value) {
    ir::Attribute attribute;
    attribute.integer = value;
    return attribute;
  }
  static ir::Attribute integers(std::vector<int64_t> values) {
    ir::Attribute attribute;
    attribute.kind = ir::Attribute::Kind::integers;
    attribute.integers = std::move(values);
    return attribute;
  }

 private:
  ir::Model model_;
  int opset_;
};

}  // namespace axrun::perf
