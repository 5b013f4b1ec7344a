// Rules about tensors and about the program as a whole.
#include <set>

#include "ir/grammar.h"

namespace axrun::ir {
namespace {

using Answer = GrammarRule::Answer;

const TensorDecl& tensor(const GrammarContext& c, TensorId id) {
  return c.program.tensors[static_cast<size_t>(id)];
}
std::string quoted(const TensorDecl& t) { return "'" + t.name + "'"; }

Answer ids_in_range(const GrammarContext& c) {
  const auto count = static_cast<TensorId>(c.program.tensors.size());
  for (TensorId id : c.program.operands) {
    if (id != none && (id < 0 || id >= count)) return "operand " + std::to_string(id) + " is not a tensor";
  }
  for (TensorId id : c.program.outputs) {
    if (id < 0 || id >= count) return "output " + std::to_string(id) + " is not a tensor";
  }
  return std::nullopt;
}

Answer tensor_type(const GrammarContext& c, TensorId id) {
  return tensor(c, id).type == ElementType::undefined ? Answer("has no type") : std::nullopt;
}

Answer tensor_dims(const GrammarContext& c, TensorId id) {
  for (const Dim& dim : tensor(c, id).dims) {
    if (dim.constant() && *dim.constant() < 0) return "has dims " + to_string(tensor(c, id).dims);
  }
  return std::nullopt;
}

Answer tensor_names(const GrammarContext& c) {
  std::set<std::string> names;
  for (const TensorDecl& t : c.program.tensors) {
    if (t.name.empty() || !names.insert(t.name).second)
      return "tensor name " + quoted(t) + " is empty or not unique";
  }
  return std::nullopt;
}

/// How often each tensor is an operand or a result.
std::vector<int> definitions(const GrammarContext& c) {
  std::vector<int> count(c.program.tensors.size());
  for (TensorId id : c.program.operands) {
    if (id != none) ++count[static_cast<size_t>(id)];
  }
  for (const Stage& stage : c.program.stages) {
    for (TensorId id : stage.results) ++count[static_cast<size_t>(id)];
  }
  return count;
}

Answer defined_once(const GrammarContext& c) {
  const std::vector<int> count = definitions(c);
  for (size_t k = 0; k < count.size(); ++k) {
    if (count[k] != 1)
      return quoted(c.program.tensors[k]) + " is defined " + std::to_string(count[k]) + " times";
  }
  return std::nullopt;
}

Answer defined_before_use(const GrammarContext& c) {
  std::vector<bool> known(c.program.tensors.size());
  for (TensorId id : c.program.operands) {
    if (id != none) known[static_cast<size_t>(id)] = true;
  }
  for (const Stage& stage : c.program.stages) {
    std::vector<TensorId> reads = stage.captures;
    for (const auto* list : {&stage.initial, &stage.arguments})
      reads.insert(reads.end(), list->begin(), list->end());
    reads.push_back(stage.base);
    std::vector<ExprId> roots = stage.body;
    for (const auto* list : {&stage.target, &stage.monoid.identity, &stage.monoid.combine}) {
      roots.insert(roots.end(), list->begin(), list->end());
    }
    roots.push_back(stage.guard);
    for (ExprId id : reachable(c.program, roots)) {
      const Expr& e = c.program.exprs[static_cast<size_t>(id)];
      if (e.op == ScalarOp::load) reads.push_back(static_cast<TensorId>(e.integer));
    }
    for (TensorId id : reads) {
      if (id != none && !known[static_cast<size_t>(id)]) {
        return "stage '" + stage.name + "' reads " + quoted(tensor(c, id)) + " before it is defined";
      }
    }
    for (TensorId id : stage.results) known[static_cast<size_t>(id)] = true;
  }
  return std::nullopt;
}

GrammarRule rule(std::string_view id, std::string_view description, int layer,
                 Answer (*check)(const GrammarContext&)) {
  GrammarRule row;
  row.id = id;
  row.description = description;
  row.layer = layer;
  row.program = check;
  return row;
}

GrammarRule rule(std::string_view id, std::string_view description,
                 Answer (*check)(const GrammarContext&, TensorId)) {
  GrammarRule row;
  row.id = id;
  row.description = description;
  row.tensor = check;
  return row;
}

}  // namespace

void program_rules(std::vector<GrammarRule>& rules) {
  rules.insert(
      rules.end(),
      {
          rule("program-tensors", "operands and outputs are tensors of the program", 1, ids_in_range),
          rule("tensor-type", "every tensor has a type", tensor_type),
          rule("tensor-dims", "no dim is negative", tensor_dims),
          rule("tensor-names", "tensors have different names", 2, tensor_names),
          rule("defined-once", "every tensor is one operand or one result", 2, defined_once),
          rule("defined-before-use", "stages read operands and results of earlier stages", 2,
               defined_before_use),
      });
}

}  // namespace axrun::ir
