#include "search/stage_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/grammar.h"
#include "ir/index_from_end.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;
using ir::loop::Access;

std::optional<Dim> index_at(const Program& program, ExprId id, const Dims& point) {
  const Expr& expr = program.exprs[static_cast<size_t>(id)];
  if (expr.type != ElementType::i64) return std::nullopt;
  switch (expr.op) {
    case ScalarOp::integer:
      return Dim(expr.integer);
    case ScalarOp::extent:
      return expr.dim;
    case ScalarOp::axis:
      return point[static_cast<size_t>(expr.integer)];
    case ScalarOp::neg:
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
    case ScalarOp::min:
    case ScalarOp::max:
      break;
    default:
      return std::nullopt;
  }
  const auto a = index_at(program, expr.args[0], point);
  if (!a) return std::nullopt;
  if (expr.op == ScalarOp::neg) return Dim(0) - *a;
  const auto b = index_at(program, expr.args[1], point);
  if (!b) return std::nullopt;
  switch (expr.op) {
    case ScalarOp::add:
      return *a + *b;
    case ScalarOp::sub:
      return *a - *b;
    case ScalarOp::mul:
      return *a * *b;
    case ScalarOp::min:
      return min(*a, *b);
    case ScalarOp::max:
      return max(*a, *b);
    default:
      break;
  }
  if (!b->is_constant() || b->value() <= 0) return std::nullopt;
  return expr.op == ScalarOp::floor_div ? floor_div(*a, *b) : floor_mod(*a, *b);
}

std::optional<LookedUp> looked_up_at(const Program& program, const Expr& load, size_t dimension,
                                     const Dims& point) {
  const auto is_operand = [&](int64_t tensor) {
    return std::find(program.operands.begin(), program.operands.end(), tensor) != program.operands.end();
  };
  // A table that is the same whatever the data.
  const auto is_fixed = [&](const ir::Stage& stage) {
    return stage.kind == ir::StageKind::map && stage.results[0] == load.integer &&
           loads_of(program, stage.body[0]).empty();
  };
  const bool is_table =
      is_operand(load.integer) || std::any_of(program.stages.begin(), program.stages.end(), is_fixed);
  const Dim& extent = program.tensors[static_cast<size_t>(load.integer)].dims[dimension];
  const auto found = ir::index_from_end(program, load.indices[dimension], extent);
  if (!found || load.args[0] != ir::none || extent == Dim(1) || !is_table) return std::nullopt;
  const Expr& read = program.exprs[static_cast<size_t>(*found)];
  if (!is_operand(read.integer)) return std::nullopt;
  LookedUp result{static_cast<ir::TensorId>(read.integer), {}};
  for (const ExprId index : read.indices) {
    const auto dim = index_at(program, index, point);
    if (!dim) return std::nullopt;
    result.indices.push_back(*dim);
  }
  return result;
}

std::set<int> axes_of(const Program& program, ExprId id) {
  std::set<int> axes;
  for (const ExprId reached : ir::reachable(program, {id})) {
    const Expr& expr = program.exprs[static_cast<size_t>(reached)];
    if (expr.op == ScalarOp::axis) axes.insert(static_cast<int>(expr.integer));
  }
  return axes;
}

std::vector<ExprId> loads_of(const Program& program, ExprId id) {
  std::vector<ExprId> loads;
  for (const ExprId reached : ir::reachable(program, {id})) {
    if (program.exprs[static_cast<size_t>(reached)].op == ScalarOp::load) loads.push_back(reached);
  }
  return loads;
}

Dims symbolic_point(const ir::Stage& stage) {
  Dims point;
  for (size_t k = 0; k < stage.axes.size() + stage.reduce_axes.size(); ++k) {
    point.push_back(Dim::symbol("a" + std::to_string(k)));
  }
  return point;
}

void StageValues::read_buffer(ir::TensorId tensor, int buffer) {
  read_at(tensor, [buffer](const Dims& indices) { return Access{buffer, indices}; });
}

Access StageValues::access(ir::TensorId tensor, const Dims& indices) const {
  const auto place = places_.find(tensor);
  AXRUN_ASSERT(place != places_.end());
  return place->second(indices);
}

std::optional<bool> StageValues::truth(ExprId id) const {
  const auto found = known_.find(id);
  if (found != known_.end()) return found->second;
  const Expr& expr = program_.exprs[static_cast<size_t>(id)];
  if (expr.op == ScalarOp::logical_not) {
    const auto a = truth(expr.args[0]);
    return a ? std::optional(!*a) : std::nullopt;
  }
  if (expr.op != ScalarOp::logical_and && expr.op != ScalarOp::logical_or) return std::nullopt;
  const auto a = truth(expr.args[0]), b = truth(expr.args[1]);
  const bool decisive = expr.op == ScalarOp::logical_or;  // either side decides when it has this value
  if (a == decisive || b == decisive) return decisive;
  return a && b ? std::optional(!decisive) : std::nullopt;
}

/// Products of what depends on axes stay products, as the expression has them: multiplied out, they would be
/// hard to recognise.
bool StageValues::multiplies_axes(ExprId id) const {
  for (const ExprId reached : ir::reachable(program_, {id})) {
    const Expr& expr = program_.exprs[static_cast<size_t>(reached)];
    if (expr.op == ScalarOp::mul && expr.type == ElementType::i64 &&
        !axes_of(program_, expr.args[0]).empty() && !axes_of(program_, expr.args[1]).empty())
      return true;
  }
  return false;
}

int StageValues::load(const Expr& expr, const Dims& point) {
  const auto guard = expr.args[0] == ir::none ? std::optional(true) : truth(expr.args[0]);
  if (guard == false) return value(expr.args[1], point);
  Dims indices;
  std::vector<ir::loop::Lookup> lookups;
  for (size_t d = 0; d < expr.indices.size(); ++d) {
    const auto dim = index_at(program_, expr.indices[d], point);
    indices.push_back(dim.value_or(Dim(0)));
    if (dim) continue;
    const auto found = looked_up_at(program_, expr, d, point);
    AXRUN_ASSERT(found);
    const Access from = access(found->tensor, found->indices);
    lookups.push_back({static_cast<int>(d), from.buffer, from.indices});
  }
  Access from = access(static_cast<ir::TensorId>(expr.integer), indices);
  from.lookups = std::move(lookups);
  if (guard == true) return writer_.load(from);
  return writer_.guarded(from, value(expr.args[0], point), value(expr.args[1], point));
}

int StageValues::value(ExprId id, const Dims& point) {
  const auto taken = taken_.find(id);
  if (taken != taken_.end()) return writer_.load(taken->second());
  const Expr& expr = program_.exprs[static_cast<size_t>(id)];
  if (!multiplies_axes(id)) {
    if (const auto dim = index_at(program_, id, point)) return writer_.index(*dim);
  }
  if (const auto known = truth(id)) return writer_.integer(*known ? 1 : 0, ElementType::boolean);
  switch (expr.op) {
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
      if (truth(expr.args[0])) return value(expr.args[1], point);
      if (truth(expr.args[1])) return value(expr.args[0], point);
      break;
    case ScalarOp::select:
      if (const auto condition = truth(expr.args[0])) return value(expr.args[*condition ? 1 : 2], point);
      break;
    case ScalarOp::real:
      return writer_.real(expr.real, expr.type);
    case ScalarOp::integer:
      return writer_.integer(expr.integer, expr.type);
    case ScalarOp::load:
      return load(expr, point);
    default:
      break;
  }
  const int count = ir::argument_count(expr.op);
  std::array<int, 3> args = {ir::none, ir::none, ir::none};
  for (int k = 0; k < count; ++k) {
    args[static_cast<size_t>(k)] = value(expr.args[static_cast<size_t>(k)], point);
  }
  if (count == 1) return writer_.operation(expr.op, expr.type, {args[0]});
  if (count == 2) return writer_.operation(expr.op, expr.type, {args[0], args[1]});
  return writer_.operation(expr.op, expr.type, {args[0], args[1], args[2]});
}

}  // namespace axrun::search
