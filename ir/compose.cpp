#include "ir/compose.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "ir/error.h"
#include "ir/expression_pool.h"
#include "ir/grammar.h"

namespace axrun::ir {
namespace {

std::vector<ExprId> roots_of(const Stage& stage) {
  std::vector<ExprId> roots = stage.body;
  for (const auto* list : {&stage.target, &stage.monoid.identity, &stage.monoid.combine}) {
    roots.insert(roots.end(), list->begin(), list->end());
  }
  if (stage.guard != none) roots.push_back(stage.guard);
  return roots;
}

/// Applies `change` to every tensor that a stage names outside of its expressions.
template <typename Change>
void for_tensors(Stage& stage, Change change) {
  for (auto* list : {&stage.results, &stage.captures, &stage.initial, &stage.arguments}) {
    for (TensorId& id : *list) {
      if (id != none) id = change(id);
    }
  }
  if (stage.base != none) stage.base = change(stage.base);
}

/// Copies stages and what they need into a new program.
class Collector {
 public:
  explicit Collector(const std::string& name) { result_.name = word(name); }

  TensorId declare(const TensorDecl& tensor) {
    TensorDecl copy = tensor;
    copy.name = unused(tensor.name, tensor_names_);
    result_.tensors.push_back(std::move(copy));
    return static_cast<TensorId>(result_.tensors.size()) - 1;
  }

  /// `tensors`: the new number of each tensor of `from`; those of the stage's results are added.
  void copy(const Program& from, Stage stage, std::map<TensorId, TensorId>& tensors) {
    for (const TensorId id : stage.results) tensors[id] = declare(from.tensors[static_cast<size_t>(id)]);
    std::map<ExprId, ExprId> exprs;
    for (const ExprId id : reachable(from, roots_of(stage))) exprs[id] = copy_expr(from, id, exprs, tensors);
    for (auto* list : {&stage.body, &stage.target, &stage.monoid.identity, &stage.monoid.combine}) {
      for (ExprId& id : *list) id = exprs.at(id);
    }
    if (stage.guard != none) stage.guard = exprs.at(stage.guard);
    for_tensors(stage, [&](TensorId id) { return tensors.at(id); });
    stage.name = unused(stage.name, stage_names_);
    result_.stages.push_back(std::move(stage));
  }

  Program& program() { return result_; }

 private:
  ExprId copy_expr(const Program& from, ExprId id, const std::map<ExprId, ExprId>& exprs,
                   const std::map<TensorId, TensorId>& tensors) {
    Expr expr = from.exprs[static_cast<size_t>(id)];
    for (ExprId& argument : expr.args) {
      if (argument != none) argument = exprs.at(argument);
    }
    for (ExprId& index : expr.indices) index = exprs.at(index);
    if (expr.op == ScalarOp::load) {
      const auto tensor = tensors.find(static_cast<TensorId>(expr.integer));
      AXRUN_ASSERT(tensor != tensors.end());
      expr.integer = tensor->second;
    }
    return pool_.intern(result_.exprs, std::move(expr));
  }

  static std::string word(const std::string& name) {
    std::string out = name;
    for (char& c : out) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out.insert(0, 1, '_');
    return out;
  }

  static std::string unused(const std::string& name, std::set<std::string>& names) {
    const std::string first = word(name);
    std::string candidate = first;
    for (int copy = 2; !names.insert(candidate).second; ++copy)
      candidate = first + "_" + std::to_string(copy);
    return candidate;
  }

  Program result_;
  ExpressionPool pool_;
  std::set<std::string> tensor_names_, stage_names_;
};

/// Which stages the outputs need.
std::vector<bool> needed_stages(const Program& program) {
  std::vector<bool> tensor(program.tensors.size(), false);
  for (const TensorId id : program.outputs) tensor[static_cast<size_t>(id)] = true;
  std::vector<bool> needed(program.stages.size(), false);
  for (size_t s = program.stages.size(); s-- > 0;) {
    Stage stage = program.stages[s];
    for (const TensorId id : stage.results) needed[s] = needed[s] || tensor[static_cast<size_t>(id)];
    if (!needed[s]) continue;
    for_tensors(stage, [&](TensorId id) {
      tensor[static_cast<size_t>(id)] = true;
      return id;
    });
    for (const ExprId id : reachable(program, roots_of(stage))) {
      const Expr& expr = program.exprs[static_cast<size_t>(id)];
      if (expr.op == ScalarOp::load) tensor[static_cast<size_t>(expr.integer)] = true;
    }
  }
  return needed;
}

/// The tensors that a program's stages read or give.
std::set<TensorId> mentioned(const Program& program) {
  std::set<TensorId> tensors(program.outputs.begin(), program.outputs.end());
  for (Stage stage : program.stages) {
    for_tensors(stage, [&](TensorId id) {
      tensors.insert(id);
      return id;
    });
    for (const ExprId id : reachable(program, roots_of(stage))) {
      const Expr& expr = program.exprs[static_cast<size_t>(id)];
      if (expr.op == ScalarOp::load) tensors.insert(static_cast<TensorId>(expr.integer));
    }
  }
  return tensors;
}

}  // namespace

Program without_dead_stages(const Program& program) {
  Program kept = program;
  kept.stages.clear();
  const std::vector<bool> needed = needed_stages(program);
  for (size_t s = 0; s < needed.size(); ++s) {
    if (needed[s]) kept.stages.push_back(program.stages[s]);
  }
  const std::set<TensorId> tensors = mentioned(kept);
  Collector collector(program.name);
  std::map<TensorId, TensorId> renamed;
  for (const TensorId id : kept.operands) {
    TensorId now = none;
    if (id != none && tensors.count(id) != 0) {
      now = renamed[id] = collector.declare(program.tensors[static_cast<size_t>(id)]);
    }
    collector.program().operands.push_back(now);
  }
  for (const Stage& stage : kept.stages) collector.copy(program, stage, renamed);
  for (const TensorId id : kept.outputs) collector.program().outputs.push_back(renamed.at(id));
  return std::move(collector.program());
}

Program compose(const std::string& name, const std::vector<Part>& parts, const std::vector<ValueId>& outside,
                const std::vector<ValueId>& outputs) {
  Collector collector(name);
  Program& result = collector.program();
  result.operands.assign(outside.size(), none);
  std::map<ValueId, TensorId> values;
  const auto operand = [&](ValueId value, const TensorDecl& declared) {
    const auto known = values.find(value);
    if (known != values.end()) return known->second;
    const auto place = std::find(outside.begin(), outside.end(), value);
    if (place == outside.end()) {
      throw Error(Fault::internal,
                  name + ": value " + std::to_string(value) + " is read before it is computed");
    }
    const TensorId id = collector.declare(declared);
    result.operands[static_cast<size_t>(place - outside.begin())] = id;
    values[value] = id;
    return id;
  };
  for (const Part& part : parts) {
    const Program& program = *part.program;
    const std::set<TensorId> used = mentioned(program);
    std::map<TensorId, TensorId> tensors;
    for (size_t k = 0; k < program.operands.size(); ++k) {
      const TensorId id = program.operands[k];
      if (id == none || used.count(id) == 0) continue;
      AXRUN_ASSERT(k < part.operands.size());
      tensors[id] = operand(part.operands[k], program.tensors[static_cast<size_t>(id)]);
    }
    for (const Stage& stage : program.stages) collector.copy(program, stage, tensors);
    for (size_t k = 0; k < program.outputs.size() && k < part.outputs.size(); ++k) {
      if (part.outputs[k] != absent) values[part.outputs[k]] = tensors.at(program.outputs[k]);
    }
  }
  for (const ValueId value : outputs) {
    const auto known = values.find(value);
    if (known == values.end()) {
      throw Error(Fault::internal, name + ": output " + std::to_string(value) + " is not computed");
    }
    result.outputs.push_back(known->second);
  }
  Program alive = without_dead_stages(result);
  require_valid(alive);
  return alive;
}

}  // namespace axrun::ir
