#include "jit/x86/conditions.h"

#include <algorithm>
#include <optional>
#include <set>

namespace axrun::jit::x86 {

using ir::Dim;
using ir::ScalarOp;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;

namespace {

class ConditionFinder {
 public:
  ConditionFinder(const ir::loop::LoopProgram& program, Facts facts,
                  const std::map<std::string, Dim>& literals, std::string variable)
      : program_(program), facts_(std::move(facts)), literals_(literals), variable_(std::move(variable)) {}

  std::vector<Dim> run(const std::vector<const Statement*>& body) {
    for (const Statement* statement : body) visit(*statement);
    // Of two conditions of which one implies the other, the stronger one stays.
    std::vector<Dim> strongest;
    for (size_t k = 0; k < found_.size(); ++k) {
      bool implied = false;
      for (size_t other = 0; other < found_.size() && !implied; ++other) {
        if (other == k) continue;
        const Interval gap = facts_.range(found_[k] - found_[other]);
        implied = gap.low > 0 || (gap.low == 0 && other < k);
      }
      if (!implied) strongest.push_back(found_[k]);
    }
    return strongest;
  }

 private:
  void visit(const Statement& statement) {
    if (const auto* compute = std::get_if<Compute>(&statement)) {
      for (const Dim& index : compute->target.indices) atoms(index);
      value(compute->value);
      return;
    }
    const auto* loop = std::get_if<Loop>(&statement);
    if (loop == nullptr) return;
    const Dim extent = facts_.resolve(loop->extent.substitute(literals_));
    const int64_t high = facts_.range(extent).high;
    const bool written_out =
        (loop->kind == LoopKind::unrolled || loop->kind == LoopKind::vector) && high <= most_unrolled;
    facts_.set_range(loop->variable, {0, high == INT64_MAX ? INT64_MAX : std::max<int64_t>(high - 1, 0)});
    if (written_out) {
      atoms(loop->extent, true);
      inner_[loop->variable] = std::max<int64_t>(high - 1, 0);
    } else {
      later_.insert(loop->variable);
    }
    for (const Statement& inside : loop->body) visit(inside);
    inner_.erase(loop->variable);
    later_.erase(loop->variable);
    facts_.forget_range(loop->variable);
  }

  void value(int id) {
    const ir::loop::Value& v = program_.values[static_cast<size_t>(id)];
    if (v.op == ScalarOp::load) {
      for (const Dim& index : v.access.indices) atoms(index);
      if (v.args[0] != ir::none) guard(v.args[0]);
    }
    for (const int argument : v.args) {
      if (argument != ir::none) value(argument);
    }
  }

  void guard(int id) {
    const ir::loop::Value& v = program_.values[static_cast<size_t>(id)];
    if (v.op == ScalarOp::logical_and) {
      guard(v.args[0]);
      guard(v.args[1]);
      return;
    }
    if (const auto margin = margin_of(program_, v)) add(margin->substitute(literals_));
  }

  void atoms(const Dim& raw, bool extent = false) {
    const Dim dim = facts_.resolve(raw.substitute(literals_));
    for (const Monomial& monomial : monomials(dim)) {
      for (const Dim& factor : monomial.factors) {
        const Atom atom = atom_of(factor);
        for (const Dim& argument : atom.arguments) atoms(argument, extent);
        if (atom.arguments.size() != 2) continue;
        if (atom.kind == Atom::Kind::min) choose(atom.arguments[0], atom.arguments[1], false, extent);
        if (atom.kind == Atom::Kind::max) choose(atom.arguments[0], atom.arguments[1], true, extent);
      }
    }
  }

  void choose(const Dim& a, const Dim& b, bool maximum, bool extent) {
    const auto rank = [&](const Dim& dim) {
      // The element of a whole tile, or of the loop at hand, rather than the one that it is clamped to; a
      // whole tile's extent.
      for (const auto& [name, last] : inner_) {
        if (mentions(dim, name)) return 3;
      }
      if (!maximum && extent && dim.is_constant()) return 2;
      return mentions(dim, variable_) ? 1 : 0;
    };
    const bool first = rank(a) >= rank(b);
    const Dim chosen = first ? a : b, other = first ? b : a;
    add(maximum ? chosen - other : other - chosen);
  }

  /// `condition` >= 0, for the least favourable iteration of the loops that are written out.
  void add(Dim condition) {
    for (const auto& [name, last] : inner_) {
      if (!mentions(condition, name)) continue;
      const Linear linear = linear_in(condition, name);
      if (!linear.exists || !linear.coefficient.is_constant()) return;
      condition = linear.rest + linear.coefficient * Dim(linear.coefficient.value() < 0 ? last : 0);
    }
    condition = facts_.resolve(condition);
    std::vector<std::string> names;
    condition.collect_symbols(names);
    if (names.empty()) return;
    if (!variable_.empty() && std::find(names.begin(), names.end(), variable_) == names.end()) return;
    for (const std::string& name : names) {
      if (later_.count(name) != 0) return;
    }
    if (facts_.is_nonnegative(condition) || facts_.range(condition).high < 0) return;
    if (std::find(found_.begin(), found_.end(), condition) == found_.end()) found_.push_back(condition);
  }

  const ir::loop::LoopProgram& program_;
  Facts facts_;
  const std::map<std::string, Dim>& literals_;
  std::string variable_;
  std::map<std::string, int64_t> inner_;  ///< variables of loops that are written out: the last value
  std::set<std::string> later_;           ///< variables of loops that count at run time
  std::vector<Dim> found_;
};

}  // namespace

std::optional<Dim> margin_of(const ir::loop::LoopProgram& program, const ir::loop::Value& comparison) {
  const bool rising = comparison.op == ScalarOp::less || comparison.op == ScalarOp::less_equal;
  const bool falling = comparison.op == ScalarOp::greater || comparison.op == ScalarOp::greater_equal;
  if (!rising && !falling) return std::nullopt;
  const auto side = [&](size_t k) -> std::optional<Dim> {
    const ir::loop::Value& argument = program.values[static_cast<size_t>(comparison.args[k])];
    if (argument.op == ScalarOp::extent) return argument.index;
    if (argument.op == ScalarOp::integer) return Dim(argument.integer);
    return std::nullopt;
  };
  const auto a = side(0), b = side(1);
  if (!a || !b) return std::nullopt;
  const bool strict = comparison.op == ScalarOp::less || comparison.op == ScalarOp::greater;
  return (rising ? *b - *a : *a - *b) - Dim(strict ? 1 : 0);
}

std::vector<Dim> conditions_of(const std::vector<const Statement*>& body,
                               const ir::loop::LoopProgram& program, const Facts& facts,
                               const std::map<std::string, Dim>& literals, const std::string& variable) {
  return ConditionFinder(program, facts, literals, variable).run(body);
}

}  // namespace axrun::jit::x86
