#include <fmt/format.h>

#include <algorithm>

#include "onnx_import/gradient/rules.h"

namespace axrun::onnx_import::gradient {
namespace {

Var transposed(Step& s, Var matrix, int rank) {
  std::vector<int64_t> order = range(0, rank);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return s.w.node("Transpose", {matrix}, {{"perm", integers(order)}});
}

/// Vectors become matrices first.
void matmul(Step& s) {
  const int left_rank = s.context.rank(0), right_rank = s.context.rank(1);
  Var a = s.in[0], b = s.in[1], g = s.grad[0];
  if (right_rank == 1) {
    b = s.w.node("Unsqueeze", {b, s.w.constant({1})});
    g = s.w.node("Unsqueeze", {g, s.w.constant({-1})});
  }
  if (left_rank == 1) {
    a = s.w.node("Unsqueeze", {a, s.w.constant({0})});
    g = s.w.node("Unsqueeze", {g, s.w.constant({-2})});
  }
  const int ranks[2] = {std::max(left_rank, 2), std::max(right_rank, 2)};
  const auto give = [&](size_t k, Var sum, Var matrix) {
    const Var narrow = s.w.reduced_to(sum, matrix);
    s.result[k] = matrix.id == s.in[k].id ? narrow : s.w.reshape(narrow, s.w.shape(s.in[k]));
  };
  if (s.wants(0)) give(0, s.w.node("MatMul", {g, transposed(s, b, ranks[1])}), a);
  if (s.wants(1)) give(1, s.w.node("MatMul", {transposed(s, a, ranks[0]), g}), b);
}

/// alpha a b + beta c, with a and b turned or not.
void gemm(Step& s) {
  const bool turn_a = s.context.integer("transA", 0) != 0, turn_b = s.context.integer("transB", 0) != 0;
  const double alpha = s.context.real("alpha", 1), beta = s.context.real("beta", 1);
  const Var a = s.in[0], b = s.in[1];
  const Var g = alpha == 1 ? s.grad[0] : s.grad[0] * alpha;
  const auto product = [&](Var x, bool turn_x, Var y, bool turn_y) {
    return s.w.node("Gemm", {x, y}, {{"transA", integer(turn_x)}, {"transB", integer(turn_y)}});
  };
  if (s.wants(0)) s.result[0] = turn_a ? product(b, turn_b, g, true) : product(g, false, b, !turn_b);
  if (s.wants(1)) s.result[1] = turn_b ? product(g, true, a, turn_a) : product(a, !turn_a, g, false);
  if (s.wants(2)) s.result[2] = s.w.reduced_to(beta == 1 ? s.grad[0] : s.grad[0] * beta, s.in[2]);
}

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

Equation equation_of(Step& s) {
  std::string text = s.context.string("equation", "");
  std::erase(text, ' ');
  if (text.find('.') != std::string::npos) s.refuse("an equation with an ellipsis");
  const size_t arrow = text.find("->");
  Equation equation;
  std::string operand;
  for (const char letter : text.substr(0, arrow) + ",") {
    if (letter != ',') {
      operand += letter;
      continue;
    }
    equation.operands.push_back(std::exchange(operand, {}));
  }
  if (arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
  } else {
    const std::string letters = text.substr(0, arrow);
    for (const char letter : letters) {
      if (letter != ',' && std::count(letters.begin(), letters.end(), letter) == 1) equation.result += letter;
    }
    std::sort(equation.result.begin(), equation.result.end());
  }
  for (const std::string& letters : equation.operands) {
    for (const char letter : letters) {
      if (std::count(letters.begin(), letters.end(), letter) > 1) s.refuse("an equation with a diagonal");
    }
  }
  return equation;
}

/// The derivative by an operand is the same sum over the others and the result's derivative. An index that
/// only this operand has is one of a factor of ones.
void einsum(Step& s) {
  const Equation equation = equation_of(s);
  s.context.check(equation.operands.size() == s.in.size(), "the equation has not a term for each input");
  for (size_t k = 0; k < s.in.size(); ++k) {
    if (!s.wants(k)) continue;
    std::vector<Var> factors = {s.grad[0]};
    std::string text = equation.result, known = equation.result, alone;
    for (size_t other = 0; other < s.in.size(); ++other) {
      if (other == k) continue;
      factors.push_back(s.in[other]);
      text += "," + equation.operands[other];
      known += equation.operands[other];
    }
    std::vector<int64_t> axes;
    const std::string& mine = equation.operands[k];
    for (size_t axis = 0; axis < mine.size(); ++axis) {
      if (known.find(mine[axis]) != std::string::npos) continue;
      alone += mine[axis];
      axes.push_back(static_cast<int64_t>(axis));
    }
    if (!alone.empty()) {
      const Var sizes = s.w.node("Gather", {s.w.shape(s.in[k]), s.w.constant(axes)});
      factors.push_back(s.w.node("Expand", {s.w.number(1, s.in[k]), sizes}));
      text += "," + alone;
    }
    ir::Attribute sum = gradient::text(text + "->" + mine);
    // Sizes of 1 may have been broadcast.
    s.result[k] = s.w.reduced_to(s.w.node("Einsum", factors, {{"equation", sum}}), s.in[k]);
  }
}

}  // namespace

void product_rules(Rules& rules) {
  rules["MatMul"] = matmul;
  rules["Gemm"] = gemm;
  rules["Einsum"] = einsum;
}

}  // namespace axrun::onnx_import::gradient
