#include "verify/stand_ins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

#include "ir/arithmetic.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using ir::ScalarOp;

/// a*x + b for functions of one argument.
struct Line {
  double slope;
  double offset;
};

std::optional<Line> line_for(ScalarOp op) {
  switch (op) {
    case ScalarOp::sqrt:
      return Line{1, 3};
    case ScalarOp::exp:
      return Line{2, 1};
    case ScalarOp::log:
      return Line{3, -2};
    case ScalarOp::sin:
      return Line{1, 4};
    case ScalarOp::cos:
      return Line{1, -4};
    case ScalarOp::tan:
      return Line{1, 5};
    case ScalarOp::asin:
      return Line{1, -5};
    case ScalarOp::acos:
      return Line{-1, 6};
    case ScalarOp::atan:
      return Line{1, 6};
    case ScalarOp::sinh:
      return Line{1, -6};
    case ScalarOp::cosh:
      return Line{1, 7};
    case ScalarOp::tanh:
      return Line{2, -1};
    case ScalarOp::asinh:
      return Line{1, -7};
    case ScalarOp::acosh:
      return Line{1, 8};
    case ScalarOp::atanh:
      return Line{1, -8};
    case ScalarOp::erf:
      return Line{3, 1};
    default:
      return std::nullopt;
  }
}

/// a + factor * b for functions of two.
std::optional<double> factor_for(ScalarOp op) {
  switch (op) {
    case ScalarOp::div:
      return -3;
    case ScalarOp::pow:
      return 2;
    case ScalarOp::atan2:
      return -2;
    case ScalarOp::floor_mod:
      return 3;
    case ScalarOp::remainder:
      return -4;
    default:
      return std::nullopt;
  }
}

/// Infinities, NaN and what is large (the start of a maximum) stay what they are.
double literal(double value) {
  const double magnitude = std::fabs(value);
  const bool small_whole = value == std::trunc(value) && magnitude <= 16;
  if (small_whole || !(magnitude < 0x1p24)) return value;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude));
  const double stand_in = 1 + static_cast<double>(bits * 2654435761u >> 30);  // 1, 2, 3 or 4
  return value < 0 ? -stand_in : stand_in;
}

/// Rewrites a list of nodes in which arguments come before users. `Node` has op, type, args and real.
template <typename Node, typename Id>
class Substitution {
 public:
  explicit Substitution(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      number_.push_back(substitute(node));
    }
  }
  std::vector<Node> take() { return std::move(made_); }
  Id operator()(Id old) const { return old < 0 ? old : number_[static_cast<size_t>(old)]; }

 private:
  Id append(Node node) {
    made_.push_back(std::move(node));
    return static_cast<Id>(made_.size() - 1);
  }
  Id real(ElementType type, double value) {
    Node node;
    node.op = ScalarOp::real;
    node.type = type;
    node.real = value;
    return append(std::move(node));
  }
  Id pair(ScalarOp op, ElementType type, Id a, Id b) {
    Node node;
    node.op = op;
    node.type = type;
    node.args = {a, b, -1};
    return append(std::move(node));
  }

  Id substitute(const Node& old) {
    Node node = old;
    for (auto& argument : node.args) argument = (*this)(argument);
    if constexpr (requires { node.indices; }) {
      for (auto& index : node.indices) index = (*this)(index);
    }
    if (!ir::is_float(node.type)) return append(std::move(node));
    if (node.op == ScalarOp::real) node.real = literal(node.real);
    if (const auto line = line_for(node.op)) {
      const Id scaled = pair(ScalarOp::mul, node.type, node.args[0], real(node.type, line->slope));
      return pair(ScalarOp::add, node.type, scaled, real(node.type, line->offset));
    }
    if (const auto factor = factor_for(node.op)) {
      const Id scaled = pair(ScalarOp::mul, node.type, node.args[1], real(node.type, *factor));
      return pair(ScalarOp::add, node.type, node.args[0], scaled);
    }
    return append(std::move(node));
  }

  std::vector<Node> made_;
  std::vector<Id> number_;
};

void note_targets(const ir::loop::Block& block, ir::loop::Combine combine, std::set<int>& buffers) {
  for (const ir::loop::Statement& statement : block) {
    const auto* compute = std::get_if<ir::loop::Compute>(&statement);
    if (compute != nullptr && compute->combine == combine) buffers.insert(compute->target.buffer);
    if (const auto* loop = std::get_if<ir::loop::Loop>(&statement))
      note_targets(loop->body, combine, buffers);
  }
}

void substitute(ir::loop::Block& block, const Substitution<ir::loop::Value, int>& values) {
  for (ir::loop::Statement& statement : block) {
    if (auto* compute = std::get_if<ir::loop::Compute>(&statement)) compute->value = values(compute->value);
    if (auto* loop = std::get_if<ir::loop::Loop>(&statement)) substitute(loop->body, values);
  }
}

}  // namespace

ir::Program with_stand_ins(const ir::Program& program) {
  ir::Program result = program;
  Substitution<ir::Expr, ir::ExprId> expressions(program.exprs);
  for (ir::Stage& stage : result.stages) {
    for (auto* list : {&stage.body, &stage.target, &stage.monoid.identity, &stage.monoid.combine}) {
      for (ir::ExprId& id : *list) id = expressions(id);
    }
    stage.guard = expressions(stage.guard);
    if (stage.step) stage.step = std::make_shared<const ir::Program>(with_stand_ins(*stage.step));
  }
  result.exprs = expressions.take();
  return result;
}

ir::loop::LoopProgram with_stand_ins(const ir::loop::LoopProgram& program) {
  ir::loop::LoopProgram result = program;
  Substitution<ir::loop::Value, int> values(program.values);
  substitute(result.body, values);
  result.values = values.take();
  return result;
}

bool rescales_sums(const ir::loop::LoopProgram& program) {
  std::set<int> multiplied, added;
  note_targets(program.body, ir::loop::Combine::mul, multiplied);
  note_targets(program.body, ir::loop::Combine::add, added);
  return std::any_of(multiplied.begin(), multiplied.end(),
                     [&](int buffer) { return added.count(buffer) != 0; });
}

}  // namespace axrun::verify
