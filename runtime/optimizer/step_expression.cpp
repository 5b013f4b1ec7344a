#include "runtime/optimizer/step_expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/bounded_scales.h"
#include "ir/compose.h"
#include "ir/error.h"
#include "ir/known_scalars.h"
#include "ir/text.h"
#include "runtime/plan/plan_form.h"

namespace axrun::runtime {
namespace {

using ir::Dim;
using ir::Program;

template <typename Change>
void for_dims(Program& program, Change change) {
  for (ir::TensorDecl& tensor : program.tensors) {
    for (Dim& dim : tensor.dims) dim = change(dim);
  }
  for (ir::Expr& expr : program.exprs) expr.dim = change(expr.dim);
  for (ir::Stage& stage : program.stages) {
    for (ir::Axis& axis : stage.axes) axis.extent = change(axis.extent);
    for (ir::Axis& axis : stage.reduce_axes) axis.extent = change(axis.extent);
    stage.length = change(stage.length);
    if (!stage.step) continue;
    Program step = *stage.step;
    for_dims(step, change);
    stage.step = std::make_shared<const Program>(std::move(step));
  }
}

void substitute(Program& program, const std::map<std::string, Dim>& values) {
  for_dims(program, [&](const Dim& dim) { return dim.substitute(values); });
}

std::vector<std::string> symbols_of(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Of dim = factor * name + rest, where it is that; the factor is not 0.
struct Linear {
  int64_t factor;
  Dim rest;
};
std::optional<Linear> linear_in(const Dim& dim, const std::string& name) {
  const Dim rest = dim.substitute({{name, Dim(0)}});
  const Dim factor = dim.substitute({{name, Dim(1)}}) - rest;
  if (!factor.is_constant() || factor.value() == 0) return std::nullopt;
  if (!(factor * Dim::symbol(name) + rest == dim)) return std::nullopt;
  return Linear{factor.value(), rest};
}

std::vector<Dim> operand_dims(const Program& program) {
  std::vector<Dim> dims;
  for (const ir::TensorId id : program.operands) {
    if (id == ir::none) continue;
    const ir::Dims& own = program.tensors[static_cast<size_t>(id)].dims;
    dims.insert(dims.end(), own.begin(), own.end());
  }
  return dims;
}

/// Sizes that operands have only inside of sums become sizes of their own: with operands [past + seq] and
/// nothing else, past + seq is one size. Then all sizes are renamed in order of appearance.
///
/// `taken` marks names that the model cannot have.
void name_sizes(Program& program, std::vector<std::string>& symbols) {
  constexpr const char* taken = "\x01";
  int fresh = 0;
  std::vector<std::string> solved;
  const auto is_solved = [&](const std::string& name) {
    return std::find(solved.begin(), solved.end(), name) != solved.end();
  };
  // One symbol at a time, from a dim in which it is the only open one; where every dim has several, one of
  // them gives way to the dim itself.
  for (;;) {
    std::string chosen;
    Dim several;
    for (const Dim& dim : operand_dims(program)) {
      std::vector<std::string> open = symbols_of(dim);
      open.erase(std::remove_if(open.begin(), open.end(), is_solved), open.end());
      if (open.size() == 1 && linear_in(dim, open[0])) {
        chosen = open[0];
        break;
      }
      if (!open.empty() && several == Dim(0)) several = dim;
    }
    if (!chosen.empty()) {
      solved.push_back(chosen);
      continue;
    }
    if (several == Dim(0)) break;
    bool replaced = false;
    for (const std::string& name : symbols_of(several)) {
      const auto linear = linear_in(several, name);
      if (is_solved(name) || !linear || (linear->factor != 1 && linear->factor != -1)) continue;
      const std::string size = fmt::format("{}{}", taken, fresh++);
      substitute(program, {{name, Dim(linear->factor) * (Dim::symbol(size) - linear->rest)}});
      replaced = true;
      break;
    }
    if (!replaced) break;
  }
  std::map<std::string, Dim> first, second;
  for (const Dim& dim : operand_dims(program)) {
    for (const std::string& name : symbols_of(dim)) {
      if (first.count(name) != 0) continue;
      const std::string between = fmt::format("{}{}", taken, fresh++);
      symbols.push_back(fmt::format("n{}", symbols.size()));
      first.emplace(name, Dim::symbol(between));
      second.emplace(between, Dim::symbol(symbols.back()));
    }
  }
  substitute(program, first);  // in two steps: the model may have names like the new ones
  substitute(program, second);
}

/// A size that no operand's dims have: only data tell it.
bool has_other_sizes(Program& program, const std::vector<std::string>& symbols) {
  bool found = false;
  for_dims(program, [&](const Dim& dim) {
    for (const std::string& name : symbols_of(dim)) {
      found |= std::find(symbols.begin(), symbols.end(), name) == symbols.end();
    }
    return dim;
  });
  return found;
}

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
  expression.program = std::move(program);
  expression.constant = std::move(constant);
  name_sizes(expression.program, expression.symbols);
  if (has_other_sizes(expression.program, expression.symbols)) {
    reason = "a size depends on data";
    return std::nullopt;
  }
  if (!find_linear_dims(expression)) {
    reason = "a size is not linear in those of the model";
    return std::nullopt;
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

/// The dims of a step's inputs, wherever they are.
struct ShapesOfInputs {
  const std::vector<ir::Shape>& shapes;
  size_t inputs() const { return shapes.size(); }
  size_t rank_of_input(size_t k) const { return shapes[k].size(); }
  int64_t dim_of_input(size_t k, size_t d) const { return shapes[k][d]; }
};

template <typename Inputs>
std::optional<SizeValues> solved(const StepExpression& expression, const Inputs& inputs) {
  const size_t count = expression.symbols.size();
  std::vector<int64_t> values(count, -1);  // -1: not known yet
  const auto& operands = expression.operand_dims;
  // Every round solves at least one size, or is the last, in which every dim is seen to fit.
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (expression.program.operands[k] == ir::none) continue;
      if (k >= inputs.inputs() || operands[k].size() != inputs.rank_of_input(k)) return std::nullopt;
      for (size_t d = 0; d < operands[k].size(); ++d) {
        int64_t rest = inputs.dim_of_input(k, d) - operands[k][d].constant;
        const std::pair<int, int64_t>* open = nullptr;
        bool several = false;
        for (const auto& term : operands[k][d].terms) {
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

std::optional<SizeValues> sizes_for(const StepExpression& expression, const std::vector<ir::Shape>& shapes) {
  return solved(expression, ShapesOfInputs{shapes});
}

std::optional<SizeValues> sizes_for(const StepExpression& expression, const PortSizes& ports) {
  return solved(expression, ports);
}

std::vector<int64_t> in_order(const StepExpression& expression, const SizeValues& sizes) {
  std::vector<int64_t> values;
  for (const std::string& name : expression.symbols) values.push_back(sizes.at(name));
  return values;
}

bool gives(const StepExpression& expression, const SizeValues& sizes, const PortSizes& ports,
           const std::vector<int>& outputs) {
  if (expression.output_dims.size() != outputs.size()) return false;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const LinearDims& dims = expression.output_dims[k];
    const auto port = static_cast<size_t>(outputs[k]);
    if (dims.size() != ports.rank_of_output(port)) return false;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t extent = dims[d].constant;
      for (const auto& [size, factor] : dims[d].terms)
        extent += factor * sizes.at(expression.symbols[static_cast<size_t>(size)]);
      if (extent != ports.dim_of_output(port, d)) return false;
    }
  }
  return true;
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
