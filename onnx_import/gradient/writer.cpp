#include "onnx_import/gradient/writer.h"

#include <fmt/format.h>

#include <utility>

#include "ir/error.h"

namespace axrun::onnx_import::gradient {

using ir::ValueId;

ir::Attribute integer(int64_t value) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integer;
  attribute.integer = value;
  return attribute;
}

ir::Attribute integers(std::vector<int64_t> values) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integers;
  attribute.integers = std::move(values);
  return attribute;
}

ir::Attribute text(std::string value) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::string;
  attribute.string = std::move(value);
  return attribute;
}

Var operator+(Var a, Var b) { return a.writer->node("Add", {a, b}); }
Var operator-(Var a, Var b) { return a.writer->node("Sub", {a, b}); }
Var operator*(Var a, Var b) { return a.writer->node("Mul", {a, b}); }
Var operator/(Var a, Var b) { return a.writer->node("Div", {a, b}); }
Var operator-(Var a) { return a.writer->node("Neg", {a}); }
Var operator+(Var a, double b) { return a + a.writer->number(b, a); }
Var operator-(double a, Var b) { return b.writer->number(a, b) - b; }
Var operator*(Var a, double b) { return a * a.writer->number(b, a); }
Var operator/(double a, Var b) { return b.writer->number(a, b) / b; }
Var operator<(Var a, double b) { return a.writer->node("Less", {a, a.writer->number(b, a)}); }
Var operator>(Var a, double b) { return a.writer->node("Greater", {a, a.writer->number(b, a)}); }

Writer::Writer(GraphDraft& draft, int64_t most_nodes)
    : draft_(draft), most_nodes_(static_cast<size_t>(most_nodes)) {
  ir::Inference inference(graph(), {});
  for (const ir::Node& node : graph().nodes) {
    // A node that cannot be right is refused later, with what is known of its inputs then.
    try {
      if (const auto program = inference.define(node)) inference.conclude(node, *program);
    } catch (const Error&) {
      continue;
    }
  }
  for (size_t id = 0; id < graph().values.size(); ++id) {
    facts_.push_back(inference.fact(static_cast<ValueId>(id)));
  }
}

std::vector<ir::OperandInfo> Writer::operands_of(const ir::Node& node) const {
  std::vector<ir::OperandInfo> operands(node.inputs.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (node.inputs[k] == ir::absent) continue;
    const ir::ValueFact& known = fact(node.inputs[k]);
    operands[k].present = true;
    operands[k].type = known.type;
    operands[k].dims = known.dims;
    operands[k].constant = known.constant.defined() ? &known.constant : nullptr;
    operands[k].elements = known.elements ? &*known.elements : nullptr;
  }
  return operands;
}

ValueId Writer::add_value(const std::string& op) {
  ir::Value value;
  value.name = "gradient/" + op;
  const ValueId id = graph().add_value(std::move(value));
  draft_.made_up.push_back(id);
  facts_.emplace_back();
  return id;
}

void Writer::conclude(const ir::Node& node) {
  if (ir::is_graph_operator(node.domain, node.op)) return;
  try {
    const auto found = ir::output_facts(ir::define_node(node, operands_of(node)));
    for (size_t k = 0; k < node.outputs.size() && k < found.size(); ++k) {
      facts_[static_cast<size_t>(node.outputs[k])] = found[k];
    }
  } catch (const ir::NotYetKnown&) {
    return;
  } catch (const Error&) {
    return;  // refused later, see the constructor
  }
}

std::vector<Var> Writer::copy(const ir::Node& original, const std::vector<ValueId>& inputs, size_t outputs) {
  if (graph().nodes.size() >= most_nodes_) {
    throw Error(Fault::unsupported, fmt::format("the model has more than {} nodes", most_nodes_));
  }
  ir::Node node = original;
  node.name = draft_.node_names.take("gradient/" + node.op);
  node.inputs = inputs;
  node.outputs.clear();
  std::vector<Var> results;
  for (size_t k = 0; k < outputs; ++k) {
    node.outputs.push_back(add_value(node.op));
    results.push_back(var(node.outputs.back()));
  }
  conclude(node);
  graph().nodes.push_back(std::move(node));
  return results;
}

std::vector<Var> Writer::nodes(const std::string& op, const std::vector<Var>& inputs, Attributes attributes,
                               size_t outputs) {
  ir::Node node;
  node.op = op;
  node.version = version;
  node.attributes = std::move(attributes);
  std::vector<ValueId> ids;
  for (const Var& input : inputs) ids.push_back(input.id);
  return copy(node, ids, outputs);
}

Var Writer::node(const std::string& op, const std::vector<Var>& inputs, Attributes attributes) {
  return nodes(op, inputs, std::move(attributes), 1).front();
}

Var Writer::constant(ir::Tensor tensor) {
  const ValueId id = add_value("constant");
  ir::Value& value = graph().value(id);
  ir::ValueFact& known = facts_.back();
  known.type = value.type = tensor.type();
  known.dims = value.dims = ir::to_dims(tensor.shape());
  known.constant = value.constant = std::move(tensor);
  return var(id);
}

Var Writer::number(double value, Var like) {
  const ir::ElementType type = fact(like.id).type;
  if (type != ir::ElementType::undefined) return constant(ir::Tensor::scalar(type, value));
  return cast_like(constant(ir::Tensor::scalar(ir::ElementType::f64, value)), like);
}

Var Writer::shape(Var x) {
  const auto& dims = fact(x.id).dims;
  if (dims) {
    if (const auto sizes = ir::constant_dims(*dims)) return constant(std::vector<int64_t>(*sizes));
  }
  return node("Shape", {x});
}

Var Writer::length(Var x, int64_t axis) {
  const auto& dims = fact(x.id).dims;
  if (dims) {
    const int64_t place = axis < 0 ? axis + static_cast<int64_t>(dims->size()) : axis;
    const ir::Dim& dim = dims->at(static_cast<size_t>(place));
    if (dim.is_constant()) return constant({dim.value()});
  }
  return node("Gather", {node("Shape", {x}), constant({axis})});
}

Var Writer::filled(double value, Var like) { return node("Expand", {number(value, like), shape(like)}); }

Var Writer::reshape(Var x, Var shape) { return node("Reshape", {x, shape}, {{"allowzero", integer(1)}}); }

void Writer::same_form(Var value, Var like) {
  ir::ValueFact& known = facts_[static_cast<size_t>(value.id)];
  const ir::ValueFact& other = fact(like.id);
  if (known.type == ir::ElementType::undefined) known.type = other.type;
  if (!known.dims || !ir::constant_dims(*known.dims)) known.dims = other.dims;
}

Var Writer::reduced_to(Var g, Var x) {
  const auto& from = fact(g.id).dims;
  const auto& to = fact(x.id).dims;
  if (from && to && from->size() >= to->size()) {
    const size_t before = from->size() - to->size();
    std::vector<int64_t> axes;
    bool decided = true;
    for (size_t k = 0; k < from->size(); ++k) {
      if (k >= before && (*from)[k] == (*to)[k - before]) continue;
      decided = decided && (k < before || (*to)[k - before] == ir::Dim(1));
      axes.push_back(static_cast<int64_t>(k));
    }
    if (decided && axes.empty()) return g;
    if (decided) {
      const Var sum = node("ReduceSum", {g, constant(axes)}, {{"keepdims", integer(1)}});
      return before == 0 ? sum : reshape(sum, shape(x));
    }
  }
  // Only a run can tell which axes were repeated.
  return added_at(g, node("Expand", {positions(x), node("Shape", {g})}), x);
}

Var Writer::positions(Var x) {
  const auto scalar = [&](double value) { return constant(ir::Tensor::scalar(ir::ElementType::i64, value)); };
  return reshape(node("Range", {scalar(0), node("Size", {x}), scalar(1)}), shape(x));
}

Var Writer::added_at(Var g, Var positions, Var x) {
  const Var all = constant({-1});
  const Var size = reshape(node("Size", {x}), constant({1}));
  const Var zeros = node("Expand", {number(0, x), size + constant({1})});
  const Var sum =
      node("ScatterElements", {zeros, node("Reshape", {positions, all}), node("Reshape", {g, all})},
           {{"reduction", text("add")}});
  return reshape(node("Slice", {sum, constant({0}), size}), shape(x));
}

}  // namespace axrun::onnx_import::gradient
