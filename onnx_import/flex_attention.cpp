#include "onnx_import/flex_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/error_place.h"
#include "ir/operator.h"
#include "onnx_import/element_codes.h"
#include "onnx_import/gradient/writer.h"
#include "onnx_import/names.h"
#include "onnx_import/topological_order.h"

namespace axrun::onnx_import {
namespace {

using gradient::integer;
using gradient::Var;
using gradient::Writer;
using ir::ElementType;
using ir::ValueId;

bool is_modified(const ir::Node& node) {
  return node.op == "FlexAttention" && node.domain == "ai.onnx.preview" &&
         (node.attributes.contains("score_mod") || node.attributes.contains("prob_mod"));
}

class Expansion {
 public:
  Expansion(GraphDraft& draft, int64_t most_nodes, const ir::Node& node)
      : w_(draft, most_nodes), node_(node), context_(node_, w_.operands_of(node_)) {}

  void run() {
    context_.check(node_.inputs.size() == 3 && context_.has(0) && context_.has(1) && context_.has(2) &&
                       node_.outputs.size() == 1 && context_.wants(0),
                   "Q, K, V and one output are needed");
    for (size_t input = 0; input < 3; ++input) {
      const auto& dims = w_.fact(node_.inputs[input]).dims;
      context_.check(!dims || dims->size() == 4, "Q, K and V have four dimensions");
    }
    const Var q = w_.var(node_.inputs[0]), k = w_.var(node_.inputs[1]), v = w_.var(node_.inputs[2]);
    const ElementType type = context_.type(0);
    if (!ir::is_float(type)) context_.unsupported("the type of Q is not known before a run, or no float");
    const ElementType wide = type == ElementType::f64 ? type : ElementType::f32;
    const ElementType precision = precision_of(wide);
    const ElementType computed = precision == ElementType::f64 ? precision : wide;
    const Var key_heads = w_.length(k, 1), keys = w_.length(k, 2), queries = w_.length(q, 2);
    const Var batch = w_.length(q, 0), all = w_.constant({-1}), two = w_.constant({2});
    const auto joined = [&](const std::vector<Var>& sizes) {
      return w_.node("Concat", sizes, {{"axis", integer(0)}});
    };
    // B x key heads x group x ...; keys and values are those of every member of the group.
    const auto grouped = [&](Var x, Var rows, Var columns) {
      return w_.reshape(x, joined({batch, key_heads, all, rows, columns}));
    };
    const Var size = w_.length(q, 3);
    const Var turned =
        w_.node("Transpose", {cast(k, computed)}, {{"perm", gradient::integers({0, 1, 3, 2})}});
    Var scores =
        w_.node("MatMul", {grouped(cast(q, computed), queries, size), w_.node("Unsqueeze", {turned, two})});
    scores = scores * scale(size, scores, computed);
    scores = w_.reshape(scores, joined({batch, w_.length(q, 1), queries, keys}));
    Var weights = modified("score_mod", cast(scores, precision), precision);
    weights = w_.node("Softmax", {weights}, {{"axis", integer(-1)}});
    weights = cast(modified("prob_mod", weights, precision), computed);
    const Var values = w_.node("Unsqueeze", {cast(v, computed), two});
    const Var sums = w_.node("MatMul", {grouped(weights, queries, keys), values});
    const Var y = w_.reshape(sums, joined({batch, w_.length(q, 1), queries, w_.length(v, 3)}));
    ir::Node last;
    last.name = node_.name;
    last.op = "Cast";
    last.version = Writer::version;
    last.attributes = {{"to", integer(element_code_of(type))}};
    last.inputs = {y.id};
    last.outputs = node_.outputs;
    w_.graph().nodes.push_back(std::move(last));
  }

 private:
  ElementType precision_of(ElementType otherwise) const {
    if (!context_.has_attribute("softmax_precision")) return otherwise;
    const int64_t code = context_.integer("softmax_precision", 0);
    for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64}) {
      if (element_code_of(type) == code) return type;
    }
    context_.fail("attribute 'softmax_precision' is not a float type");
  }

  Var cast(Var x, ElementType type) {
    if (w_.fact(x.id).type == type) return x;
    return w_.node("Cast", {x}, {{"to", integer(element_code_of(type))}});
  }

  Var scale(Var size, Var scores, ElementType type) {
    if (context_.has_attribute("scale")) return w_.number(context_.real("scale", 1), scores);
    const ir::Tensor& known = w_.fact(size.id).constant;
    if (known.defined()) return w_.constant(ir::Tensor::scalar(type, 1 / std::sqrt(known.get_real(0))));
    return 1.0 / w_.node("Sqrt", {cast(size, type)});
  }

  /// What the graph of that attribute makes of x.
  Var modified(const char* name, Var x, ElementType precision) {
    const auto found = node_.attributes.find(name);
    if (found == node_.attributes.end()) return x;
    context_.check(found->second.graph != nullptr, fmt::format("attribute '{}' is not a graph", name));
    const ir::Graph& body = *found->second.graph;
    context_.check(body.inputs.size() == 1 && body.outputs.size() == 1,
                   fmt::format("the graph '{}' has not one input and one output", name));
    std::vector<ValueId> now(body.values.size(), ir::absent);
    now[static_cast<size_t>(body.inputs[0])] = x.id;
    for (const auto& [outer, inner] : body.captures) now[static_cast<size_t>(inner)] = outer;
    const auto id_of = [&](ValueId id) {
      if (id == ir::absent) return id;
      ValueId& known = now[static_cast<size_t>(id)];
      if (known == ir::absent && body.value(id).constant.defined())
        known = w_.constant(body.value(id).constant).id;
      return known;
    };
    for (ir::Node node : body.nodes) {
      std::vector<ValueId> inputs;
      for (const ValueId id : node.inputs) inputs.push_back(id_of(id));
      for (auto& [key, attribute] : node.attributes) {
        if (attribute.graph) attribute.graph = moved(*attribute.graph, id_of);
        for (auto& graph : attribute.graphs) graph = moved(*graph, id_of);
      }
      const std::vector<Var> outputs = w_.copy(node, inputs, node.outputs.size());
      for (size_t k = 0; k < outputs.size(); ++k) {
        if (node.outputs[k] != ir::absent) now[static_cast<size_t>(node.outputs[k])] = outputs[k].id;
      }
    }
    return cast(w_.var(id_of(body.outputs[0])), precision);
  }

  /// A body within the modifier, which captures what is now in the graph around both.
  template <typename Find>
  static std::shared_ptr<ir::Graph> moved(const ir::Graph& graph, const Find& id_of) {
    auto copy = std::make_shared<ir::Graph>(graph);
    for (auto& [outer, inner] : copy->captures) outer = id_of(outer);
    return copy;
  }

  Writer w_;
  const ir::Node node_;
  const ir::OperatorContext context_;
};

}  // namespace

void expand_flex_attention(GraphDraft& draft, int64_t most_nodes) {
  ir::Graph& graph = *draft.graph;
  while (true) {
    const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(), is_modified);
    if (found == graph.nodes.end()) return;
    const ir::Node node = *found;
    graph.nodes.erase(found);
    try {
      Expansion(draft, most_nodes, node).run();
    } catch (const std::out_of_range&) {
      throw PlacedError(Fault::model, fmt::format("{} '{}': an operand is missing", node.op, node.name),
                        ErrorPlace::of_node(node.name, node.op));
    }
    sort_nodes(graph);
  }
}

}  // namespace axrun::onnx_import
