#include "runtime/onnxruntime_ep/capability.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/operator.h"
#include "runtime/onnxruntime_ep/context_model.h"
#include "runtime/onnxruntime_ep/host_value.h"
#include "runtime/onnxruntime_ep/partition.h"
#include "runtime/onnxruntime_ep/refusals.h"

namespace axrun::ort {
namespace {

/// Versions of domains, "" for ai.onnx.
using Opsets = std::map<std::string, int>;

Opsets opsets_of(const Host& host, const Graph* graph) {
  std::size_t count = 0;
  host.call(graph_opset_count, graph, &count);
  std::vector<const char*> domains(count);
  std::vector<std::int64_t> versions(count);
  if (count > 0) host.call(graph_opsets, graph, domains.data(), versions.data(), count);
  Opsets opsets;
  for (std::size_t k = 0; k < count; ++k) {
    const std::string domain = domains[k] == nullptr ? "" : domains[k];
    opsets[domain == "ai.onnx" ? "" : domain] = static_cast<int>(versions[k]);
  }
  return opsets;
}

std::vector<const Graph*> bodies_of(const Host& host, const Node* node) {
  std::size_t count = 0;
  host.call(node_body_count, node, &count);
  std::vector<const Graph*> bodies(count);
  std::vector<const char*> names(count);
  if (count > 0) host.call(node_bodies, node, bodies.data(), count, names.data());
  return bodies;
}

/// A Dropout that may be told to train. axrun only infers.
bool has_variable_mode(const Host& host, const Node* node) {
  const auto inputs = host.list(node_input_count, node_inputs, node);
  return inputs.size() > 2 && inputs[2] != nullptr && !is_constant(host, inputs[2]);
}

std::string text_of(const Host& host, const Function<Status*(const Node*, const char**)>& function,
                    const Node* node) {
  const char* text = nullptr;
  host.call(function, node, &text);
  return text == nullptr ? "" : text;
}

/// Operators that only the reference interpreter runs, and that take it tens of times as long as ONNX
/// Runtime's kernels; generated kernels have none of them either (perf/README.md, "Single operators").
bool takes_interpreter(std::string_view domain, std::string_view op) {
  if (domain.empty()) return op == "DeformConv";
  return domain == "com.microsoft" && (op == "MoE" || op == "QMoE");
}

/// Why axrun cannot have the node, or something in its bodies, or had better not; empty otherwise.
std::string reason_against(const Host& host, const Node* node, const Opsets& opsets) {
  const std::string named = text_of(host, node_domain, node);
  const std::string domain = named == "ai.onnx" ? "" : named;
  const std::string op = text_of(host, node_operator, node);
  const auto version = opsets.find(domain);
  if (version == opsets.end()) return fmt::format("the model imports no version of the domain '{}'", named);
  if (ir::find_operator(domain, op, version->second) == nullptr && !ir::is_graph_operator(domain, op)) {
    return fmt::format("axrun has no operator {} of {} {}", op, domain.empty() ? "ai.onnx" : domain,
                       version->second);
  }
  if (domain == "com.microsoft" && ir::is_graph_operator(domain, op))
    return "text generation stays with its host";
  if (takes_interpreter(domain, op)) return "axrun only has its reference interpreter for it";
  for (const OpAttr* attribute : host.list(node_attribute_count, node_attributes, node)) {
    int type = 0;
    host.call(attribute_type, attribute, &type);
    if (type < attribute_int || type > attribute_tensor)
      return "it has an attribute of a type that ONNX Runtime does not show";
  }
  if (domain.empty() && op == "Dropout" && has_variable_mode(host, node))
    return "whether to train is known to the run only";
  if (host.version() < 27) {
    for (const ValueInfo* value : host.list(node_implicit_input_count, node_implicit_inputs, node)) {
      if (value != nullptr && !is_constant(host, value)) {
        return fmt::format("ONNX Runtime before 1.27 does not hand over '{}', which only bodies read",
                           name_of(host, value));
      }
    }
  }
  for (const Graph* body : bodies_of(host, node)) {
    for (const Node* inner : host.list(graph_node_count, graph_nodes, body)) {
      const std::string reason = reason_against(host, inner, opsets);
      if (!reason.empty()) {
        return fmt::format("{} '{}' in its body: {}", text_of(host, node_operator, inner),
                           text_of(host, node_name, inner), reason);
      }
    }
  }
  return {};
}

class GraphCuts {
 public:
  GraphCuts(const Host& host, const Graph* graph, ExaminedParts& examined)
      : host_(host), graph_(graph), examined_(examined) {
    const Opsets opsets = opsets_of(host, graph);
    const Node* parent = nullptr;
    host.call(graph_parent, graph, &parent);
    // Of a body in 1.23 nobody knows; what looks like one is not cut.
    if (parent == nullptr) {
      for (const ValueInfo* value : host.list(graph_input_count, graph_inputs, graph))
        sized_.insert(name_of(host, value));
    }
    for (const Node* node : host.list(graph_node_count, graph_nodes, graph)) {
      nodes_.push_back(node);
      PartitionNode plain;
      reasons_.push_back(is_context(host, node) ? "" : reason_against(host, node, opsets));
      plain.supported = reasons_.back().empty() && !is_context(host, node);
      for (const ValueInfo* value : reads_of(host, node)) plain.reads.push_back(number(value));
      for (const ValueInfo* value : host.list(node_output_count, node_outputs, node)) {
        if (value != nullptr) plain.writes.push_back(number(value));
      }
      plain_.push_back(std::move(plain));
    }
    readers_.resize(values_.size());
    producers_.assign(values_.size(), nowhere);
    for (std::size_t n = 0; n < plain_.size(); ++n) {
      for (const int value : plain_[n].reads) readers_[static_cast<std::size_t>(value)].push_back(n);
      for (const int value : plain_[n].writes) producers_[static_cast<std::size_t>(value)] = n;
    }
    for (const ValueInfo* value : host.list(graph_output_count, graph_outputs, graph))
      outputs_.insert(number(value));
    readers_.resize(values_.size());
    producers_.resize(values_.size(), nowhere);
  }

  std::vector<GraphPart> parts() {
    for (;;) {
      std::vector<GraphPart> parts;
      bool again = false;
      for (const std::vector<std::size_t>& group : convex_groups(plain_)) {
        GraphPart part;
        if (!describe(group, part) || !imports(group, part)) {
          again = true;
          break;
        }
        part.sized = nullptr;  // it goes with this object
        parts.push_back(std::move(part));
      }
      if (!again) return parts;
    }
  }

  /// The nodes that are not in any part, once there are parts.
  std::vector<LeftNode> left() const {
    std::vector<LeftNode> all;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (plain_[n].supported || is_context(host_, nodes_[n])) continue;
      all.push_back(
          {text_of(host_, node_name, nodes_[n]), text_of(host_, node_operator, nodes_[n]), reasons_[n]});
    }
    return all;
  }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};

  int number(const ValueInfo* value) {
    const auto [found, added] = numbers_.emplace(name_of(host_, value), static_cast<int>(values_.size()));
    if (added) values_.push_back(value);
    return found->second;
  }

  void leave_node(std::size_t node, const std::string& reason) {
    plain_[node].supported = false;
    if (reasons_[node].empty()) reasons_[node] = reason;
  }

  bool crosses_well(int value) const {
    return shared_type(tensor_type(host_, values_[static_cast<std::size_t>(value)])) !=
           ir::ElementType::undefined;
  }

  /// Finds what enters and leaves a group. False where a value cannot cross: the members that touch it are
  /// not supported any more.
  bool describe(const std::vector<std::size_t>& group, GraphPart& part) {
    const std::set<std::size_t> members(group.begin(), group.end());
    std::set<int> crossing;
    part.graph = graph_;
    part.sized = &sized_;
    for (const std::size_t n : group) {
      part.nodes.push_back(nodes_[n]);
      for (const int value : plain_[n].reads) {
        const auto at = static_cast<std::size_t>(value);
        const bool inside = producers_[at] != nowhere && members.count(producers_[at]) > 0;
        if (inside || is_constant(host_, values_[at]) || !crossing.insert(value).second) continue;
        if (!crosses_well(value)) return leave(group, value);
        part.inputs.push_back(values_[at]);
      }
      for (const int value : plain_[n].writes) {
        const auto at = static_cast<std::size_t>(value);
        bool read_outside = outputs_.count(value) > 0;
        for (const std::size_t reader : readers_[at]) read_outside |= members.count(reader) == 0;
        if (!read_outside) continue;
        if (!crosses_well(value)) return leave(group, value);
        part.outputs.push_back(values_[at]);
      }
    }
    return true;
  }

  bool leave(const std::vector<std::size_t>& group, int value) {
    const ValueInfo* const info = values_[static_cast<std::size_t>(value)];
    const int type = tensor_type(host_, info);
    const std::string reason =
        type == 0 ? fmt::format(
                        "'{}' enters or leaves the part and is no tensor: ONNX Runtime hands a plugin "
                        "tensors only",
                        name_of(host_, info))
                  : fmt::format(
                        "'{}' enters or leaves the part and has element type {}, which is stored in "
                        "another way here",
                        name_of(host_, info), type);
    for (const std::size_t n : group) {
      for (const auto* touched : {&plain_[n].reads, &plain_[n].writes}) {
        for (const int other : *touched) {
          if (other == value) leave_node(n, reason);
        }
      }
    }
    return false;
  }

  /// Imports the part and defines its operators. False where that fails: the nodes that cannot be had are not
  /// supported any more; all of the group, where nobody knows which ones.
  bool imports(const std::vector<std::size_t>& group, const GraphPart& part) {
    std::vector<Refusal> refused;
    const std::string why = reason_against_import(part, refused);
    if (why.empty() && refused.empty()) return true;
    bool found = false;
    for (const Refusal& refusal : refused) {
      const auto value = numbers_.find(refusal.output);
      if (value == numbers_.end()) continue;
      const std::size_t producer = producers_[static_cast<std::size_t>(value->second)];
      if (producer == nowhere) continue;
      leave_node(producer, refusal.reason);
      found = true;
    }
    if (refused.empty()) found = leave_what_is_bad_alone(group);
    if (!found) {
      const std::string reason = !why.empty() ? why : refused.front().reason;
      for (const std::size_t n : group) leave_node(n, "with the nodes around it: " + reason);
    }
    return false;
  }

  bool leave_what_is_bad_alone(const std::vector<std::size_t>& group) {
    bool found = false;
    for (const std::size_t n : group) {
      GraphPart alone;
      std::vector<Refusal> refused;
      if (!describe({n}, alone)) {
        found = true;
        continue;
      }
      std::string why = reason_against_import(alone, refused);
      if (why.empty() && !refused.empty()) why = refused.front().reason;
      if (why.empty()) continue;
      leave_node(n, why);
      found = true;
    }
    return found;
  }

  /// Empty where the part can be imported; `refused` are nodes of it that cannot be had all the same.
  std::string reason_against_import(const GraphPart& part, std::vector<Refusal>& refused) const {
    try {
      const WrittenModel model = write_model(host_, part, Constants::borrowed);
      if (examined_.has(model)) return {};
      refused = refused_nodes(*model.import().graph);
      if (refused.empty()) examined_.add(model);
      return {};
    } catch (const HostError&) {
      throw;
    } catch (const Error& error) {
      return error.what();
    }
  }

  const Host& host_;
  const Graph* graph_;
  ExaminedParts& examined_;
  std::set<std::string> sized_;  ///< inputs of the main graph
  std::vector<const Node*> nodes_;
  std::vector<PartitionNode> plain_;
  std::vector<std::string> reasons_;  ///< against each node; empty where there is none
  std::unordered_map<std::string, int> numbers_;
  std::vector<const ValueInfo*> values_;  ///< by number
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::size_t> producers_;
  std::set<int> outputs_;
};

/// ONNX Runtime 1.23 does not show the node that a body belongs to. A graph that reads a value from outside,
/// or that has the first inputs and output of a Loop's body, is taken for one.
bool looks_like_body(const Host& host, const Graph* graph) {
  std::set<std::string> defined;
  const auto inputs = host.list(graph_input_count, graph_inputs, graph);
  const auto outputs = host.list(graph_output_count, graph_outputs, graph);
  for (const ValueInfo* value : inputs) defined.insert(name_of(host, value));
  for (const ValueInfo* value : host.list(graph_initializer_count, graph_initializers, graph)) {
    defined.insert(name_of(host, value));
  }
  for (const Node* node : host.list(graph_node_count, graph_nodes, graph)) {
    for (const ValueInfo* value : reads_of(host, node)) {
      if (defined.count(name_of(host, value)) == 0) return true;
    }
    for (const ValueInfo* value : host.list(node_output_count, node_outputs, node)) {
      if (value != nullptr) defined.insert(name_of(host, value));
    }
  }
  const auto has_type = [&](const ValueInfo* value, ir::ElementType type) {
    return shared_type(tensor_type(host, value)) == type;
  };
  return inputs.size() >= 2 && !outputs.empty() && has_type(inputs[0], ir::ElementType::i64) &&
         has_type(inputs[1], ir::ElementType::boolean) && has_type(outputs[0], ir::ElementType::boolean);
}

/// Whether the graph is a body of a node that will be taken whole, with or within its own graph. Bodies are
/// asked about before the graphs around them, and of those the runtime shows the node only.
bool is_inside_claimed(const Host& host, const Graph* graph) {
  if (host.version() < 24) return looks_like_body(host, graph);
  const Node* parent = nullptr;
  host.call(graph_parent, graph, &parent);
  return parent != nullptr && reason_against(host, parent, opsets_of(host, graph)).empty();
}

}  // namespace

Claims claims_of(const Host& host, const Graph* graph, ExaminedParts& examined) {
  Claims claims;
  host.call(graph_node_count, graph, &claims.nodes);
  if (claims.nodes == 0 || is_inside_claimed(host, graph)) return claims;
  GraphCuts cuts(host, graph, examined);
  claims.parts = cuts.parts();
  claims.left = cuts.left();
  for (const Node* node : host.list(graph_node_count, graph_nodes, graph)) {
    if (!is_context(host, node)) continue;
    claims.parts.emplace_back();
    claims.parts.back().graph = graph;
    claims.parts.back().nodes = {node};
  }
  for (const GraphPart& part : claims.parts) claims.claimed += part.nodes.size();
  return claims;
}

}  // namespace axrun::ort
