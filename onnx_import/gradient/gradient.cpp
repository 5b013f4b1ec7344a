#include "onnx_import/gradient/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/error_place.h"
#include "ir/lasting.h"
#include "onnx_import/gradient/rules.h"
#include "onnx_import/gradient/writer.h"
#include "onnx_import/names.h"
#include "onnx_import/topological_order.h"

namespace axrun::onnx_import {

using ir::ValueId;

bool is_gradient(const ir::Node& node) {
  return node.op == "Gradient" && node.domain == "ai.onnx.preview.training";
}

namespace gradient {

Step::Step(Writer& writer, const ir::Node& of)
    : w(writer), node(of), context(of, writer.operands_of(of)), wanted(of.inputs.size()) {
  for (const ValueId id : of.inputs) in.push_back(w.var(id));
  for (const ValueId id : of.outputs) out.push_back(w.var(id));
  grad.resize(out.size(), w.none());
  result.resize(in.size(), w.none());
}

namespace {

const Rules& rules() {
  static const Rules& table = lasting([] {
    Rules rules;
    elementwise_rules(rules);
    product_rules(rules);
    convolution_rules(rules);
    movement_rules(rules);
    reduction_rules(rules);
    return rules;
  }());
  return table;
}

const PartsTable& parts() {
  static const PartsTable& table = lasting([] {
    PartsTable parts;
    activation_parts(parts);
    layer_parts(parts);
    return parts;
  }());
  return table;
}

/// Results that no small change of the inputs changes, whatever their type is.
bool is_discrete(const ir::Node& node) {
  static constexpr std::string_view names[] = {"Shape",
                                               "Size",
                                               "Equal",
                                               "Greater",
                                               "GreaterOrEqual",
                                               "Less",
                                               "LessOrEqual",
                                               "Not",
                                               "And",
                                               "Or",
                                               "Xor",
                                               "ArgMax",
                                               "ArgMin",
                                               "NonZero",
                                               "ConstantOfShape",
                                               "EyeLike",
                                               "IsNaN",
                                               "IsInf",
                                               "Bernoulli",
                                               "RandomNormalLike",
                                               "RandomUniformLike"};
  return node.domain.empty() && std::find(std::begin(names), std::end(names), node.op) != std::end(names);
}

using Producers = std::unordered_map<ValueId, size_t>;  ///< positions of nodes

Producers producers_of(const ir::Graph& graph) {
  Producers producers;
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    for (const ValueId id : graph.nodes[k].outputs) {
      if (id != ir::absent) producers.emplace(id, k);
    }
  }
  return producers;
}

/// What one node Gradient asks for, by values.
struct Request {
  std::vector<ValueId> xs, zs;
  ValueId y = ir::absent;

  bool stops_at(ValueId id) const {
    return std::find(xs.begin(), xs.end(), id) != xs.end() || std::find(zs.begin(), zs.end(), id) != zs.end();
  }
};

/// Differentiates one y.
class Differentiation {
 public:
  Differentiation(GraphDraft& draft, int64_t most_nodes, const ir::Node& node, Request request)
      : graph_(*draft.graph), writer_(draft, most_nodes), node_(node), request_(std::move(request)) {}

  void run() {
    find_cone();
    feed();
    for (const size_t position : cone_) walk(ir::Node(graph_.nodes[position]));
    if (refused_.empty()) derive();
    if (!refused_.empty()) {
      std::string text;
      for (const std::string& operation : refused_) text += (text.empty() ? "" : ", ") + operation;
      refuse("no derivative is known of " + text);
    }
    for (size_t k = 0; k < request_.xs.size() && k < node_.outputs.size(); ++k) give(k);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw PlacedError(Fault::unsupported, fmt::format("Gradient {}: {}", in_quotes(node_.name), why),
                      ErrorPlace::of_node(node_.name, node_.op));
  }

  /// Nodes between y and where it stops, in order.
  void find_cone() {
    const Producers producers = producers_of(graph_);
    std::set<ValueId> captured;
    for (const auto& [outer, inner] : graph_.captures) captured.insert(inner);
    const bool x_is_captured = std::any_of(request_.xs.begin(), request_.xs.end(),
                                           [&](ValueId id) { return captured.count(id) > 0; });
    std::set<size_t> met;
    std::vector<ValueId> open = {request_.y};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (request_.stops_at(id)) continue;
      const auto producer = producers.find(id);
      if (producer == producers.end()) {
        if (x_is_captured && captured.count(id) > 0) {
          refuse(fmt::format("{} is computed outside of the graph that the node is in",
                             in_quotes(graph_.value(id).name)));
        }
        continue;
      }
      if (!met.insert(producer->second).second) continue;
      for (const ValueId read : ir::reads_of(graph_.nodes[producer->second])) open.push_back(read);
    }
    cone_.assign(met.begin(), met.end());
  }

  /// xs and zs are replaced by the node's inputs; where these are the same, nothing has to be computed again.
  void feed() {
    std::vector<ValueId> independent = request_.xs;
    independent.insert(independent.end(), request_.zs.begin(), request_.zs.end());
    for (size_t k = 0; k < independent.size(); ++k) {
      const ValueId fed = node_.inputs[k];
      if (fed != independent[k]) {
        fed_.emplace(independent[k], fed);
        writer_.same_form(writer_.var(fed), writer_.var(independent[k]));
      }
      if (k < request_.xs.size()) active_.insert(fed);
    }
  }

  ValueId now(ValueId id) const {
    const auto found = fed_.find(id);
    return found == fed_.end() ? id : found->second;
  }

  /// Puts a node of the cone on the tape: itself, a copy that reads what is fed, or its parts.
  void walk(ir::Node node) {
    const auto reads = ir::reads_of(node);
    const bool changed =
        std::any_of(reads.begin(), reads.end(), [&](ValueId id) { return fed_.count(id) > 0; });
    if (changed) {
      if (!ir::bodies_of(node).empty()) {
        refuse(fmt::format("{} {} would have to be computed again", node.op, in_quotes(node.name)));
      }
      std::vector<ValueId> inputs;
      for (const ValueId id : node.inputs) inputs.push_back(id == ir::absent ? id : now(id));
      const std::vector<Var> copies = writer_.copy(node, inputs, node.outputs.size());
      node.inputs = inputs;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k] != ir::absent) fed_[node.outputs[k]] = copies[k].id;
        node.outputs[k] = copies[k].id;
      }
    }
    record(std::move(node));
  }

  bool is_active(ValueId id) const { return active_.count(id) > 0; }

  bool is_smooth(ValueId id) const {
    const ir::ElementType type = writer_.fact(id).type;
    return type == ir::ElementType::undefined || ir::is_float(type);
  }

  void record(ir::Node node) {
    const auto reads = ir::reads_of(node);
    if (std::none_of(reads.begin(), reads.end(), [&](ValueId id) { return is_active(id); })) return;
    if (is_discrete(node) || std::none_of(node.outputs.begin(), node.outputs.end(),
                                          [&](ValueId id) { return id != ir::absent && is_smooth(id); })) {
      return;  // indices, conditions, sizes
    }
    check(node);
    const auto composed = node.domain.empty() ? parts().find(node.op) : parts().end();
    if (composed != parts().end()) {
      record_parts(node, composed->second);
      return;
    }
    if (!node.domain.empty() || rules().count(node.op) == 0) {
      refused_.insert(fmt::format("{} {}", node.op, in_quotes(node.name)));
      return;
    }
    for (const ValueId id : node.outputs) {
      if (id != ir::absent && is_smooth(id)) active_.insert(id);
    }
    tape_.push_back(std::move(node));
  }

  /// The results keep their places; on the tape they are what the parts give.
  void record_parts(const ir::Node& node, Parts composed) {
    const size_t first = graph_.nodes.size();
    Step step(writer_, node);
    std::vector<Var> values;
    known([&] { values = composed(step); }, node);
    const size_t last = graph_.nodes.size();
    for (size_t k = first; k < last; ++k) record(ir::Node(graph_.nodes[k]));
    for (size_t k = 0; k < values.size() && k < node.outputs.size(); ++k) {
      if (!values[k].present() || node.outputs[k] == ir::absent) continue;
      ir::Node same;
      same.op = "Identity";
      same.version = Writer::version;
      same.inputs = {values[k].id};
      same.outputs = {node.outputs[k]};
      if (is_active(values[k].id)) active_.insert(node.outputs[k]);
      tape_.push_back(std::move(same));
    }
  }

  template <typename Action>
  void known(const Action& action, const ir::Node& node) const {
    try {
      action();
    } catch (const ir::NotYetKnown& missing) {
      refuse(fmt::format("{} {} needs {}, which only a run can tell", node.op, in_quotes(node.name),
                         missing.what));
    } catch (const std::out_of_range&) {
      throw PlacedError(Fault::model,
                        fmt::format("{} {}: an operand is missing", node.op, in_quotes(node.name)),
                        ErrorPlace::of_node(node.name, node.op));
    }
  }

  /// Rules rely on what definitions check; what these cannot know yet is up to the rules.
  void check(const ir::Node& node) const {
    if (ir::find_operator(node.domain, node.op, node.version) == nullptr) return;
    try {
      ir::define_node(node, writer_.operands_of(node));
    } catch (const ir::NotYetKnown&) {
      return;
    }
  }

  void add(ValueId id, Var part) {
    const auto [place, fresh] = derivatives_.emplace(id, part);
    if (!fresh) place->second = place->second + part;
    writer_.same_form(place->second, writer_.var(id));
  }

  /// From y back to xs.
  void derive() {
    const ValueId y = now(request_.y);
    if (!is_smooth(y)) refuse(fmt::format("{} is not of floats", in_quotes(graph_.value(y).name)));
    if (!is_active(y)) return;
    derivatives_.emplace(y, writer_.filled(1, writer_.var(y)));
    for (auto node = tape_.rbegin(); node != tape_.rend(); ++node) {
      Step step(writer_, *node);
      bool used = false;
      for (size_t k = 0; k < node->outputs.size(); ++k) {
        const auto found = derivatives_.find(node->outputs[k]);
        if (found == derivatives_.end()) continue;
        step.grad[k] = found->second;
        used = true;
      }
      if (!used) continue;
      for (size_t k = 0; k < node->inputs.size(); ++k) {
        step.wanted[k] =
            node->inputs[k] != ir::absent && is_active(node->inputs[k]) && is_smooth(node->inputs[k]);
      }
      check_outputs(step);
      known([&] { rules().at(node->op)(step); }, *node);
      for (size_t k = 0; k < step.result.size(); ++k) {
        if (step.wanted[k] && step.result[k].present()) add(node->inputs[k], step.result[k]);
      }
    }
  }

  /// Rules look at the first output alone, but for Split; what others give is not differentiated.
  void check_outputs(const Step& step) const {
    if (step.node.op == "Split") return;
    if (!step.grad[0].present())
      refused_.insert(fmt::format("the other outputs of {} {}", step.node.op, in_quotes(step.node.name)));
  }

  void give(size_t k) {
    if (node_.outputs[k] == ir::absent) return;
    const Var x = writer_.var(node_.inputs[k]);
    const auto found = derivatives_.find(x.id);
    const Var result = found != derivatives_.end() ? found->second : writer_.filled(0, x);
    ir::Node same;
    same.name = node_.name + (k == 0 ? "" : fmt::format("/{}", k));
    same.op = "Identity";
    same.version = Writer::version;
    same.inputs = {result.id};
    same.outputs = {node_.outputs[k]};
    graph_.nodes.push_back(std::move(same));
  }

  ir::Graph& graph_;
  Writer writer_;
  const ir::Node node_;
  const Request request_;
  std::vector<size_t> cone_;
  std::unordered_map<ValueId, ValueId> fed_;  ///< values of the cone that are others for this node
  std::set<ValueId> active_;                  ///< what depends on xs
  std::vector<ir::Node> tape_;                ///< what is differentiated, in order
  std::map<ValueId, Var> derivatives_;        ///< of y
  mutable std::set<std::string> refused_;
};

Request request_of(const ir::Node& node) {
  const auto fail = [&](const std::string& why) {
    throw PlacedError(Fault::model, fmt::format("Gradient {}: {}", in_quotes(node.name), why),
                      ErrorPlace::of_node(node.name, node.op));
  };
  const ir::OperatorContext context(node, {});
  const auto values = [&](const char* name) {
    std::vector<ValueId> ids;
    for (const int64_t id : context.integers(name)) ids.push_back(static_cast<ValueId>(id));
    return ids;
  };
  Request request{values("xs"), values("zs"), static_cast<ValueId>(context.integer("y", ir::absent))};
  if (request.xs.empty() || request.y == ir::absent) fail("xs or y is missing");
  if (node.inputs.size() != request.xs.size() + request.zs.size()) {
    fail(fmt::format("{} inputs for {} names in xs and zs", node.inputs.size(),
                     request.xs.size() + request.zs.size()));
  }
  if (std::count(node.inputs.begin(), node.inputs.end(), ir::absent) > 0) fail("an input is left out");
  if (node.outputs.size() > request.xs.size()) fail("more outputs than names in xs");
  return request;
}

/// Whether y of the request depends on what another such node still has to give.
bool is_ready(const ir::Graph& graph, const Request& request) {
  const Producers producers = producers_of(graph);
  std::set<ValueId> met;
  std::vector<ValueId> open = {request.y};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (request.stops_at(id) || !met.insert(id).second) continue;
    const auto producer = producers.find(id);
    if (producer == producers.end()) continue;
    const ir::Node& node = graph.nodes[producer->second];
    if (is_gradient(node)) return false;
    for (const ValueId read : ir::reads_of(node)) open.push_back(read);
  }
  return true;
}

/// Nodes from `first` on whose results nobody reads go.
void drop_unused(ir::Graph& graph, size_t first) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const ValueId id : graph.outputs) ++uses[static_cast<size_t>(id)];
  for (const ir::Node& node : graph.nodes) {
    for (const ValueId id : ir::reads_of(node)) ++uses[static_cast<size_t>(id)];
  }
  for (size_t k = graph.nodes.size(); k-- > first;) {
    const ir::Node& node = graph.nodes[k];
    if (std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
          return id != ir::absent &&
                 (uses[static_cast<size_t>(id)] > 0 || !graph.value(id).name.starts_with("gradient/"));
        })) {
      continue;
    }
    for (const ValueId id : ir::reads_of(node)) --uses[static_cast<size_t>(id)];
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

}  // namespace
}  // namespace gradient

void expand_gradients(GraphDraft& draft, int64_t most_nodes) {
  ir::Graph& graph = *draft.graph;
  while (true) {
    std::vector<size_t> waiting;
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      if (is_gradient(graph.nodes[k])) waiting.push_back(k);
    }
    if (waiting.empty()) return;
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](size_t k) {
      return gradient::is_ready(graph, gradient::request_of(graph.nodes[k]));
    });
    if (ready == waiting.end()) {
      const ir::Node& node = graph.nodes[waiting.front()];
      throw PlacedError(Fault::model,
                        fmt::format("Gradient {}: its y depends on its own result", in_quotes(node.name)),
                        ErrorPlace::of_node(node.name, node.op));
    }
    const ir::Node node = graph.nodes[*ready];
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(*ready));
    const size_t first = graph.nodes.size();
    gradient::Differentiation(draft, most_nodes, node, gradient::request_of(node)).run();
    gradient::drop_unused(graph, first);
    sort_nodes(graph);
  }
}

}  // namespace axrun::onnx_import
