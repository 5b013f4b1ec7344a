#include "search/algebra/terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/compose.h"
#include "ir/error.h"
#include "ir/lasting.h"
#include "ir/operator.h"

namespace axrun::search::algebra {
namespace {

std::string text_of(const std::vector<ir::Dims>& parameters) {
  std::string text;
  for (const ir::Dims& list : parameters) text += ir::to_string(list);
  return text;
}

/// Of type and dims.
std::string text_of(const Facts& facts) {
  return fmt::format("{}{}", ir::name_of(facts.type), ir::to_string(facts.dims));
}

/// A node with the operation's attributes; its inputs are numbered.
ir::Node node_of(const Operation& operation, size_t inputs) {
  ir::Node node;
  node.name = operation.name;
  node.domain = operation.domain;
  node.op = operation.name;
  node.version = operation.version;
  node.attributes = operation.attributes;
  for (size_t k = 0; k < inputs; ++k) {
    const bool missing = k < operation.slots.size() && operation.slots[k] == Slot::absent;
    node.inputs.push_back(missing ? ir::absent : static_cast<ir::ValueId>(k));
  }
  for (int k = 0; k <= operation.result; ++k) node.outputs.push_back(1000 + k);
  return node;
}

}  // namespace

bool is_sum_or_product(const Operation& operation) {
  return operation.domain.empty() && operation.version >= 7 &&
         (operation.name == "Add" || operation.name == "Mul");
}

bool is_index_map(const Operation& operation) {
  const std::string& op = operation.name;
  return operation.domain.empty() &&
         (op == "Reshape" || op == "Transpose" || op == "Slice" || op == "Expand" || op == "Concat");
}

int Terms::operation(const Operation& operation) {
  const auto [place, added] = operation_ids_.emplace(operation.key(), static_cast<int>(operations_.size()));
  if (added) operations_.push_back(operation);
  return place->second;
}

int Terms::kind_of(const Facts& facts) {
  return kinds_.emplace(text_of(facts), static_cast<int>(kinds_.size())).first->second;
}

const std::string& Terms::name(TermId id) const {
  static const auto& none = lasting(std::string());
  const Term& term = at(id);
  return term.operation < 0 ? none : operation(term.operation).name;
}

TermId Terms::add(const std::string& key, Term term) {
  const auto [place, added] = ids_.emplace(key, size());
  if (added) {
    term.kind = kind_of(term.facts);
    terms_.push_back(std::move(term));
  }
  return place->second;
}

TermId Terms::leaf(const std::string& name, const Facts& facts) {
  Term term;
  term.leaf = name;
  term.facts = facts;
  return add("?" + name, std::move(term));
}

TermId Terms::literal(ir::ElementType type, double value, const ir::Dims& dims) {
  Term term;
  term.literal = value;
  term.facts = {type, dims, true};
  return add(fmt::format("={}:{}{}", value, ir::name_of(type), ir::to_string(dims)), std::move(term));
}

Terms::Definition Terms::define_one(const Operation& operation, const std::vector<ir::Dims>& parameters,
                                    const std::vector<Facts>& children) {
  const size_t inputs = operation.slots.empty() ? children.size() : operation.slots.size();
  const ir::Node node = node_of(operation, inputs);
  std::vector<ir::OperandInfo> infos(inputs);
  std::vector<ir::Tensor> constants(inputs);
  std::vector<ir::ValueId> outside, operands(inputs, ir::absent);
  size_t child = 0, parameter = 0;
  for (size_t k = 0; k < inputs; ++k) {
    const Slot slot = operation.slots.empty() ? Slot::child : operation.slots[k];
    if (slot == Slot::absent) continue;
    infos[k].present = true;
    operands[k] = static_cast<ir::ValueId>(k);
    if (slot == Slot::child) {
      if (child >= children.size()) throw Error(Fault::user, "arguments are missing");
      infos[k].type = children[child].type;
      infos[k].dims = children[child].dims;
      ++child;
      outside.push_back(static_cast<ir::ValueId>(k));
      continue;
    }
    if (parameter >= parameters.size()) throw Error(Fault::user, "parameters are missing");
    const ir::Dims& elements = parameters[parameter++];
    infos[k].type = ir::ElementType::i64;
    infos[k].dims = ir::Dims{ir::Dim(static_cast<int64_t>(elements.size()))};
    infos[k].elements = &elements;
    if (const auto known = ir::constant_dims(elements)) {
      constants[k] = ir::Tensor::from_i64(*known);
      infos[k].constant = &constants[k];
    }
  }
  if (child != children.size() || parameter != parameters.size())
    throw Error(Fault::user, "arguments or parameters are too many");
  const ir::Program program = ir::define_node(node, infos);
  if (static_cast<size_t>(operation.result) >= program.outputs.size())
    throw Error(Fault::user, "the operation has no such result");
  // Definitions do not count their inputs: what they do not look at is one too many.
  for (size_t k = 0; k < inputs; ++k) {
    const bool read = k < program.operands.size() && program.operands[k] != ir::none;
    const Slot slot = operation.slots.empty() ? Slot::child : operation.slots[k];
    if (read != (slot == Slot::child))
      throw Error(Fault::unsupported, "an input is not what it is taken to be");
  }
  Definition definition;
  for (const ir::TensorId id : program.outputs) {
    if (id == ir::none) {
      definition.results.emplace_back();
      continue;
    }
    const ir::TensorDecl& tensor = program.tensors[static_cast<size_t>(id)];
    definition.results.push_back({tensor.type, tensor.dims, false});
  }
  if (known_ != nullptr) return definition;
  ir::Part part{&program, operands, node.outputs};
  definition.program = std::make_shared<const ir::Program>(
      ir::compose(operation.name, {part}, outside, {node.outputs.back()}));
  return definition;
}

std::optional<Terms::Definition> Terms::find_definition(const Operation& operation,
                                                        const std::vector<ir::Dims>& parameters,
                                                        const std::vector<Facts>& children) {
  try {
    if (!is_sum_or_product(operation) || children.size() == 2)
      return define_one(operation, parameters, children);
    if (children.size() < 2) return std::nullopt;
    // One after the other.
    std::vector<Definition> steps;
    std::vector<ir::Part> parts;
    std::vector<ir::ValueId> outside;
    const auto count = static_cast<ir::ValueId>(children.size());
    Facts sum = children[0];
    for (ir::ValueId k = 0; k < count; ++k) outside.push_back(k);
    for (ir::ValueId k = 1; k < count; ++k) {
      steps.push_back(define_one(operation, {}, {sum, children[static_cast<size_t>(k)]}));
      sum = steps.back().results[0];
      parts.push_back({steps.back().program.get(), {k == 1 ? 0 : count + k - 1, k}, {count + k}});
    }
    if (known_ != nullptr) return Definition{nullptr, {sum}};
    return Definition{
        std::make_shared<const ir::Program>(ir::compose(operation.name, parts, outside, {2 * count - 1})),
        {sum}};
  } catch (const Error&) {
  } catch (const ir::NotYetKnown&) {
  }
  return std::nullopt;
}

const Terms::Definition* Terms::define(int id, const std::vector<ir::Dims>& parameters,
                                       const std::vector<TermId>& children) {
  const Operation& operation = this->operation(id);
  std::string key =
      fmt::format("{}|{}|", known_ != nullptr ? operation.key() : fmt::format("{}", id), text_of(parameters));
  std::vector<Facts> facts;
  for (const TermId child : children) {
    const Facts& its = at(child).facts;
    key += known_ != nullptr ? text_of(its) : fmt::format("{},", at(child).kind);
    facts.push_back(its);
  }
  const auto [place, is_unknown] = (known_ != nullptr ? *known_ : definitions_).try_emplace(std::move(key));
  if (is_unknown) place->second = find_definition(operation, parameters, facts);
  return place->second ? &*place->second : nullptr;
}

TermId Terms::intern(int id, const std::vector<ir::Dims>& parameters, const std::vector<TermId>& children) {
  const std::string key = fmt::format("{}|{}|{}", id, text_of(parameters), fmt::join(children, ","));
  if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
  const Definition* definition = define(id, parameters, children);
  if (definition == nullptr) return no_term;
  Term term;
  term.operation = id;
  term.parameters = parameters;
  term.children = children;
  term.facts = definition->results[static_cast<size_t>(operation(id).result)];
  if (term.facts.type == ir::ElementType::undefined || term.facts.type == ir::ElementType::string)
    return no_term;
  term.facts.constant =
      !children.empty() && std::all_of(children.begin(), children.end(),
                                       [this](TermId child) { return at(child).facts.constant; });
  term.program = definition->program;
  return add(key, std::move(term));
}

std::vector<TermId> reached_from(const Terms& terms, const std::vector<TermId>& roots) {
  std::vector<TermId> order;
  std::set<TermId> seen;
  const auto visit = [&](const auto& self, TermId id) -> void {
    if (!seen.insert(id).second) return;
    for (const TermId child : terms[id].children) self(self, child);
    order.push_back(id);
  };
  for (const TermId root : roots) visit(visit, root);
  return order;
}

std::vector<TermId> leaves_of(const Terms& terms, const std::vector<TermId>& roots) {
  std::vector<TermId> leaves;
  for (const TermId id : reached_from(terms, roots))
    if (terms[id].operation < 0 && !terms[id].literal) leaves.push_back(id);
  return leaves;
}

int operations_in(const Terms& terms, const std::vector<TermId>& roots) {
  int count = 0;
  for (const TermId id : reached_from(terms, roots)) count += terms[id].operation >= 0 ? 1 : 0;
  return count;
}

ir::Program program_of(const Terms& terms, const std::vector<TermId>& roots,
                       const std::vector<TermId>& leaves) {
  std::vector<ir::Program> made;
  made.reserve(roots.size() + static_cast<size_t>(terms.size()));  // parts point to them
  std::vector<ir::Part> parts;
  std::vector<ir::ValueId> outputs;
  for (const TermId id : reached_from(terms, roots)) {
    const Term& term = terms[id];
    if (term.operation >= 0) {
      parts.push_back({term.program.get(), {term.children.begin(), term.children.end()}, {id}});
    } else if (term.literal) {
      ir::Builder builder("literal");
      builder.output(builder.map(term.facts.dims, [&](const ir::Indices&) {
        return builder.literal(term.facts.type, *term.literal);
      }));
      made.push_back(builder.finish());
      parts.push_back({&made.back(), {}, {id}});
    }
  }
  for (const TermId root : roots) {
    const bool again = std::find(outputs.begin(), outputs.end(), root) != outputs.end();
    const bool computed = terms[root].operation >= 0 || terms[root].literal;
    if (!again && computed) {
      outputs.push_back(root);
      continue;
    }
    // A copy: outputs of a group are results of its parts.
    ir::Builder builder("copy");
    const ir::TensorRef x = builder.operand(0, terms[root].facts.type, terms[root].facts.dims);
    builder.output(builder.map(x.dims(), [&](const ir::Indices& at) { return x(at); }));
    made.push_back(builder.finish());
    outputs.push_back(terms.size() + static_cast<int>(outputs.size()));
    parts.push_back({&made.back(), {root}, {outputs.back()}});
  }
  return ir::compose("term", parts, {leaves.begin(), leaves.end()}, outputs);
}

}  // namespace axrun::search::algebra
