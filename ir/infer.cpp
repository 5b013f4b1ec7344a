#include "ir/infer.h"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <utility>

#include "ir/definitions.h"
#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/open_sizes.h"
#include "ir/sizes_at_hand.h"
#include "ir/view.h"

namespace axrun::ir {
namespace {

constexpr int64_t symbolic_limit = 64;

bool small_integers(const ValueFact& fact) {
  if (!is_integer(fact.type) && fact.type != ElementType::boolean) return false;
  if (!fact.dims) return false;
  const Dim count = product(*fact.dims);
  return count.is_constant() && count.value() <= symbolic_limit;
}

/// True when every element is constant.
bool all_constant(const Dims& elements) {
  return std::all_of(elements.begin(), elements.end(), [](const Dim& d) { return d.is_constant(); });
}

Tensor tensor_of(const ValueFact& fact, const Dims& elements) {
  Tensor tensor = Tensor::allocate(fact.type, *constant_dims(*fact.dims));
  for (size_t i = 0; i < elements.size(); ++i) tensor.set_int(static_cast<int64_t>(i), elements[i].value());
  return tensor;
}

/// A cast to floats that hold the sizes exactly keeps what is known of them: Range reads it.
void keep_sizes_cast_to_floats(const Node& node, SizesAtHand& sizes, Inference& inference) {
  if (node.op != "Cast" || !node.domain.empty() || node.inputs[0] == absent) return;
  ValueFact& result = inference.fact(node.outputs[0]);
  const ValueFact& given = inference.fact(node.inputs[0]);
  if ((result.type != ElementType::f32 && result.type != ElementType::f64) || result.constant.defined())
    return;
  if (!given.elements || !small_integers(given)) return;
  constexpr int64_t largest = int64_t{1} << 24;
  for (const Dim& element : *given.elements) {
    if (element.is_constant() && std::abs(element.value()) <= largest) continue;
    if (sizes.at_least(element, Dim(0)) != true || sizes.at_least(Dim(largest), element) != true) return;
  }
  result.elements = given.elements;
}

}  // namespace

std::vector<ValueFact> facts_of_constants(const Graph& graph) {
  std::vector<ValueFact> facts(graph.values.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    const Tensor& constant = graph.values[i].constant;
    if (constant.defined()) facts[i] = {constant.type(), to_dims(constant.shape()), constant, {}};
  }
  return facts;
}

Inference::Inference(const Graph& graph, const Options& options, std::vector<ValueFact> facts)
    : graph_(graph), options_(options), facts_(std::move(facts)) {
  AXRUN_ASSERT(facts_.size() == graph.values.size());
}

Inference::Inference(const Graph& graph, const Options& options)
    : Inference(graph, options, facts_of_constants(graph)) {
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    if (fact(id).constant.defined() || value.kind != ValueKind::tensor) continue;
    fact(id).type = value.type;
    fact(id).dims = value.dims;
  }
  for (const auto& [outer, inner] : graph.captures) {
    const Value& value = graph.value(inner);
    if (fact(inner).constant.defined() || value.kind != ValueKind::tensor) continue;
    fact(inner).type = value.type;
    fact(inner).dims = value.dims;
  }
}

std::vector<OperandInfo> Inference::operands_of(const Node& node) const {
  std::vector<OperandInfo> operands(node.inputs.size());
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k] == absent) continue;
    const ValueFact& known = fact(node.inputs[k]);
    operands[k].present = true;
    operands[k].type = known.type;
    operands[k].dims = known.dims;
    operands[k].constant = known.constant.defined() ? &known.constant : nullptr;
    operands[k].elements = known.elements ? &*known.elements : nullptr;
  }
  return operands;
}

std::shared_ptr<const Program> Inference::define(const Node& node) const {
  if (is_graph_operator(node.domain, node.op)) return nullptr;
  if (options_.sizes != nullptr && !keeps_sizes_open(node)) return define_with_numbers(node);
  return define(node, operands_of(node));
}

std::shared_ptr<const Program> Inference::define(const Node& node,
                                                 const std::vector<OperandInfo>& operands) const {
  if (options_.definitions != nullptr) return options_.definitions->define(node, operands, options_.sizes);
  Consulted consulted;
  consulted.sizes = options_.sizes;
  try {
    return std::make_shared<const Program>(define_node(node, operands, &consulted));
  } catch (const NotYetKnown&) {
    return nullptr;
  }
}

std::shared_ptr<const Program> Inference::define_with_numbers(const Node& node) const {
  std::vector<OperandInfo> operands = operands_of(node);
  std::list<Tensor> values;
  // False where a name is not one of the sizes.
  const auto fix = [&](Dims& dims) {
    return std::all_of(dims.begin(), dims.end(), [&](Dim& dim) {
      const auto number = dim.is_constant() ? dim.constant() : options_.sizes->fix(dim);
      if (number) dim = Dim(*number);
      return number.has_value();
    });
  };
  for (size_t k = 0; k < operands.size(); ++k) {
    OperandInfo& operand = operands[k];
    if (!operand.dims || !fix(*operand.dims) || operand.elements == nullptr) continue;
    Dims elements = *operand.elements;
    if (!fix(elements)) continue;
    ValueFact fact;
    fact.type = operand.type;
    fact.dims = operand.dims;
    operand.constant = &values.emplace_back(tensor_of(fact, elements));
    operand.elements = nullptr;
  }
  return define(node, operands);
}

std::vector<ValueFact> output_facts(const Program& program) {
  std::vector<ValueFact> facts;
  for (TensorId id : program.outputs) {
    ValueFact fact;
    if (id != none) {
      fact.type = program.tensors[static_cast<size_t>(id)].type;
      fact.dims = program.tensors[static_cast<size_t>(id)].dims;
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

void Inference::conclude(const Node& node, const Program& program) {
  // What the graph keeps of a node beside its result.
  const bool known = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id != absent && graph_.value(id).constant.defined();
  });
  if (known && !node.outputs.empty()) {
    for (const ValueId id : node.outputs) set_constant(id, graph_.value(id).constant);
    return;
  }
  std::vector<ValueFact> results = output_facts(program);
  for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
    if (node.outputs[k] != absent) fact(node.outputs[k]) = std::move(results[k]);
  }
  if (!options_.fold || fold_constants(node, program)) return;
  fold_elements(node, program);
  if (options_.sizes != nullptr) keep_sizes_cast_to_floats(node, *options_.sizes, *this);
}

void Inference::set_constant(ValueId id, const Tensor& constant) {
  fact(id).type = constant.type();
  fact(id).dims = to_dims(constant.shape());
  fact(id).constant = constant;
}

bool Inference::fold_constants(const Node& node, const Program& program) {
  int64_t operand_bytes = 0;
  std::vector<Tensor> operands(program.operands.size());
  for (size_t k = 0; k < program.operands.size(); ++k) {
    if (program.operands[k] == none) continue;
    const ValueFact& known = fact(node.inputs[k]);
    if (!known.constant.defined()) return false;
    operands[k] = known.constant;
    operand_bytes += static_cast<int64_t>(known.constant.bytes());
  }
  int64_t result_bytes = 0;
  for (TensorId id : program.outputs) {
    if (id == none) continue;
    const TensorDecl& decl = program.tensors[static_cast<size_t>(id)];
    const auto shape = constant_dims(decl.dims);
    if (!shape) return false;
    const int64_t element = std::max<int64_t>(1, static_cast<int64_t>(size_of(decl.type)));
    const int64_t count = element_count(*shape);
    if (count > (int64_t{1} << 40) / element) return false;
    result_bytes += count * element;
  }
  if (const int viewed = viewed_operand(program); viewed >= 0 && program.outputs.size() == 1) {
    ValueFact& known = fact(node.outputs[0]);
    known.constant = operands[static_cast<size_t>(viewed)].reshaped(*constant_dims(*known.dims));
    return true;
  }
  if (result_bytes > std::max(options_.fold_bytes, operand_bytes)) return false;
  std::vector<Tensor> results;
  try {
    results = options_.definitions != nullptr ? options_.definitions->evaluate(program, operands)
                                              : evaluate(program, operands);
  } catch (const Error&) {
    return false;  // Bad data is an error only where the node is executed: it may lie in a branch never
                   // taken.
  }
  for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
    if (node.outputs[k] == absent) continue;
    ValueFact& known = fact(node.outputs[k]);
    known.constant = results[k];
    known.dims = to_dims(results[k].shape());
  }
  return true;
}

void Inference::fold_elements(const Node& node, const Program& program) {
  const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId id) { return id != absent && small_integers(fact(id)); });
  if (!wanted) return;
  std::vector<std::optional<Dims>> operands(program.operands.size());
  for (size_t k = 0; k < program.operands.size(); ++k) {
    if (program.operands[k] == none) continue;
    const ValueFact& known = fact(node.inputs[k]);
    if (known.elements) {
      operands[k] = *known.elements;
    } else if (known.constant.defined() && small_integers(known)) {
      operands[k] = to_dims(known.constant.to_ints());
    }
  }
  const auto results =
      options_.definitions != nullptr
          ? options_.definitions->evaluate_symbolic(program, operands, symbolic_limit, options_.sizes)
          : evaluate_symbolic(program, operands, symbolic_limit, options_.sizes);
  for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
    if (node.outputs[k] == absent || !results[k] || !small_integers(fact(node.outputs[k]))) continue;
    ValueFact& known = fact(node.outputs[k]);
    if (all_constant(*results[k])) {
      known.constant = tensor_of(known, *results[k]);
    } else {
      known.elements = *results[k];
    }
  }
}

void Inference::run() {
  for (const Node& node : graph_.nodes) {
    if (const auto program = define(node)) conclude(node, *program);
  }
}

}  // namespace axrun::ir
