#include "ir/grammar.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/lasting.h"

namespace axrun::ir {
namespace {

class Checker {
 public:
  Checker(const Program& program, int depth, std::string where, std::vector<Violation>& found)
      : context_{program, depth}, where_(std::move(where)), found_(found) {}

  void run() {
    const size_t before = found_.size();
    check_layer(1);
    if (found_.size() != before) return;
    check_layer(2);
    for (const Stage& stage : context_.program.stages) {
      if (stage.kind != StageKind::scan || !stage.step || context_.depth == deepest_scan) continue;
      Checker(*stage.step, context_.depth + 1, where_ + "scan '" + stage.name + "', ", found_).run();
    }
  }

 private:
  void check_layer(int layer) {
    for (const GrammarRule& rule : grammar()) {
      if (rule.layer == layer) check(rule);
    }
  }

  void check(const GrammarRule& rule) {
    const Program& program = context_.program;
    for (size_t k = 0; rule.expression && k < program.exprs.size(); ++k) {
      report(rule, rule.expression(context_, static_cast<ExprId>(k)), "expression " + std::to_string(k));
    }
    for (size_t k = 0; rule.tensor && k < program.tensors.size(); ++k) {
      report(rule, rule.tensor(context_, static_cast<TensorId>(k)),
             "tensor '" + program.tensors[k].name + "'");
    }
    for (size_t k = 0; rule.stage && k < program.stages.size(); ++k) {
      report(rule, rule.stage(context_, program.stages[k]), "stage '" + program.stages[k].name + "'");
    }
    if (rule.program) report(rule, rule.program(context_), "program '" + program.name + "'");
  }

  void report(const GrammarRule& rule, const GrammarRule::Answer& answer, const std::string& where) {
    if (answer) found_.push_back({rule.id, where_ + where, *answer});
  }

  const GrammarContext context_;
  const std::string where_;
  std::vector<Violation>& found_;
};

}  // namespace

const std::vector<GrammarRule>& grammar() {
  static const auto& rules = lasting([] {
    std::vector<GrammarRule> table;
    expression_rules(table);
    stage_rules(table);
    program_rules(table);
    return table;
  }());
  return rules;
}

std::vector<Violation> violations(const Program& program) {
  std::vector<Violation> found;
  Checker(program, 0, "", found).run();
  return found;
}

std::string to_string(const Violation& violation) {
  return violation.where + ": " + violation.text + " [" + std::string(violation.rule) + "]";
}

void require_valid(const Program& program) {
  const std::vector<Violation> found = violations(program);
  if (!found.empty()) {
    throw Error(Fault::internal,
                "'" + program.name + "' is not a valid tensor expression: " + to_string(found[0]));
  }
}

std::vector<ExprId> reachable(const Program& program, const std::vector<ExprId>& roots) {
  std::vector<bool> seen(program.exprs.size());
  for (ExprId root : roots) {
    if (root != none) seen[static_cast<size_t>(root)] = true;
  }
  std::vector<ExprId> found;
  for (size_t id = program.exprs.size(); id-- > 0;) {
    if (!seen[id]) continue;
    found.push_back(static_cast<ExprId>(id));
    for (ExprId argument : program.exprs[id].args) {
      if (argument != none) seen[static_cast<size_t>(argument)] = true;
    }
    for (ExprId index : program.exprs[id].indices) seen[static_cast<size_t>(index)] = true;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace axrun::ir
