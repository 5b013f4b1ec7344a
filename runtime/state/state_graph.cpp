#include "runtime/state/state_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ir/error_place.h"
#include "ir/operator.h"

namespace axrun::runtime {
namespace {

using ir::ValueId;

/// With bodies of its own: what is done to them is not done to the other graph's.
std::shared_ptr<ir::Graph> copy_of(const ir::Graph& graph) {
  auto copy = std::make_shared<ir::Graph>(graph);
  for (ir::Node& node : copy->nodes) {
    for (auto& [name, attribute] : node.attributes) {
      if (attribute.graph) attribute.graph = copy_of(*attribute.graph);
      for (auto& body : attribute.graphs) body = copy_of(*body);
    }
  }
  return copy;
}

/// The one axis along which the dims differ, where the input's is open.
std::optional<size_t> growing_axis(const Port& input, const Port& output) {
  if (!input.dims || !output.dims || input.dims->size() != output.dims->size()) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t d = 0; d < input.dims->size(); ++d) {
    if ((*input.dims)[d] == (*output.dims)[d]) continue;
    if (axis || (*input.dims)[d].is_constant()) return std::nullopt;
    axis = d;
  }
  return axis;
}

void require_match(const Port& input, const Port& output) {
  const auto refuse = [&](const std::string& why) {
    throw PlacedError(
        Fault::user,
        fmt::format("output '{}' cannot be input '{}' of the next run: {}", output.name, input.name, why),
        ErrorPlace::of_input(input.name));
  };
  if (input.kind != ir::ValueKind::tensor || output.kind != ir::ValueKind::tensor) refuse("it is no tensor");
  if (input.type == ir::ElementType::string) refuse("it holds strings");
  if (output.type != ir::ElementType::undefined && input.type != output.type)
    refuse(fmt::format("it is {}, not {}", ir::name_of(output.type), ir::name_of(input.type)));
  if (!input.dims) refuse("the input's rank is not known");
  if (!output.dims) return;
  bool fits = input.dims->size() == output.dims->size();
  for (size_t d = 0; fits && d < input.dims->size(); ++d) {
    const ir::Dim &a = (*input.dims)[d], &b = (*output.dims)[d];
    fits = !a.is_constant() || !b.is_constant() || a == b;
  }
  if (!fits) refuse(fmt::format("it is {}, not {}", ir::to_string(*output.dims), ir::to_string(*input.dims)));
}

class StateGraphMaker {
 public:
  StateGraphMaker(const ir::Graph& graph, const std::vector<Port>& inputs, const std::vector<Port>& outputs)
      : graph_(copy_of(graph)), inputs_(inputs), outputs_(outputs), capacity_(unused_name()) {
    made_.graph = graph_;
    model_outputs_ = graph_->outputs;
  }

  void add(size_t output, size_t input) {
    StateFeed feed{output, input, {}, {}, {}};
    const ValueId past = graph_->inputs[input], present = model_outputs_[output];
    require_match(inputs_[input], outputs_[output]);
    feed.grows = growing_axis(inputs_[input], outputs_[output]);
    if (const auto joined = joins(past, present)) append(feed, *joined);
    made_.feeds.push_back(feed);
  }

  StateGraph finish() { return std::move(made_); }

 private:
  struct Joined {
    size_t node;
    size_t axis;
  };

  std::string unused_name() const {
    std::vector<std::string> names;
    for (const ir::Value& value : graph_->values) {
      if (!value.dims) continue;
      for (const ir::Dim& dim : *value.dims) dim.collect_symbols(names);
    }
    std::string name = "state_capacity";
    while (std::find(names.begin(), names.end(), name) != names.end()) name += '_';
    return name;
  }

  /// The node that makes `present` of `past` and something behind it.
  std::optional<Joined> joins(ValueId past, ValueId present) const {
    const auto node = std::find_if(graph_->nodes.begin(), graph_->nodes.end(), [&](const ir::Node& one) {
      return !one.outputs.empty() && one.outputs[0] == present;
    });
    if (node == graph_->nodes.end() || node->op != "Concat" || !node->domain.empty()) return std::nullopt;
    if (node->inputs.size() != 2 || node->inputs[0] != past || node->inputs[1] == past) return std::nullopt;
    const size_t width = ir::size_of(graph_->value(past).type);
    if (width != 1 && width != 2 && width != 4 && width != 8) return std::nullopt;
    const auto attribute = node->attributes.find("axis");
    const auto rank = static_cast<int64_t>(graph_->value(past).dims->size());
    int64_t axis = attribute == node->attributes.end() ? 1 : attribute->second.integer;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    if (std::count(model_outputs_.begin(), model_outputs_.end(), present) > 1) return std::nullopt;
    return Joined{static_cast<size_t>(node - graph_->nodes.begin()), static_cast<size_t>(axis)};
  }

  ValueId add_buffer(const std::string& of, ValueId past, size_t axis) {
    ir::Value buffer;
    buffer.name = of + " (buffer)";
    buffer.type = graph_->value(past).type;
    buffer.dims = graph_->value(past).dims;
    (*buffer.dims)[axis] = ir::Dim::symbol(capacity_);
    return graph_->add_value(std::move(buffer));
  }

  ir::Node node_of(const char* op, const std::string& name, size_t axis, std::vector<ValueId> inputs,
                   std::vector<ValueId> outputs) const {
    ir::Node node;
    node.name = name;
    node.domain = ir::state_domain;
    node.op = op;
    node.version = 1;
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    ir::Attribute attribute;
    attribute.integer = static_cast<int64_t>(axis);
    node.attributes["axis"] = attribute;
    return node;
  }

  void append(StateFeed& feed, const Joined& joined) {
    const ValueId past = graph_->inputs[feed.input], present = model_outputs_[feed.output];
    const ValueId added = graph_->nodes[joined.node].inputs[1];
    const std::string name = graph_->value(present).name;
    const ValueId before = add_buffer(graph_->value(past).name, past, joined.axis);
    const ValueId after = add_buffer(name, past, joined.axis);
    ir::Value length;
    length.name = name + " (length)";
    length.type = ir::ElementType::i64;
    length.dims = ir::Dims{ir::Dim(1)};
    const ValueId filled = graph_->add_value(std::move(length));

    graph_->nodes[joined.node] = node_of("Append", name, joined.axis, {before, past, added}, {after, filled});
    auto behind = graph_->nodes.begin() + static_cast<std::ptrdiff_t>(joined.node) + 1;
    graph_->nodes.insert(behind,
                         node_of("Prefix", name + " (prefix)", joined.axis, {after, past, added}, {present}));
    read_from_buffer(past, before, joined.axis);

    feed.grows = joined.axis;
    feed.buffer = graph_->inputs.size();
    graph_->inputs.push_back(before);
    graph_->outputs[feed.output] = after;
    feed.length = graph_->outputs.size();
    graph_->outputs.push_back(filled);
  }

  /// Others that read the past: what is in the buffer before is there after, too.
  void read_from_buffer(ValueId past, ValueId buffer, size_t axis) {
    const auto is_made_here = [](const ir::Node& node) { return node.domain == ir::state_domain; };
    const bool is_read = std::any_of(graph_->nodes.begin(), graph_->nodes.end(), [&](const ir::Node& node) {
      const std::vector<ValueId> reads = ir::reads_of(node);
      return !is_made_here(node) && std::find(reads.begin(), reads.end(), past) != reads.end();
    });
    const bool is_given =
        std::find(graph_->outputs.begin(), graph_->outputs.end(), past) != graph_->outputs.end();
    if (!is_read && !is_given) return;
    ir::Value value = graph_->value(past);
    value.name += " (in the buffer)";
    const std::string name = value.name;
    const ValueId read = graph_->add_value(std::move(value));
    for (ir::Node& node : graph_->nodes) {
      if (is_made_here(node)) continue;
      std::replace(node.inputs.begin(), node.inputs.end(), past, read);
      for (ir::Graph* body : ir::bodies_of(node)) {
        for (auto& [outer, inner] : body->captures) {
          if (outer == past) outer = read;
        }
      }
    }
    std::replace(graph_->outputs.begin(), graph_->outputs.end(), past, read);
    graph_->nodes.insert(graph_->nodes.begin(), node_of("Prefix", name, axis, {buffer, past}, {read}));
  }

  std::shared_ptr<ir::Graph> graph_;
  const std::vector<Port>& inputs_;
  const std::vector<Port>& outputs_;
  std::string capacity_;
  std::vector<ValueId> model_outputs_;
  StateGraph made_;
};

}  // namespace

StateGraph make_state_graph(const ir::Graph& graph, const std::vector<Port>& inputs,
                            const std::vector<Port>& outputs,
                            const std::vector<std::pair<size_t, size_t>>& feeds) {
  StateGraphMaker maker(graph, inputs, outputs);
  for (const auto& [output, input] : feeds) maker.add(output, input);
  return maker.finish();
}

}  // namespace axrun::runtime
