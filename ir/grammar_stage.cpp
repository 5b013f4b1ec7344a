// Rules about single stages.
#include <algorithm>
#include <set>

#include "ir/grammar.h"
#include "ir/opaque.h"

namespace axrun::ir {
namespace {

using Answer = GrammarRule::Answer;

Answer fail_if(bool wrong, const std::string& text) { return wrong ? Answer(text) : std::nullopt; }
const TensorDecl& tensor(const GrammarContext& c, TensorId id) {
  return c.program.tensors[static_cast<size_t>(id)];
}
const Expr& expr(const GrammarContext& c, ExprId id) { return c.program.exprs[static_cast<size_t>(id)]; }
std::string name(ElementType type) { return std::string(name_of(type)); }
std::string number(size_t value) { return std::to_string(value); }
std::string described(const TensorDecl& t) { return name(t.type) + to_string(t.dims); }
bool is_map_or_reduce(const Stage& s) { return s.kind == StageKind::map || s.kind == StageKind::reduce; }
bool is_tuple(const Stage& s) { return s.kind == StageKind::reduce && s.monoid.kind == Monoid::Kind::tuple; }

/// The expressions evaluated at points of the stage's space.
std::vector<ExprId> roots_of(const Stage& s) {
  std::vector<ExprId> roots = s.body;
  roots.insert(roots.end(), s.target.begin(), s.target.end());
  if (s.guard != none) roots.push_back(s.guard);
  return roots;
}

Answer tensors_in_range(const GrammarContext& c, const Stage& s) {
  const auto count = static_cast<TensorId>(c.program.tensors.size());
  auto known = [count](TensorId id) { return id >= 0 && id < count; };
  for (const auto* list : {&s.results, &s.captures, &s.initial}) {
    for (TensorId id : *list) {
      if (!known(id)) return "there is no tensor " + std::to_string(id);
    }
  }
  for (TensorId id : s.arguments) {
    if (id != none && !known(id)) return "there is no tensor " + std::to_string(id);
  }
  return fail_if(s.base != none && !known(s.base), "there is no tensor " + std::to_string(s.base));
}

Answer expressions_in_range(const GrammarContext& c, const Stage& s) {
  const auto count = static_cast<ExprId>(c.program.exprs.size());
  std::vector<ExprId> ids = roots_of(s);
  ids.insert(ids.end(), s.monoid.identity.begin(), s.monoid.identity.end());
  ids.insert(ids.end(), s.monoid.combine.begin(), s.monoid.combine.end());
  for (ExprId id : ids) {
    if (id < 0 || id >= count) return "there is no expression " + std::to_string(id);
  }
  return std::nullopt;
}

/// Members that the kind of the stage does not use are as they were made.
Answer unused_members(const GrammarContext&, const Stage& s) {
  const bool scatter = s.kind == StageKind::scatter;
  const bool space = is_map_or_reduce(s) || scatter;
  const bool scan = s.kind == StageKind::scan;
  const bool opaque = s.kind == StageKind::opaque;
  if (!space && (!s.axes.empty() || !s.body.empty())) return "has axes or a body";
  if (!is_map_or_reduce(s) && !s.groups.empty()) return "has groups";
  if (s.kind != StageKind::reduce && !s.reduce_axes.empty()) return "has reduce axes";
  if (!is_tuple(s) && (!s.monoid.identity.empty() || !s.monoid.combine.empty()))
    return "has the members of a tuple";
  if (!scatter && (s.base != none || !s.target.empty() || s.guard != none))
    return "has the members of a scatter";
  if (!scan && (s.step || !s.captures.empty() || !s.initial.empty())) return "has the members of a scan";
  return fail_if(!opaque && (!s.function.empty() || !s.arguments.empty() || s.payload),
                 "has the members of an opaque stage");
}

Answer result_count(const GrammarContext&, const Stage& s) {
  if (s.results.empty()) return "has no result";
  if (s.kind == StageKind::scatter)
    return fail_if(s.results.size() != 1 || s.body.size() != 1, "a scatter has one result and one value");
  if (s.kind == StageKind::reduce && !is_tuple(s) && s.results.size() != 1)
    return "this monoid has one component";
  return fail_if(is_map_or_reduce(s) && s.body.size() != s.results.size(),
                 number(s.body.size()) + " values for " + number(s.results.size()) + " results");
}

Answer axes_named(const GrammarContext&, const Stage& s) {
  std::set<std::string> names;
  for (const auto* axes : {&s.axes, &s.reduce_axes}) {
    for (const Axis& axis : *axes) {
      if (axis.name.empty() || !names.insert(axis.name).second) return "axis name '" + axis.name + "'";
    }
  }
  return std::nullopt;
}

Answer extents_not_negative(const GrammarContext&, const Stage& s) {
  auto negative = [](const Dim& dim) { return dim.constant() && *dim.constant() < 0; };
  for (const auto* axes : {&s.axes, &s.reduce_axes}) {
    for (const Axis& axis : *axes) {
      if (negative(axis.extent)) return "axis '" + axis.name + "' has extent " + axis.extent.to_string();
    }
  }
  return fail_if(negative(s.length), "the length is " + s.length.to_string());
}

Answer groups_in_order(const GrammarContext&, const Stage& s) {
  if (!is_map_or_reduce(s)) return std::nullopt;
  int next = 0;
  for (const auto& group : s.groups) {
    for (int axis : group) {
      if (axis != next++)
        return "the groups have axis " + std::to_string(axis) + " where " + std::to_string(next - 1) +
               " is next";
    }
  }
  return fail_if(next != static_cast<int>(s.axes.size()), "the groups leave axes out");
}

Answer result_dims(const GrammarContext& c, const Stage& s) {
  if (!is_map_or_reduce(s) || groups_in_order(c, s)) return std::nullopt;
  for (TensorId id : s.results) {
    const TensorDecl& result = tensor(c, id);
    Dims dims;
    for (const auto& group : s.groups) {
      Dim extent = 1;
      for (int axis : group) extent = extent * s.axes[static_cast<size_t>(axis)].extent;
      dims.push_back(extent);
    }
    if (dims != result.dims)
      return "the axes give " + to_string(dims) + " for '" + result.name + "' of " + to_string(result.dims);
  }
  return std::nullopt;
}

Answer body_types(const GrammarContext& c, const Stage& s) {
  for (size_t k = 0; k < std::min(s.body.size(), s.results.size()); ++k) {
    const TensorDecl& result = tensor(c, s.results[k]);
    const ElementType type = expr(c, s.body[k]).type;
    if (type != result.type)
      return "a value of type " + name(type) + " for '" + result.name + "' of type " + name(result.type);
  }
  return std::nullopt;
}

Answer axis_range(const GrammarContext& c, const Stage& s) {
  const auto axes = static_cast<int64_t>(s.axes.size() + s.reduce_axes.size());
  for (ExprId id : reachable(c.program, roots_of(s))) {
    const Expr& e = expr(c, id);
    if (e.op == ScalarOp::axis && (e.integer < 0 || e.integer >= axes)) {
      return "axis " + std::to_string(e.integer) + " of " + std::to_string(axes);
    }
  }
  return std::nullopt;
}

Answer time_place(const GrammarContext& c, const Stage& s) {
  if (c.depth > 0) return std::nullopt;
  for (ExprId id : reachable(c.program, roots_of(s))) {
    if (expr(c, id).op == ScalarOp::time) return "time outside a scan";
  }
  return std::nullopt;
}

Answer parameter_place(const GrammarContext& c, const Stage& s) {
  for (ExprId id : reachable(c.program, roots_of(s))) {
    if (expr(c, id).op == ScalarOp::parameter) return "a parameter outside a monoid";
  }
  return std::nullopt;
}

Answer monoid_type(const GrammarContext& c, const Stage& s) {
  if (s.kind != StageKind::reduce || is_tuple(s) || s.body.empty()) return std::nullopt;
  const ElementType type = expr(c, s.body[0]).type;
  const bool ordered = s.monoid.kind == Monoid::Kind::min || s.monoid.kind == Monoid::Kind::max;
  const bool right = is_float(type) || is_integer(type) || (ordered && type == ElementType::boolean);
  return fail_if(!right, "this monoid has no values of type " + name(type));
}

Answer tuple_shape(const GrammarContext& c, const Stage& s) {
  if (!is_tuple(s)) return std::nullopt;
  const Monoid& m = s.monoid;
  if (m.identity.size() != s.body.size() || m.combine.size() != s.body.size()) {
    return number(s.body.size()) + " components, " + number(m.identity.size()) + " of the identity, " +
           number(m.combine.size()) + " combined";
  }
  for (size_t k = 0; k < s.body.size(); ++k) {
    const ElementType type = expr(c, s.body[k]).type;
    if (type == ElementType::string || expr(c, m.identity[k]).type != type ||
        expr(c, m.combine[k]).type != type) {
      return "component " + number(k) + " is " + name(type) + ", its identity " +
             name(expr(c, m.identity[k]).type) + ", combined " + name(expr(c, m.combine[k]).type);
    }
  }
  return std::nullopt;
}

/// combine sees the two tuples only, identity nothing at all.
Answer tuple_closed(const GrammarContext& c, const Stage& s) {
  if (!is_tuple(s)) return std::nullopt;
  auto open = [](ScalarOp op) {
    return op == ScalarOp::load || op == ScalarOp::axis || op == ScalarOp::time;
  };
  for (ExprId id : reachable(c.program, s.monoid.identity)) {
    if (open(expr(c, id).op) || expr(c, id).op == ScalarOp::parameter) return "the identity is not constant";
  }
  for (ExprId id : reachable(c.program, s.monoid.combine)) {
    const Expr& e = expr(c, id);
    if (open(e.op)) return "combine reads more than the two tuples";
    if (e.op != ScalarOp::parameter) continue;
    const auto components = static_cast<int64_t>(s.body.size());
    if (e.integer < 0 || e.integer >= 2 * components)
      return "there is no parameter " + std::to_string(e.integer);
    if (e.type != expr(c, s.body[static_cast<size_t>(e.integer % components)]).type) {
      return "parameter " + std::to_string(e.integer) + " is not " + name(e.type);
    }
  }
  return std::nullopt;
}

Answer scatter_base(const GrammarContext& c, const Stage& s) {
  if (s.kind != StageKind::scatter) return std::nullopt;
  if (s.base == none) return "has no base";
  const TensorDecl& base = tensor(c, s.base);
  const TensorDecl& result = tensor(c, s.results[0]);
  return fail_if(base.type != result.type || base.dims != result.dims,
                 described(base) + " becomes " + described(result));
}

Answer scatter_target(const GrammarContext& c, const Stage& s) {
  if (s.kind != StageKind::scatter) return std::nullopt;
  const size_t rank = tensor(c, s.results[0]).dims.size();
  if (s.target.size() != rank) return number(s.target.size()) + " target indices for rank " + number(rank);
  for (ExprId id : s.target) {
    if (expr(c, id).type != ElementType::i64) return "a target index has type " + name(expr(c, id).type);
  }
  return fail_if(s.guard != none && expr(c, s.guard).type != ElementType::boolean,
                 "the guard is not boolean");
}

Answer scatter_combine(const GrammarContext& c, const Stage& s) {
  if (s.kind != StageKind::scatter || s.combine == ScatterCombine::assign) return std::nullopt;
  const ElementType type = tensor(c, s.results[0]).type;
  const bool ordered = s.combine == ScatterCombine::min || s.combine == ScatterCombine::max;
  const bool right = is_float(type) || is_integer(type) || (ordered && type == ElementType::boolean);
  return fail_if(!right, "values of type " + name(type) + " cannot be combined so");
}

Answer scan_operands(const GrammarContext& c, const Stage& s) {
  if (s.kind != StageKind::scan) return std::nullopt;
  if (!s.step) return "has no step";
  const Program& step = *s.step;
  std::vector<TensorId> given = s.captures;
  given.insert(given.end(), s.initial.begin(), s.initial.end());
  if (step.operands.size() != given.size())
    return "the step has " + number(step.operands.size()) + " operands for " + number(given.size()) +
           " tensors";
  for (size_t k = 0; k < given.size(); ++k) {
    const TensorId id = step.operands[k];
    if (id == none) continue;
    if (id < 0 || static_cast<size_t>(id) >= step.tensors.size())
      return "operand " + number(k) + " of the step is not a tensor";
    const TensorDecl& inner = step.tensors[static_cast<size_t>(id)];
    const TensorDecl& outer = tensor(c, given[k]);
    if (inner.type != outer.type || inner.dims != outer.dims)
      return "operand '" + inner.name + "' of the step is " + described(inner) + ", not " + described(outer);
  }
  return std::nullopt;
}

Answer scan_results(const GrammarContext& c, const Stage& s) {
  if (s.kind != StageKind::scan || !s.step) return std::nullopt;
  const Program& step = *s.step;
  if (step.outputs.size() != s.results.size() || s.results.size() < s.initial.size()) {
    return "the step has " + number(step.outputs.size()) + " outputs for " + number(s.results.size()) +
           " results and " + number(s.initial.size()) + " states";
  }
  for (size_t k = 0; k < s.results.size(); ++k) {
    const TensorId id = step.outputs[k];
    if (id < 0 || static_cast<size_t>(id) >= step.tensors.size())
      return "output " + number(k) + " of the step is not a tensor";
    const TensorDecl& inner = step.tensors[static_cast<size_t>(id)];
    const TensorDecl& result = tensor(c, s.results[k]);
    TensorDecl expected = inner;
    if (k >= s.initial.size()) expected.dims.insert(expected.dims.begin(), s.length);
    bool right = expected.type == result.type && expected.dims == result.dims;
    if (k < s.initial.size()) {
      const TensorDecl& initial = tensor(c, s.initial[k]);
      right = right && initial.type == result.type && initial.dims == result.dims;
    }
    if (!right)
      return "'" + result.name + "' is " + described(result) + ", the step gives " + described(expected);
  }
  return std::nullopt;
}

Answer scan_depth(const GrammarContext& c, const Stage& s) {
  return fail_if(s.kind == StageKind::scan && c.depth == deepest_scan, "scans are nested too deeply");
}

Answer opaque_known(const GrammarContext&, const Stage& s) {
  return fail_if(s.kind == StageKind::opaque && !find_opaque(s.function),
                 "there is no opaque function '" + s.function + "'");
}

GrammarRule rule(std::string_view id, std::string_view description, int layer,
                 Answer (*check)(const GrammarContext&, const Stage&)) {
  GrammarRule row;
  row.id = id;
  row.description = description;
  row.layer = layer;
  row.stage = check;
  return row;
}

}  // namespace

void stage_rules(std::vector<GrammarRule>& rules) {
  rules.insert(
      rules.end(),
      {
          rule("stage-tensors", "stages name tensors of the program", 1, tensors_in_range),
          rule("stage-expressions", "stages name expressions of the program", 1, expressions_in_range),
          rule("stage-members", "a stage has only the members of its kind", 1, unused_members),
          rule("result-count",
               "map and reduce have one value per result, a scatter and a plain monoid exactly one", 1,
               result_count),
          rule("axis-names", "the axes of a stage have different names", 2, axes_named),
          rule("axis-extents", "no extent is negative", 2, extents_not_negative),
          rule("groups-in-order", "the groups have every axis once, in order", 2, groups_in_order),
          rule("result-dims", "every dimension of a result is the product of its group's extents", 2,
               result_dims),
          rule("body-types", "values have the type of their result", 2, body_types),
          rule("axis-range", "expressions use axes that the stage has", 2, axis_range),
          rule("time-in-scan", "time occurs in steps of scans only", 2, time_place),
          rule("parameter-in-monoid", "parameters occur in a monoid's combine only", 2, parameter_place),
          rule("monoid-type", "sum and product are of numbers, min and max of numbers or booleans", 2,
               monoid_type),
          rule("tuple-components", "identity and combine have the components of the tuple, and their types",
               2, tuple_shape),
          rule("tuple-closed", "combine reads the two tuples only, identity nothing", 2, tuple_closed),
          rule("scatter-base", "a scatter has a base of its result's type and dims", 2, scatter_base),
          rule("scatter-target", "a target has one i64 index per dimension; a guard is boolean", 2,
               scatter_target),
          rule("scatter-combine", "only numbers are added or multiplied, only they and booleans ordered", 2,
               scatter_combine),
          rule("scan-operands",
               "the step's operands are the captures and the states, of the same types and dims", 2,
               scan_operands),
          rule("scan-results", "the step gives every state as it was, then what is stacked", 2, scan_results),
          rule("scan-depth", "scans are nested at most 16 deep", 2, scan_depth),
          rule("opaque-function", "an opaque stage names a function of the closed list", 2, opaque_known),
      });
}

}  // namespace axrun::ir
