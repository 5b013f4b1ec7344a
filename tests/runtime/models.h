#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "onnx_import/export.h"
#include "runtime/session.h"

namespace axrun::tests {

/// Writes small models node by node.
class ModelMaker {
 public:
  explicit ModelMaker(int opset = 17) {
    model_.graph = std::make_shared<ir::Graph>();
    model_.graph->name = "test";
    model_.ir_version = 8;
    model_.opsets = {{"", opset}};
    opset_ = opset;
  }

  ir::ValueId input(const std::string& name, ir::ElementType type, const ir::Dims& dims) {
    ir::Value value;
    value.name = name;
    value.type = type;
    value.dims = dims;
    const ir::ValueId id = model_.graph->add_value(value);
    model_.graph->inputs.push_back(id);
    return id;
  }

  ir::ValueId constant(const ir::Tensor& tensor) {
    ir::Value value;
    value.name = "constant_" + std::to_string(model_.graph->values.size());
    value.constant = tensor;
    return model_.graph->add_value(value);
  }
  ir::ValueId integers(const std::vector<int64_t>& values) { return constant(ir::Tensor::from_i64(values)); }
  /// Repeatable values in [-1, 1).
  ir::ValueId weights(const ir::Shape& shape, uint64_t seed) { return constant(random(shape, seed)); }

  ir::ValueId node(const std::string& op, const std::vector<ir::ValueId>& inputs,
                   std::map<std::string, ir::Attribute> attributes = {}) {
    ir::Value value;
    value.name = op + "_" + std::to_string(model_.graph->values.size());
    const ir::ValueId id = model_.graph->add_value(value);
    ir::Node node;
    node.name = value.name;
    node.op = op;
    node.version = opset_;
    node.inputs = inputs;
    node.outputs = {id};
    node.attributes = std::move(attributes);
    model_.graph->nodes.push_back(node);
    return id;
  }

  void output(ir::ValueId id, ir::ElementType type = ir::ElementType::f32) {
    model_.graph->value(id).type = type;
    model_.graph->outputs.push_back(id);
  }

  ir::Graph& graph() { return *model_.graph; }

  void write(const std::string& path) const { onnx_import::export_file(model_, path); }

  std::string bytes() const { return onnx_import::export_memory(model_); }

  std::unique_ptr<runtime::Session> session(const runtime::SessionOptions& options = {}) const {
    const std::string model = bytes();
    return runtime::Session::load_memory(model.data(), model.size(), options);
  }

  static ir::Tensor random(const ir::Shape& shape, uint64_t seed) {
    ir::Tensor tensor = ir::Tensor::allocate(ir::ElementType::f32, shape);
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      tensor.as<float>()[i] = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1.0);
    }
    return tensor;
  }

  static ir::Attribute attribute(int64_t value) {
    ir::Attribute a;
    a.integer = value;
    return a;
  }
  static ir::Attribute attribute(std::vector<int64_t> values) {
    ir::Attribute a;
    a.kind = ir::Attribute::Kind::integers;
    a.integers = std::move(values);
    return a;
  }
  static ir::Attribute attribute(std::shared_ptr<ir::Graph> graph) {
    ir::Attribute a;
    a.kind = ir::Attribute::Kind::graph;
    a.graph = std::move(graph);
    return a;
  }

 private:
  ir::Model model_;
  int opset_;
};

/// A small residual network with a matrix product, normalization and fusible chains: input x [batch, 3, 12,
/// 12].
inline ModelMaker residual_network(const ir::Dim& batch) {
  ModelMaker m;
  const auto f32 = ir::ElementType::f32;
  const auto pads = ModelMaker::attribute(std::vector<int64_t>{1, 1, 1, 1});
  const ir::ValueId x = m.input("x", f32, {batch, 3, 12, 12});
  ir::ValueId a = m.node("Conv", {x, m.weights({8, 3, 3, 3}, 1), m.weights({8}, 2)}, {{"pads", pads}});
  a = m.node("Relu", {a});
  ir::ValueId b = m.node("Conv", {a, m.weights({8, 8, 3, 3}, 3)}, {{"pads", pads}});
  b = m.node("Add", {b, a});
  b = m.node("Mul", {b, m.node("Sigmoid", {b})});
  b = m.node("GlobalAveragePool", {b});
  b = m.node("Reshape", {b, m.integers({-1, 8})});
  b = m.node("MatMul", {b, m.weights({8, 16}, 4)});
  b = m.node("Add", {b, m.weights({16}, 5)});
  b = m.node("Softmax", {b}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
  m.output(b);
  return m;
}

/// A body: its values are named apart from those of the graphs around it.
inline ir::Attribute body_of(ModelMaker& maker, const std::string& prefix) {
  auto graph = std::make_shared<ir::Graph>(maker.graph());
  graph->name = prefix;
  for (ir::Value& value : graph->values) value.name = prefix + value.name;
  for (ir::Node& node : graph->nodes) node.name = prefix + node.name;
  return ModelMaker::attribute(std::move(graph));
}

}  // namespace axrun::tests
