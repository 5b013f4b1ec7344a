#include "ir/loop/index.h"

#include <algorithm>
#include <array>

#include "ir/dim_polynomial.h"
#include "ir/error.h"

namespace axrun::ir::loop {
namespace {

/// Of values on the stack: every nested atom holds back a sum, a product and its first argument.
constexpr size_t deepest_stack = 3 * (dim_depth_limit + 1);

}  // namespace

struct Index::Compiler {
  const std::vector<std::string>& variables;
  std::vector<Step> steps;
  size_t depth = 0;  // of the stack after these steps

  void push(Code code, int64_t operand) {
    ++depth;
    AXRUN_ASSERT(depth <= deepest_stack);
    steps.push_back({code, operand});
  }
  void replace_two(Code code) {
    --depth;
    steps.push_back({code});
  }

  size_t position(const std::string& name) const {
    const auto found = std::find(variables.begin(), variables.end(), name);
    AXRUN_ASSERT(found != variables.end());
    return static_cast<size_t>(found - variables.begin());
  }

  void atom(const DimAtom& atom) {
    if (atom.kind == DimAtom::Kind::symbol) {
      push(Code::variable, static_cast<int64_t>(position(atom.name)));
      return;
    }
    const Code code = atom.kind == DimAtom::Kind::floor_div   ? Code::floor_div
                      : atom.kind == DimAtom::Kind::floor_mod ? Code::floor_mod
                      : atom.kind == DimAtom::Kind::min       ? Code::min
                                                              : Code::max;
    sum(atom.arguments[0]);
    for (size_t i = 1; i < atom.arguments.size(); ++i) {
      sum(atom.arguments[i]);
      replace_two(code);
    }
  }

  void sum(const Dim& dim) {
    if (dim.is_constant()) return push(Code::constant, dim.value());
    const DimTerms& terms = DimNode::of(dim)->terms;
    for (const DimTerm& term : terms) {
      push(Code::constant, term.coefficient);
      for (const DimAtomPointer& factor : term.factors) {
        atom(*factor);
        replace_two(Code::multiply);
      }
      if (&term != &terms.front()) replace_two(Code::add);
    }
  }
};

Index::Index(const Dim& dim, const std::map<std::string, Dim>& sizes,
             const std::vector<std::string>& variables) {
  const Dim known = dim.substitute(sizes);
  Compiler compiler{variables, {}};
  for (const DimTerm& term : terms_of(known)) {
    if (term.factors.empty()) {
      constant_ = term.coefficient;
    } else if (term.factors.size() == 1 && term.factors[0]->kind == DimAtom::Kind::symbol) {
      terms_.emplace_back(compiler.position(term.factors[0]->name), term.coefficient);
    } else {
      affine_ = false;
    }
  }
  if (affine_) return;
  compiler.sum(known);
  steps_ = std::move(compiler.steps);
}

int64_t Index::at(const std::vector<int64_t>& values) const {
  if (affine_) {
    int64_t sum = constant_;
    for (const auto& [position, coefficient] : terms_) sum += coefficient * values[position];
    return sum;
  }
  std::array<int64_t, deepest_stack> stack;
  size_t top = 0;  // one past it
  for (const Step& step : steps_) {
    if (step.code <= Code::variable) {
      stack[top++] = step.code == Code::constant ? step.operand : values[static_cast<size_t>(step.operand)];
      continue;
    }
    const int64_t right = stack[--top];  // a divisor of 0 throws as it does in Dim
    int64_t& left = stack[top - 1];
    switch (step.code) {
      case Code::add:
        left = saturating_add(left, right);
        break;
      case Code::multiply:
        left = saturating_multiply(left, right);
        break;
      case Code::min:
        left = std::min(left, right);
        break;
      case Code::max:
        left = std::max(left, right);
        break;
      case Code::floor_div:
        left = right != 0 ? floor_quotient(left, right) : floor_div(Dim(left), 0).value();
        break;
      default:
        left = right != 0 ? floor_remainder(left, right) : floor_mod(Dim(left), 0).value();
        break;
    }
  }
  return stack[0];
}

}  // namespace axrun::ir::loop
