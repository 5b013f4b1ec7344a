// Writes the corpus of the fuzz targets: small models that reach different parts of importer and session.
//   make_corpus FOLDER
#include <cstdio>

#include "tests/runtime/models.h"

namespace {

using axrun::ir::Dim;
using axrun::ir::ElementType;
using axrun::ir::Tensor;
using axrun::ir::ValueId;
using axrun::tests::ModelMaker;

ModelMaker shapes_and_gathers() {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {Dim::symbol("n"), 4});
  const ValueId index = m.input("index", ElementType::i64, {2});
  const ValueId rows = m.node("Gather", {m.node("Shape", {x}), m.integers({0})});
  const ValueId target =
      m.node("Concat", {rows, m.integers({2, 2})}, {{"axis", ModelMaker::attribute(int64_t{0})}});
  ValueId y = m.node("Reshape", {x, target});
  y = m.node("Transpose", {y}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{0, 2, 1})}});
  y = m.node("Slice", {y, m.integers({0}), m.integers({1}), m.integers({2})});
  y = m.node("Pad", {y, m.integers({0, 1, 0, 0, 0, 1})});
  m.output(y);
  m.output(m.node("Gather", {x, index}));
  m.output(m.node("NonZero", {x}), ElementType::i64);
  return m;
}

ModelMaker recurrent() {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {3, 1, 2});
  const ValueId w = m.weights({1, 8, 2}, 1), r = m.weights({1, 8, 2}, 2);
  m.output(m.node("LSTM", {x, w, r}, {{"hidden_size", ModelMaker::attribute(int64_t{2})}}));
  m.output(m.node("CumSum", {x, m.constant(Tensor::scalar(ElementType::i64, 0))}));
  return m;
}

ModelMaker quantized() {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {2, 4});
  const ValueId scale = m.constant(Tensor::scalar(ElementType::f32, 0.05));
  const ValueId zero = m.constant(Tensor::scalar(ElementType::u8, 128));
  const ValueId q = m.node("QuantizeLinear", {x, scale, zero});
  const ValueId weights = m.constant(ModelMaker::random({4, 3}, 3).converted(ElementType::i8));
  m.output(m.node("MatMulInteger", {q, weights, zero}), ElementType::i32);
  m.output(m.node("DequantizeLinear", {q, scale, zero}));
  m.output(m.node("TopK", {x, m.integers({2})}));
  return m;
}

ModelMaker branch() {
  const auto body = [](const std::string& op) {
    auto graph = std::make_shared<axrun::ir::Graph>();
    graph->name = op;
    axrun::ir::Value inner, result;
    inner.name = "x_" + op;
    result.name = "y_" + op;
    result.type = ElementType::f32;
    graph->add_value(inner);
    graph->add_value(result);
    axrun::ir::Node node;
    node.name = node.op = op;
    node.version = 17;
    node.inputs = {0};
    node.outputs = {1};
    graph->nodes.push_back(node);
    graph->outputs = {1};
    return graph;
  };
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {3});
  const ValueId flag = m.input("flag", ElementType::boolean, {});
  const auto yes = body("Exp"), no = body("Softmax");
  yes->captures = {{x, 0}};
  no->captures = {{x, 0}};
  const ValueId y =
      m.node("If", {flag},
             {{"then_branch", ModelMaker::attribute(yes)}, {"else_branch", ModelMaker::attribute(no)}});
  m.output(m.node("Relu", {y}));
  m.output(m.node("ConcatFromSequence", {m.node("SequenceConstruct", {x, x})},
                  {{"axis", ModelMaker::attribute(int64_t{0})}}));
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 1;
  }
  const std::string folder = std::string(argv[1]) + "/";
  axrun::tests::residual_network(Dim::symbol("batch")).write(folder + "residual.onnx");
  shapes_and_gathers().write(folder + "shapes.onnx");
  recurrent().write(folder + "recurrent.onnx");
  quantized().write(folder + "quantized.onnx");
  branch().write(folder + "branch.onnx");
  return 0;
}
