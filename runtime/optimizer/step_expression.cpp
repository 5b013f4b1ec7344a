#include "runtime/optimizer/step_expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/bounded_scales.h"
#include "ir/compose.h"
#include "ir/error.h"
#include "ir/known_scalars.h"
#include "ir/text.h"
#include "runtime/optimizer/size_names.h"
#include "runtime/plan/plan_form.h"

namespace axrun::runtime {
namespace {

using ir::Dim;
using ir::Program;

std::optional<LinearDims> linear_dims(const ir::Dims& dims, const std::vector<std::string>& symbols) {
  LinearDims found;
  for (const Dim& dim : dims) {
    LinearDim linear;
    Dim rest = dim;
    for (size_t k = 0; k < symbols.size(); ++k) {
      const auto part = linear_in(rest, symbols[k]);
      if (!part) continue;
      linear.terms.emplace_back(static_cast<int>(k), part->factor);
      rest = part->rest;
    }
    if (!rest.is_constant()) return std::nullopt;
    linear.constant = rest.value();
    found.push_back(std::move(linear));
  }
  return found;
}

/// False where a dim is not linear in the sizes.
bool find_linear_dims(StepExpression& expression) {
  const Program& program = expression.program;
  expression.operand_dims.clear();
  expression.output_dims.clear();
  const auto add = [&](ir::TensorId id, std::vector<LinearDims>& list) {
    if (id == ir::none) {
      list.emplace_back();
      return true;
    }
    auto dims = linear_dims(program.tensors[static_cast<size_t>(id)].dims, expression.symbols);
    if (dims) list.push_back(std::move(*dims));
    return dims.has_value();
  };
  bool linear = true;
  for (const ir::TensorId id : program.operands) linear = linear && add(id, expression.operand_dims);
  for (const ir::TensorId id : program.outputs) linear = linear && add(id, expression.output_dims);
  return linear;
}

/// Names the sizes of the program; false, with the reason, where its ports do not tell all of them.
bool name_ports(StepExpression& expression, std::string& reason) {
  expression.symbols = name_sizes(expression.program);
  if (has_other_sizes(expression.program, expression.symbols)) {
    reason = "a size depends on data";
    return false;
  }
  if (find_linear_dims(expression)) return true;
  reason = "a size is not linear in those of the model";
  return false;
}

std::string word_for(const std::string& ops) {
  std::string word = ops;
  std::replace_if(
      word.begin(), word.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return word;
}

}  // namespace

ir::Program StepExpression::whole_program() const {
  if (is_whole()) return program;
  ir::Program whole = ir::parse(text);
  if (whole.operands.size() != program.operands.size())
    throw Error(Fault::internal, "the expression is not the one that was written");
  return whole;
}

SymbolicFacts::SymbolicFacts(std::shared_ptr<const ir::Graph> graph) { add(std::move(graph)); }

void SymbolicFacts::add(std::shared_ptr<const ir::Graph> graph) {
  if (known_.count(graph.get()) != 0) return;
  graphs_.push_back(std::move(graph));
  walk(*graphs_.back(), nullptr);
}

void SymbolicFacts::forget(const ir::Graph& graph) {
  known_.erase(&graph);
  std::erase_if(graphs_, [&](const auto& one) { return one.get() == &graph; });
}

void SymbolicFacts::walk(const ir::Graph& graph, const ir::Inference* enclosing) {
  const auto [place, fresh] = known_.try_emplace(&graph, graph, ir::Inference::Options());
  if (!fresh) return;
  ir::Inference& inference = place->second;
  for (const auto& [outer, inner] : graph.captures) {
    if (enclosing != nullptr && enclosing->fact(outer).dims) inference.fact(inner) = enclosing->fact(outer);
  }
  for (const ir::Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.graph) walk(*attribute.graph, &inference);
      for (const auto& body : attribute.graphs) walk(*body, &inference);
    }
    if (ir::is_graph_operator(node.domain, node.op)) continue;
    try {
      if (const auto program = inference.define(node)) inference.conclude(node, *program);
    } catch (const Error&) {
      // Its results stay unknown, and with them what follows.
    }
  }
}

ir::Inference facts_of(const Plan& plan) {
  ir::Inference inference(plan.graph(), {});
  for (size_t id = 0; id < plan.graph().values.size(); ++id) {
    inference.fact(static_cast<ir::ValueId>(id)) = plan.fact(static_cast<ir::ValueId>(id));
  }
  return inference;
}

std::optional<StepExpression> express(Program program, std::vector<bool> constant, std::string& reason) {
  StepExpression expression;
  expression.constant = std::move(constant);
  expression.program = program;
  if (!name_ports(expression, reason)) {
    name_quotients(program);
    expression.program = std::move(program);
    if (!name_ports(expression, reason)) return std::nullopt;
  }
  expression.text = ir::print(expression.program);
  return expression;
}

namespace {

/// fact: of a value; define: the program of a node, null where it has none.
template <typename FactOf, typename Define>
std::optional<StepExpression> express_step(const ir::Graph& graph, const Step& step, FactOf fact,
                                           Define define, std::string& reason) {
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<ir::Part> parts;
  try {
    for (const int n : step.work->nodes) {
      const ir::Node& node = graph.nodes[static_cast<size_t>(n)];
      for (const ir::ValueId id : ir::reads_of(node)) {
        if (fact(id).dims && fact(id).type != ir::ElementType::undefined) continue;
        reason = fmt::format("the dims of '{}' are unknown", graph.value(id).name);
        return std::nullopt;
      }
      std::shared_ptr<const Program> program = define(n);
      if (!program) {
        reason = fmt::format("{} '{}' has no expression for open sizes", node.op, node.name);
        return std::nullopt;
      }
      parts.push_back({program.get(), node.inputs, node.outputs});
      programs.push_back(std::move(program));
    }
    std::vector<ir::ValueId> outputs;
    for (const ir::ValueId id : step.work->outputs) {
      if (id != ir::absent) outputs.push_back(id);
    }
    Program program = ir::compose(word_for(step.work->ops), parts, step.work->inputs, outputs);
    std::vector<const ir::Tensor*> known;
    for (const ir::ValueId id : step.work->inputs) {
      const bool constant = id != ir::absent && fact(id).constant.defined();
      known.push_back(constant ? &fact(id).constant : nullptr);
    }
    program = ir::bounded_scales(ir::with_known_scalars(program, known), known);
    std::vector<bool> constant;
    for (size_t k = 0; k < step.work->inputs.size(); ++k)
      constant.push_back(program.operands[k] != ir::none && known[k] != nullptr);
    return express(std::move(program), std::move(constant), reason);
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

}  // namespace

std::optional<StepExpression> express(const ir::Inference& facts, const Step& step, std::string& reason) {
  const auto fact = [&](ir::ValueId id) -> const ir::ValueFact& { return facts.fact(id); };
  const auto define = [&](int n) { return facts.define(facts.graph().nodes[static_cast<size_t>(n)]); };
  return express_step(facts.graph(), step, fact, define, reason);
}

std::optional<StepExpression> express(const PlanForm& form, const Step& step, std::string& reason) {
  const auto fact = [&](ir::ValueId id) -> const ir::ValueFact& {
    return (*form.facts)[static_cast<size_t>(id)];
  };
  const auto define = [&](int n) -> std::shared_ptr<const Program> {
    const auto& open = form.programs[static_cast<size_t>(n)];
    return open ? open->shared() : nullptr;
  };
  return express_step(*form.graph, step, fact, define, reason);
}

namespace {

using Port = StepExpression::Port;

/// The dims of a step's inputs and outputs that are there, wherever they are.
struct ShapesOfPorts {
  const std::vector<ir::Shape>&inputs, &outputs;
  size_t rank(const Port& port) const { return of(port).size(); }
  int64_t dim(const Port& port, size_t d) const { return of(port)[d]; }
  bool has(const Port& port) const { return port.index < (port.is_output ? outputs : inputs).size(); }

 private:
  const ir::Shape& of(const Port& port) const { return (port.is_output ? outputs : inputs)[port.index]; }
};

struct SizesOfPorts {
  const PortSizes& ports;
  const std::vector<int>& outputs;
  size_t rank(const Port& port) const {
    return port.is_output ? ports.rank_of_output(output(port)) : ports.rank_of_input(port.index);
  }
  int64_t dim(const Port& port, size_t d) const {
    return port.is_output ? ports.dim_of_output(output(port), d) : ports.dim_of_input(port.index, d);
  }
  bool has(const Port& port) const {
    return port.is_output ? port.index < outputs.size() : port.index < ports.inputs();
  }

 private:
  size_t output(const Port& port) const { return static_cast<size_t>(outputs[port.index]); }
};

template <typename Ports>
std::optional<SizeValues> solved(const StepExpression& expression, size_t outputs, const Ports& ports) {
  if (expression.output_dims.size() != outputs) return std::nullopt;
  const size_t count = expression.symbols.size();
  std::vector<int64_t> values(count, -1);  // -1: not known yet
  const std::vector<Port> all = expression.ports();
  for (const Port& port : all) {
    if (!ports.has(port) || expression.dims(port).size() != ports.rank(port)) return std::nullopt;
  }
  // Every round solves at least one size, or is the last, in which every dim is seen to fit.
  for (bool progress = true; progress;) {
    progress = false;
    for (const Port& port : all) {
      const LinearDims& dims = expression.dims(port);
      for (size_t d = 0; d < dims.size(); ++d) {
        int64_t rest = ports.dim(port, d) - dims[d].constant;
        const std::pair<int, int64_t>* open = nullptr;
        bool several = false;
        for (const auto& term : dims[d].terms) {
          const int64_t value = values[static_cast<size_t>(term.first)];
          if (value >= 0) {
            rest -= term.second * value;
          } else {
            several = open != nullptr;
            open = &term;
          }
        }
        if (several) continue;
        if (open == nullptr) {
          if (rest != 0) return std::nullopt;
          continue;
        }
        if (rest % open->second != 0 || rest / open->second < 0) return std::nullopt;
        values[static_cast<size_t>(open->first)] = rest / open->second;
        progress = true;
      }
    }
  }
  SizeValues sizes;
  for (size_t k = 0; k < count; ++k) {
    if (values[k] < 0) return std::nullopt;
    sizes.emplace_hint(sizes.end(), expression.symbols[k], values[k]);
  }
  return sizes;
}

}  // namespace

std::vector<StepExpression::Port> StepExpression::ports() const {
  std::vector<Port> all;
  for (size_t k = 0; k < operand_dims.size(); ++k) {
    if (program.operands[k] != ir::none) all.push_back({false, k});
  }
  for (size_t k = 0; k < output_dims.size(); ++k) all.push_back({true, k});
  return all;
}

std::optional<SizeValues> sizes_for(const StepExpression& expression, const std::vector<ir::Shape>& inputs,
                                    const std::vector<ir::Shape>& outputs) {
  return solved(expression, outputs.size(), ShapesOfPorts{inputs, outputs});
}

std::optional<SizeValues> sizes_for(const StepExpression& expression, const PortSizes& ports,
                                    const std::vector<int>& outputs) {
  return solved(expression, outputs.size(), SizesOfPorts{ports, outputs});
}

std::vector<int64_t> in_order(const StepExpression& expression, const SizeValues& sizes) {
  std::vector<int64_t> values;
  for (const std::string& name : expression.symbols) values.push_back(sizes.at(name));
  return values;
}

std::vector<ir::Shape> output_shapes(const StepExpression& expression, const SizeValues& sizes) {
  std::vector<ir::Shape> shapes;
  for (const LinearDims& dims : expression.output_dims) {
    ir::Shape shape;
    for (const LinearDim& dim : dims) {
      int64_t value = dim.constant;
      for (const auto& [symbol, factor] : dim.terms) {
        value += factor * sizes.at(expression.symbols[static_cast<size_t>(symbol)]);
      }
      shape.push_back(value);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace axrun::runtime
