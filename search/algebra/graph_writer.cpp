#include "search/algebra/graph_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/lasting.h"
#include "search/algebra/node_names.h"

namespace axrun::search::algebra {
namespace {

using ir::Node;
using ir::ValueId;

/// Of the names of values that are made, and of nodes as long as they have no others.
constexpr std::string_view prefix = "algebra:";

/// Nodes for the terms of one window.
class WindowWriter {
 public:
  /// known: values of terms that the graph has already.
  WindowWriter(ir::Graph& graph, const Terms& terms, std::map<TermId, ValueId> known, int& made)
      : graph_(graph), terms_(terms), known_(std::move(known)), made_(made) {}

  /// ir::absent where the term cannot be said in nodes.
  ValueId write(TermId id) {
    if (const auto done = written_.find(id); done != written_.end()) return done->second;
    const ValueId made = make(id);
    written_.emplace(id, made);
    return made;
  }
  /// The value is what `made` is, which nobody else has asked for by this number.
  void give(ValueId made, ValueId value) {
    const bool is_new = new_.erase(made) != 0;
    if (!is_new) {
      add_node("Identity", "", 13, {made}, value);
      return;
    }
    for (Node& node : nodes_) {
      std::replace(node.inputs.begin(), node.inputs.end(), made, value);
      std::replace(node.outputs.begin(), node.outputs.end(), made, value);
    }
    for (auto& [term, known] : written_) known = known == made ? value : known;
  }
  std::vector<Node> take() { return std::move(nodes_); }
  void forward(ValueId from, ValueId to) { add_node("Identity", "", 13, {from}, to); }

 private:
  ValueId make(TermId id) {
    const Term& term = terms_[id];
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    if (term.literal) return literal(term);
    if (term.operation < 0) return ir::absent;
    const Operation& operation = terms_.operation(term.operation);
    if (operation.result != 0) return ir::absent;
    std::vector<TermId> children = term.children;
    const bool many = is_sum_or_product(operation) && children.size() > 2;
    if (many) {
      // Constants, and what is small, together.
      std::stable_sort(children.begin(), children.end(), [&](TermId a, TermId b) {
        const Facts &x = terms_[a].facts, &y = terms_[b].facts;
        if (x.constant != y.constant) return x.constant;
        return elements(x) < elements(y);
      });
    }
    std::vector<ValueId> inputs;
    for (const TermId child : children) {
      inputs.push_back(write(child));
      if (inputs.back() == ir::absent) return ir::absent;
    }
    if (many) {
      ValueId sum = inputs[0];
      for (size_t k = 1; k < inputs.size(); ++k)
        sum = add_node(operation.name, "", operation.version, {sum, inputs[k]});
      return sum;
    }
    if (!operation.slots.empty()) {
      std::vector<ValueId> all;
      size_t child = 0, parameter = 0;
      for (const Slot slot : operation.slots) {
        if (slot == Slot::child) {
          all.push_back(inputs[child++]);
        } else if (slot == Slot::absent) {
          all.push_back(ir::absent);
        } else {
          const auto known = ir::constant_dims(term.parameters[parameter++]);
          if (!known) return ir::absent;
          all.push_back(add_constant(ir::Tensor::from_i64(*known)));
        }
      }
      inputs = std::move(all);
    }
    const ValueId made = add_node(operation.name, operation.domain, operation.version, std::move(inputs));
    nodes_.back().attributes = operation.attributes;
    return made;
  }

  static int64_t elements(const Facts& facts) {
    const auto shape = ir::constant_dims(facts.dims);
    return shape ? ir::element_count(*shape) : 0;
  }

  ValueId literal(const Term& term) {
    const auto shape = ir::constant_dims(term.facts.dims);
    if (!shape || ir::element_count(*shape) != 1) return ir::absent;
    ir::Tensor tensor = ir::Tensor::allocate(term.facts.type, *shape);
    tensor.set_real(0, *term.literal);
    return add_constant(std::move(tensor));
  }

  ValueId add_constant(ir::Tensor tensor) {
    return graph_.add_constant(fmt::format("{}constant_{}", prefix, graph_.values.size()), std::move(tensor));
  }

  ValueId add_node(const std::string& op, const std::string& domain, int version, std::vector<ValueId> inputs,
                   ValueId output = ir::absent) {
    Node node;
    node.name = fmt::format("{}{}_{}", prefix, op, made_++);
    node.domain = domain;
    node.op = op;
    node.version = version;
    node.inputs = std::move(inputs);
    if (output == ir::absent) {
      ir::Value value;
      value.name = node.name;
      output = graph_.add_value(std::move(value));
      new_.insert(output);
    }
    node.outputs = {output};
    node.rewritten = true;
    nodes_.push_back(std::move(node));
    return output;
  }

  ir::Graph& graph_;
  const Terms& terms_;
  const std::map<TermId, ValueId> known_;
  int& made_;
  std::map<TermId, ValueId> written_;
  std::set<ValueId> new_;
  std::vector<Node> nodes_;
};

/// Leaves out what nobody needs and puts nodes behind what they read. False where that cannot be.
bool put_in_order(ir::Graph& graph) {
  std::vector<int> maker(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].outputs)
      if (id != ir::absent) maker[static_cast<size_t>(id)] = static_cast<int>(n);
  }
  enum class State : uint8_t { unseen, open, done };
  const auto makers_of = [&](int n) {
    std::vector<int> makers;
    for (const ValueId id : ir::reads_of(graph.nodes[static_cast<size_t>(n)]))
      if (const int made = maker[static_cast<size_t>(id)]; made >= 0) makers.push_back(made);
    return makers;
  };
  std::vector<bool> needed(graph.nodes.size(), false);
  std::vector<int> open;
  const auto need = [&](int n) {
    if (n < 0 || needed[static_cast<size_t>(n)]) return;
    needed[static_cast<size_t>(n)] = true;
    open.push_back(n);
  };
  for (const ValueId id : graph.outputs) need(maker[static_cast<size_t>(id)]);
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    for (const int made : makers_of(n)) need(made);
  }
  std::vector<State> state(graph.nodes.size(), State::unseen);
  std::vector<Node> ordered;
  for (size_t first = 0; first < graph.nodes.size(); ++first) {
    if (!needed[first]) continue;
    std::vector<int> path{static_cast<int>(first)};
    while (!path.empty()) {
      const int n = path.back();
      State& own = state[static_cast<size_t>(n)];
      if (own == State::done) {
        path.pop_back();
        continue;
      }
      const bool again = own == State::open;
      own = State::open;
      bool waits = false;
      for (const int made : makers_of(n)) {
        if (state[static_cast<size_t>(made)] == State::done) continue;
        // What is open lies below on the path, or was put there by another reader.
        if (state[static_cast<size_t>(made)] == State::open || again) return false;
        path.push_back(made);
        waits = true;
      }
      if (waits) continue;
      own = State::done;
      path.pop_back();
      ordered.push_back(graph.nodes[static_cast<size_t>(n)]);
    }
  }
  graph.nodes = std::move(ordered);
  return true;
}

/// Values that are computed in the window as it was.
std::set<ValueId> computed_in(const Terms& terms, const WindowSides& sides, const WindowRecipe& recipe) {
  std::map<TermId, ValueId> values;
  for (size_t k = 0; k < recipe.values.size(); ++k) values.emplace(sides.numbered[k], recipe.values[k]);
  std::set<ValueId> found;
  for (const std::vector<ValueId>& root : recipe.roots) found.insert(root.begin(), root.end());
  std::set<TermId> met(sides.from.begin(), sides.from.end());
  std::vector<TermId> open(met.begin(), met.end());
  while (!open.empty()) {
    const Term& term = terms[open.back()];
    const auto value = values.find(open.back());
    open.pop_back();
    if (term.operation < 0) continue;
    if (value != values.end()) found.insert(value->second);
    for (const TermId child : term.children)
      if (met.insert(child).second) open.push_back(child);
  }
  found.erase(ir::absent);
  return found;
}

std::vector<Node> makers_of(const ir::Graph& graph, const std::set<ValueId>& values) {
  std::vector<Node> found;
  for (const Node& node : graph.nodes) {
    if (std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId id) { return values.count(id) != 0; }))
      found.push_back(node);
  }
  return found;
}

/// Makes the nodes of one window. False, and the graph is of no use any more, where that cannot be.
bool apply(ir::Graph& graph, const WindowRecipe& recipe, Terms::Definitions& known_operations, int& made,
           NodeNames* names = nullptr) {
  Terms terms(known_operations);
  const WindowSides sides = parse_window(recipe.text, terms);
  if (sides.numbered.size() != recipe.values.size() || sides.from.size() != recipe.roots.size()) return false;
  const auto exists = [count = graph.values.size()](ValueId id) {
    return id >= 0 && static_cast<size_t>(id) < count;
  };
  std::map<TermId, ValueId> known;
  for (size_t k = 0; k < recipe.values.size(); ++k) {
    if (recipe.values[k] == ir::absent) continue;
    if (!exists(recipe.values[k])) return false;
    known.emplace(sides.numbered[k], recipe.values[k]);
  }
  const std::vector<Node> replaced = makers_of(graph, computed_in(terms, sides, recipe));
  WindowWriter writer(graph, terms, std::move(known), made);
  std::set<ValueId> given;
  for (size_t k = 0; k < recipe.roots.size(); ++k) {
    const std::vector<ValueId>& values = recipe.roots[k];
    if (values.empty() || !std::all_of(values.begin(), values.end(), exists)) return false;
    const ValueId root = writer.write(sides.to[k]);
    if (root == ir::absent) return false;
    writer.give(root, values.front());
    for (const ValueId value : values) {
      if (value != values.front()) writer.forward(values.front(), value);
      given.insert(value);
    }
  }
  for (Node& node : graph.nodes)
    for (ValueId& id : node.outputs)
      if (given.count(id) != 0) id = ir::absent;
  std::erase_if(graph.nodes, [](const Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id == ir::absent; });
  });
  std::vector<Node> nodes = writer.take();
  if (names != nullptr) names->add_window(replaced, nodes);
  std::move(nodes.begin(), nodes.end(), std::back_inserter(graph.nodes));
  return true;
}

}  // namespace

std::shared_ptr<ir::Graph> rewritten(const ir::Graph& graph, const std::vector<WindowRecipe>& recipes) {
  AXRUN_ASSERT(!graph.limits);  // of values that would not be there
  auto changed = std::make_shared<ir::Graph>(graph);
  int made = 0;
  NodeNames names;
  Terms::Definitions known_operations;
  for (const WindowRecipe& recipe : recipes)
    if (!apply(*changed, recipe, known_operations, made, &names)) return nullptr;
  if (!put_in_order(*changed) || !is_whole(*changed)) return nullptr;
  names.give_to(*changed);
  return changed;
}

GraphWriter::GraphWriter(const ir::Graph& graph, const ModelTerms& terms) : terms_(terms), graph_(graph) {
  std::set<ValueId> met;
  const auto meet = [&](ValueId id) {
    if (id == ir::absent || !met.insert(id).second) return;
    if (const TermId term = terms_.term_of(id); term != no_term) values_[term].push_back(id);
  };
  for (const ValueId id : graph.inputs) meet(id);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) meet(id);
    for (const ValueId id : node.outputs) meet(id);
  }
}

const std::vector<ValueId>& GraphWriter::values_of(TermId term) const {
  static const auto& none = lasting(std::vector<ValueId>());
  const auto found = values_.find(term);
  return found == values_.end() ? none : found->second;
}

bool GraphWriter::replace(const Window& window, const Improvement& improvement) {
  std::map<TermId, TermId> of_model;
  for (const auto& [model, copy] : improvement.copies) of_model.emplace(copy, model);
  std::vector<TermId> from, to;
  std::vector<std::vector<ValueId>> roots;
  for (size_t k = 0; k < window.roots.size(); ++k) {
    if (improvement.from[k] == improvement.to[k]) continue;
    from.push_back(improvement.from[k]);
    to.push_back(improvement.to[k]);
    roots.push_back(values_of(window.roots[k]));
  }
  const Terms& terms = improvement.graph->terms();
  const auto value_of = [&](TermId id) {
    const auto model = of_model.find(id);
    if (model == of_model.end()) return ir::absent;
    const std::vector<ValueId>& values = values_of(model->second);
    return values.empty() ? ir::absent : values.front();
  };
  recipes_.push_back(recipe_of(terms, from, to, roots, value_of));
  ir::Graph changed = graph_;
  int made = made_;
  if (apply(changed, recipes_.back(), known_operations_, made)) {
    ir::Graph ordered = changed;
    if (put_in_order(ordered) && is_whole(ordered)) {
      graph_ = std::move(changed);
      made_ = made;
      return true;
    }
  }
  recipes_.pop_back();
  return false;
}

}  // namespace axrun::search::algebra
