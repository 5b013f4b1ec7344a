#include "ir/simplify.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ir/carried_unchanged.h"
#include "ir/infer.h"
#include "ir/renaming.h"

namespace axrun::ir {
namespace {

/// True when the node's output 0 is its input 0 and nothing else of it is used: what its expression says, not
/// its name.
bool only_forwards(const Node& node, const Program& program) {
  if (program.stages.size() != 1 || program.outputs.size() != 1 || program.operands.empty()) return false;
  const Stage& stage = program.stages[0];
  if (stage.kind != StageKind::map || program.operands[0] == none) return false;
  const TensorDecl& from = program.tensors[static_cast<size_t>(program.operands[0])];
  const TensorDecl& to = program.tensors[static_cast<size_t>(program.outputs[0])];
  if (from.type != to.type || from.dims != to.dims) return false;
  const Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  if (body.op != ScalarOp::load || body.integer != program.operands[0] || body.args[0] != none) return false;
  for (size_t d = 0, axis = 0; d < body.indices.size(); ++d) {
    const Expr& index = program.exprs[static_cast<size_t>(body.indices[d])];
    if (from.dims[d] == Dim(1) && index.op == ScalarOp::integer && index.integer == 0) continue;
    while (axis < stage.axes.size() && stage.axes[axis].extent == Dim(1)) ++axis;
    if (index.op != ScalarOp::axis) return false;
    if (stage.axes[static_cast<size_t>(index.integer)].extent == Dim(1)) continue;
    if (index.integer != static_cast<int64_t>(axis)) return false;
    ++axis;
  }
  return node.outputs[0] != absent;
}

/// Whether a result is known for having no elements alone. Named sizes that only execution can compare were
/// taken at their word: the node has to be there where they are compared.
bool is_empty_of_unknown(const Node& node, const Program& program, const Inference& inference) {
  const bool nothing = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id != absent && inference.is_constant(id) && inference.fact(id).constant.size() == 0;
  });
  if (!nothing) return false;
  for (size_t k = 0; k < program.operands.size(); ++k) {
    if (program.operands[k] == none) continue;
    const ValueFact& operand = inference.fact(node.inputs[k]);
    const bool known = operand.constant.defined() || operand.elements;
    if (!known && !constant_dims(program.tensors[static_cast<size_t>(program.operands[k])].dims)) return true;
  }
  return false;
}

/// Copies the body of an If into the graph; returns the nodes to put in its place.
std::vector<Node> inline_body(Graph& graph, const Graph& body, const Node& node, Renaming& renaming,
                              std::vector<std::pair<ValueId, ValueId>>& forwards) {
  std::vector<ValueId> ids(body.values.size(), absent);
  for (const auto& [outer, inner] : body.captures) ids[static_cast<size_t>(inner)] = renaming.resolve(outer);
  for (size_t id = 0; id < body.values.size(); ++id) {
    if (ids[id] == absent) ids[id] = graph.add_value(body.values[id]);
  }
  const auto translate = [&](ValueId id) { return id == absent ? absent : ids[static_cast<size_t>(id)]; };
  std::vector<Node> nodes;
  for (const Node& inner : body.nodes) {
    Node copy = inner;
    copy.name = node.name + "/" + inner.name;
    for (ValueId& id : copy.inputs) id = translate(id);
    for (ValueId& id : copy.outputs) id = translate(id);
    for (auto& [name, attribute] : copy.attributes) {
      // Bodies are shared between the copies of a node: what changes is copied first.
      const auto recapture = [&](std::shared_ptr<Graph>& shared) {
        shared = std::make_shared<Graph>(*shared);
        for (auto& capture : shared->captures) capture.first = translate(capture.first);
      };
      if (attribute.graph) recapture(attribute.graph);
      for (auto& shared : attribute.graphs) recapture(shared);
    }
    nodes.push_back(std::move(copy));
  }
  for (size_t k = 0; k < node.outputs.size() && k < body.outputs.size(); ++k) {
    if (node.outputs[k] != absent) forwards.emplace_back(node.outputs[k], translate(body.outputs[k]));
  }
  return nodes;
}

/// One walk over the graph: infers, folds, forwards, inlines. True when something was inlined (walk again).
bool walk(Graph& graph, SimplifyReport& report, Definitions* definitions) {
  Inference inference(graph, {.definitions = definitions});
  Renaming renaming(graph.values.size());
  std::vector<std::pair<ValueId, ValueId>> forwards;
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  bool inlined = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    renaming.apply(node);
    const bool has_input = !node.inputs.empty() && node.inputs[0] != absent;
    if (node.op == "If" && node.domain.empty() && !inlined && has_input &&
        inference.is_constant(node.inputs[0]) && inference.fact(node.inputs[0]).constant.size() == 1) {
      const bool condition = inference.fact(node.inputs[0]).constant.get_int(0) != 0;
      const auto branch = node.attributes.find(condition ? "then_branch" : "else_branch");
      if (branch != node.attributes.end() && branch->second.graph) {
        const std::shared_ptr<Graph> body = branch->second.graph;
        for (Node& copy : inline_body(graph, *body, Node(node), renaming, forwards))
          nodes.push_back(std::move(copy));
        inlined = true;  // the facts of the new values come with the next walk
        ++report.inlined;
        continue;
      }
    }
    if (inlined) {
      nodes.push_back(std::move(node));
      continue;
    }
    const auto program = inference.define(node);
    if (program) inference.conclude(node, *program);
    if (program && is_empty_of_unknown(node, *program, inference)) {
      for (const ValueId id : node.outputs) {
        if (id != absent) inference.fact(id).constant = Tensor();
      }
    }
    const bool folded = program && std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
                          return id == absent || inference.is_constant(id);
                        });
    if (folded) {
      for (ValueId id : node.outputs) {
        if (id == absent || graph.value(id).constant.defined()) continue;
        graph.value(id).constant = inference.fact(id).constant;
        report.folded_bytes += static_cast<int64_t>(graph.value(id).constant.bytes());
      }
      ++report.folded;
      if (widens_weights(node, inference)) nodes.push_back(std::move(node));
    } else if (program && only_forwards(node, *program)) {
      renaming.forward(node.outputs[0], node.inputs[0]);
      ++report.forwarded;
    } else {
      nodes.push_back(std::move(node));
    }
  }
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (inlined) break;
    const ValueFact& fact = inference.fact(static_cast<ValueId>(id));
    if (fact.type == ElementType::undefined) continue;
    graph.values[id].type = fact.type;
    graph.values[id].dims = fact.dims;
  }
  graph.nodes = std::move(nodes);
  Renaming final_names(graph.values.size());
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const ValueId to = renaming.resolve(static_cast<ValueId>(id));
    if (to != static_cast<ValueId>(id)) final_names.forward(static_cast<ValueId>(id), to);
  }
  for (const auto& [from, to] : forwards) final_names.forward(from, to);
  for (Node& node : graph.nodes) final_names.apply(node);
  for (ValueId& id : graph.outputs) id = final_names.resolve(id);
  return inlined;
}

int remove_dead(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId id : graph.outputs) needed[static_cast<size_t>(id)] = true;
  std::vector<bool> wanted(graph.nodes.size(), false);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    wanted[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                            [&](ValueId id) { return id != absent && needed[static_cast<size_t>(id)]; });
    if (!wanted[n]) continue;
    for (ValueId id : reads_of(node)) needed[static_cast<size_t>(id)] = true;
  }
  size_t kept = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!wanted[n]) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    ++kept;
  }
  const int dead = static_cast<int>(graph.nodes.size() - kept);
  graph.nodes.resize(kept);
  // Constants nobody reads are let go.
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (!needed[id]) graph.values[id].constant = Tensor();
  }
  return dead;
}

/// Captures of constants become constants of the body; captures nobody reads are dropped.
void simplify_bodies(Graph& graph, SimplifyReport& report, Definitions* definitions) {
  for (Node& node : graph.nodes) {
    for (auto& [name, attribute] : node.attributes) {
      const auto simplify_body = [&](std::shared_ptr<Graph>& shared) {
        shared = std::make_shared<Graph>(*shared);
        for (const auto& [outer, inner] : shared->captures) {
          const Value& value = graph.value(outer);
          Value& captured = shared->value(inner);
          captured.constant = value.constant;
          captured.type = value.type;
          captured.dims = value.dims;
        }
        // What a body's inputs are is decided where it runs; the declared types may be stale.
        std::vector<Value> declared, declared_outputs;
        for (ValueId id : shared->outputs) declared_outputs.push_back(shared->value(id));
        for (ValueId id : shared->inputs) {
          declared.push_back(shared->value(id));
          shared->value(id).type = ElementType::undefined;
          shared->value(id).dims.reset();
        }
        const SimplifyReport inner = simplify(*shared, definitions);
        // Only a decoder's inputs say of what size its first past states are; only the first two of a Loop's
        // body, of what rank the iteration number and the condition are.
        const bool is_loop = node.op == "Loop" && node.domain.empty();
        const size_t restored = node.domain == "com.microsoft" ? declared.size() : is_loop ? 2 : 0;
        for (size_t k = 0; k < std::min(restored, declared.size()); ++k) {
          shared->value(shared->inputs[k]) = declared[k];
        }
        // And its outputs of what a Loop gives that makes no trip.
        for (size_t k = 0; is_loop && k < declared_outputs.size(); ++k) {
          Value& output = shared->value(shared->outputs[k]);
          if (output.type == ElementType::undefined) output.type = declared_outputs[k].type;
          if (!output.dims) output.dims = declared_outputs[k].dims;
        }
        report.folded += inner.folded;
        report.folded_bytes += inner.folded_bytes;
        report.inlined += inner.inlined;
        report.forwarded += inner.forwarded;
        report.captured += inner.captured;
        report.dead += inner.dead;
        std::vector<bool> read(shared->values.size(), false);
        for (const Node& n : shared->nodes) {
          for (ValueId id : reads_of(n)) read[static_cast<size_t>(id)] = true;
        }
        for (ValueId id : shared->outputs) read[static_cast<size_t>(id)] = true;
        std::erase_if(shared->captures, [&](const auto& capture) {
          return !read[static_cast<size_t>(capture.second)] ||
                 shared->value(capture.second).constant.defined();
        });
      };
      if (attribute.graph) simplify_body(attribute.graph);
      for (auto& shared : attribute.graphs) simplify_body(shared);
    }
  }
}

/// Loops and Scans by name; of those with the same name the outermost.
using Loops = std::map<std::string, const Node*>;

const Graph* loop_body(const Node& node) {
  if ((node.op != "Loop" && node.op != "Scan") || !node.domain.empty()) return nullptr;
  const auto body = node.attributes.find("body");
  return body == node.attributes.end() ? nullptr : body->second.graph.get();
}

void collect_loops(const Graph& graph, Loops& loops) {
  for (const Node& node : graph.nodes) {
    if (loop_body(node) != nullptr) loops.emplace(node.name, &node);
  }
  for (const Node& node : graph.nodes) {
    for (const Graph* body : bodies_of(node)) collect_loops(*body, loops);
  }
}

/// Of a Loop or Scan that carries less than it did, what its body gives for every trip stands last as before.
void take_results(Graph& body, const Node& simplified) {
  const Graph& known = *loop_body(simplified);
  const size_t all = body.outputs.size(), of_known = known.outputs.size();
  const auto scans = simplified.attributes.find("num_scan_inputs");
  const bool is_loop = simplified.op == "Loop";
  const size_t others = is_loop                                ? 2
                        : scans != simplified.attributes.end() ? static_cast<size_t>(scans->second.integer)
                                                               : simplified.inputs.size();
  const size_t before =
      (is_loop ? 1 : 0) + simplified.inputs.size() - std::min(others, simplified.inputs.size());
  const size_t same = all == of_known ? all : of_known - std::min(before, of_known);
  for (size_t k = all - std::min(same, all); k < all; ++k) {
    if (std::find(body.inputs.begin(), body.inputs.end(), body.outputs[k]) != body.inputs.end()) continue;
    const Value& found = known.value(known.outputs[k + of_known - all]);
    Value& output = body.value(body.outputs[k]);
    if (found.type != ElementType::undefined) output.type = found.type;
    if (found.dims) output.dims = found.dims;
  }
}

/// `inlined`: what is before the names of nodes where the Ifs around them were replaced by a branch.
void take_loop_results(Graph& graph, const Loops& loops, const std::string& inlined) {
  for (Node& node : graph.nodes) {
    for (auto& [name, attribute] : node.attributes) {
      const auto take = [&](std::shared_ptr<Graph>& shared) {
        shared = std::make_shared<Graph>(*shared);
        take_loop_results(*shared, loops, node.op == "If" ? inlined + node.name + "/" : "");
      };
      if (attribute.graph) take(attribute.graph);
      for (auto& shared : attribute.graphs) take(shared);
    }
    auto known = loops.find(node.name);
    if (known == loops.end()) known = loops.find(inlined + node.name);
    if (known != loops.end() && loop_body(node) != nullptr)
      take_results(*node.attributes.at("body").graph, *known->second);
  }
}

}  // namespace

bool widens_weights(const Node& node, const Inference& inference) {
  if (node.outputs.size() != 1 || node.outputs[0] == absent) return false;
  const Tensor& result = inference.fact(node.outputs[0]).constant;
  if (!result.defined() || result.type() != ElementType::f32 || result.shape().size() < 2) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    if (id == absent || !inference.is_constant(id)) return false;
    const Tensor& operand = inference.fact(id).constant;
    const bool byte = is_integer(operand.type()) && bits_of(operand.type()) == 8;
    const bool half = operand.type() == ElementType::f16 || operand.type() == ElementType::bf16;
    return (byte || half) && operand.shape() == result.shape();
  });
}

SimplifyReport simplify(Graph& graph, Definitions* definitions) {
  SimplifyReport report;
  while (walk(graph, report, definitions)) {
  }
  report.dead += remove_dead(graph);
  simplify_bodies(graph, report, definitions);
  for (int found = 0; (found = capture_carried_unchanged(graph)) > 0;) {
    report.captured += found;
    simplify_bodies(graph, report, definitions);
  }
  report.dead += remove_dead(graph);
  return report;
}

void take_loop_results(Graph& graph, const Graph& simplified) {
  Loops loops;
  collect_loops(simplified, loops);
  if (!loops.empty()) take_loop_results(graph, loops, "");
}

}  // namespace axrun::ir
