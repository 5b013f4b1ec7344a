#include "verify/equality/meaning.h"

#include <algorithm>
#include <cmath>

#include "ir/arithmetic.h"
#include "ir/grammar.h"
#include "ir/index_from_end.h"
#include "verify/checks.h"
#include "verify/index_operation.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using ir::ElementType;
using ir::Expr;
using ir::ScalarOp;
using ir::Stage;

Meaning::Meaning(const ir::Program& program, const Names& sizes, Algebra& algebra)
    : program_(program), sizes_(sizes), algebra_(algebra) {
  operand_.assign(program.tensors.size(), ir::none);
  producer_.assign(program.tensors.size(), ir::none);
  for (size_t k = 0; k < program.operands.size(); ++k) {
    if (program.operands[k] != ir::none)
      operand_[static_cast<size_t>(program.operands[k])] = static_cast<int>(k);
  }
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    for (const ir::TensorId id : program.stages[stage].results)
      producer_[static_cast<size_t>(id)] = static_cast<int>(stage);
  }
}

Term Meaning::extent(const ir::Dim& dim) {
  return algebra_.simplified(term_of(algebra_.terms(), dim, sizes_));
}

TermList Meaning::dims(ir::TensorId tensor) {
  TermList list;
  for (const ir::Dim& dim : program_.tensors[static_cast<size_t>(tensor)].dims) list.push_back(extent(dim));
  return list;
}

int Meaning::keep(Need need) {
  const auto found = std::find(needs_.begin(), needs_.end(), need);
  if (found != needs_.end()) return static_cast<int>(found - needs_.begin());
  needs_.push_back(std::move(need));
  return static_cast<int>(needs_.size() - 1);
}

void Meaning::needs(Value& value, Need::Kind kind, const Sum& of) {
  const Algebra::Sign sign = algebra_.sign(of);
  if (sign == Algebra::Sign::positive) return;
  if (kind == Need::Kind::not_negative && sign == Algebra::Sign::not_negative) return;
  if (const Rational* constant = algebra_.constant(of)) {
    if (kind == Need::Kind::not_zero && *constant != 0) return;
    if (checks::on("equality.undefined")) throw Unproved{"an operation of a number that it has no value for"};
  }
  value.needs.insert(keep({kind, of, {}, {}}));
}

const Value& Meaning::element(ir::TensorId tensor, const TermList& coordinates) {
  const auto key = std::make_pair(tensor, coordinates);
  const auto found = elements_.find(key);
  if (found != elements_.end()) return found->second;
  return elements_[key] = made(tensor, coordinates);
}

Value Meaning::made(ir::TensorId tensor, const TermList& coordinates) {
  const auto at = static_cast<size_t>(tensor);
  const ElementType type = program_.tensors[at].type;
  if (operand_[at] != ir::none) {
    Atom load;
    load.kind = Atom::Kind::load;
    load.type = type;
    load.number = operand_[at];
    load.terms = coordinates;
    return {algebra_.of_atom(std::move(load)), false, false, {}};
  }
  const int number = producer_[at];
  const Stage& stage = program_.stages[static_cast<size_t>(number)];
  const auto result = static_cast<size_t>(std::find(stage.results.begin(), stage.results.end(), tensor) -
                                          stage.results.begin());
  const bool plain = stage.kind == ir::StageKind::map ||
                     (stage.kind == ir::StageKind::reduce && stage.monoid.kind != ir::Monoid::Kind::tuple);
  if (!plain) throw Unproved{"the stage " + stage.name + " is neither a map nor a plain reduction"};
  Place place{number, axes_of(stage, coordinates)};
  Value value = stage.kind == ir::StageKind::map ? this->value(stage.body[result], place)
                                                 : reduced(stage, result, std::move(place));
  return rounded(type, std::move(value));
}

Value Meaning::reduced(const Stage& stage, size_t result, Place place) {
  Terms& terms = algebra_.terms();
  TermList variables;
  for (const ir::Axis& axis : stage.reduce_axes) {
    const Term size = extent(axis.extent);
    if (size == terms.integer(1)) {
      place.axes.push_back(terms.integer(0));
      continue;
    }
    variables.push_back(algebra_.variable(axis.name, size));
    place.axes.push_back(variables.back());
  }
  Value value = this->value(stage.body[result], place);
  if (variables.empty()) return value;
  const bool real = ir::is_float(value.sum.type);
  switch (stage.monoid.kind) {
    case ir::Monoid::Kind::sum:
      if (value.up && value.down && checks::on("equality.infinities_cancel"))
        throw Unproved{"infinities may cancel in a sum"};
      value.sum = algebra_.over(variables, value.sum);
      return value;
    case ir::Monoid::Kind::max:
    case ir::Monoid::Kind::min: {
      const bool least = stage.monoid.kind == ir::Monoid::Kind::min;
      TermList domain;
      for (const Term v : variables) {
        const TermList& range = algebra_.range_of(v);
        domain.insert(domain.end(), range.begin(), range.end());
      }
      if (!real) {
        value.sum = algebra_.reduction(value.sum.type, stage.monoid.kind, {{variables, domain, value.sum}});
        return value;
      }
      value.sum =
          algebra_.maximum(value.sum.type, {{variables, domain, algebra_.scaled(value.sum, least ? -1 : 1)}});
      if (least) value.sum = algebra_.scaled(value.sum, -1);
      return value;
    }
    default: {
      TermList domain;
      for (const Term v : variables) {
        const TermList& range = algebra_.range_of(v);
        domain.insert(domain.end(), range.begin(), range.end());
      }
      if (value.up || value.down) throw Unproved{"a product of infinities"};
      value.sum = algebra_.reduction(value.sum.type, stage.monoid.kind, {{variables, domain, value.sum}});
      return value;
    }
  }
}

/// A dimension is the row-major merge of its group's axes.
TermList Meaning::axes_of(const Stage& stage, const TermList& coordinates) {
  Terms& terms = algebra_.terms();
  TermList axes(stage.axes.size());
  for (size_t d = 0; d < stage.groups.size(); ++d) {
    const std::vector<int>& group = stage.groups[d];
    Term rest = coordinates[d];
    for (size_t k = group.size(); k-- > 0;) {
      const auto axis = static_cast<size_t>(group[k]);
      if (k == 0) {
        axes[axis] = rest;
      } else {
        const Term size = extent(stage.axes[axis].extent);
        if (size == terms.integer(0)) throw Unproved{"an axis without elements"};
        axes[axis] = algebra_.simplified(terms.floor_mod(rest, size));
        rest = algebra_.simplified(terms.floor_div(rest, size));
      }
    }
  }
  return axes;
}

Value Meaning::value(ir::ExprId id, const Place& at) {
  const auto key = std::make_tuple(id, at.stage, at.axes);
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  algebra_.solver().check_time();
  const Expr& e = program_.exprs[static_cast<size_t>(id)];
  Value value;
  if (e.op == ScalarOp::real) {
    if (std::isnan(e.real)) throw Unproved{"a literal that is no number"};
    if (std::isinf(e.real)) {
      value = {algebra_.infinity(e.type, e.real > 0), e.real > 0, e.real < 0, {}};
    } else {
      value.sum = algebra_.number(e.type, Rational(e.real));
    }
  } else if (const auto term = index(id, at)) {
    value.sum = algebra_.terms().is_boolean(*term) ? algebra_.truth(*term) : algebra_.integer(e.type, *term);
  } else if (e.op == ScalarOp::integer) {
    value.sum = algebra_.number(e.type, Rational(mpz_class(static_cast<long>(e.integer))));
  } else if (e.op == ScalarOp::time || e.op == ScalarOp::parameter) {
    throw Unproved{"the expression has tuples"};
  } else if (e.op == ScalarOp::load) {
    value = read(e, at);
  } else {
    value = evaluated(e, at);
  }
  return values_[key] = value;
}

Value Meaning::read(const Expr& e, const Place& at) {
  const auto tensor = static_cast<ir::TensorId>(e.integer);
  TermList coordinates;
  for (const ir::ExprId id : e.indices) {
    auto coordinate = index(id, at);
    const ir::Dims& dims = program_.tensors[static_cast<size_t>(tensor)].dims;
    if (!coordinate && e.args[0] == ir::none) coordinate = lookup(id, dims[coordinates.size()], at);
    if (!coordinate) throw Unproved{"an index depends on data"};
    coordinates.push_back(*coordinate);
  }
  if (e.args[0] == ir::none) return element(tensor, coordinates);
  const auto guard = index(e.args[0], at);
  if (!guard) throw Unproved{"a guard depends on data"};
  const TermList facts = algebra_.facts_about({*guard});
  if (algebra_.implied(facts, *guard)) return element(tensor, coordinates);
  if (algebra_.implied(facts, algebra_.terms().negation(*guard))) return value(e.args[1], at);
  return chosen(*guard, element(tensor, coordinates), value(e.args[1], at));
}

Value Meaning::chosen(Term condition, const Value& then, const Value& otherwise) {
  const Term other = algebra_.terms().negation(condition);
  Value result;
  result.sum = algebra_.add(algebra_.guarded(then.sum, condition), algebra_.guarded(otherwise.sum, other));
  result.up = then.up || otherwise.up;
  result.down = then.down || otherwise.down;
  for (const Value* side : {&then, &otherwise}) {
    for (const int id : side->needs) {
      Need need = needs_[static_cast<size_t>(id)];
      need.conditions.push_back(side == &then ? condition : other);
      result.needs.insert(keep(std::move(need)));
    }
  }
  return result;
}

std::optional<Term> Meaning::index(ir::ExprId id, const Place& at) {
  Terms& terms = algebra_.terms();
  const Expr& e = program_.exprs[static_cast<size_t>(id)];
  if (e.op == ScalarOp::integer && e.type == ElementType::i64) return terms.integer(e.integer);
  if (e.op == ScalarOp::integer && e.type == ElementType::boolean) return terms.truth(e.integer != 0);
  if (e.op == ScalarOp::extent) return extent(e.dim);
  if (e.op == ScalarOp::axis) return at.axes.at(static_cast<size_t>(e.integer));
  if (e.op < ScalarOp::select) return std::nullopt;  // the other leaves
  if (e.type != ElementType::i64 && e.type != ElementType::boolean) return std::nullopt;
  TermList args;
  for (int k = 0; k < ir::argument_count(e.op); ++k) {
    const auto argument = index(e.args[static_cast<size_t>(k)], at);
    if (!argument) return std::nullopt;
    args.push_back(*argument);
  }
  const ElementType of = program_.exprs[static_cast<size_t>(e.args[0])].type;
  if (e.op == ScalarOp::cast || e.op == ScalarOp::cast_saturate)
    return of == e.type ? std::optional(args[0]) : std::nullopt;
  if (e.op == ScalarOp::select) {
    if (e.type == ElementType::i64) return algebra_.simplified(terms.choose(args[0], args[1], args[2]));
    return std::nullopt;
  }
  const bool divides = e.op == ScalarOp::floor_div || e.op == ScalarOp::floor_mod;
  if (divides && of == ElementType::i64 && !terms.is_literal(args[1])) {
    // By a size, which is positive.
    const Term positive = terms.at_least(args[1], terms.integer(1));
    if (!algebra_.implied(algebra_.facts_about({positive}), positive)) return std::nullopt;
    const bool quotient = e.op == ScalarOp::floor_div;
    return algebra_.simplified(quotient ? terms.floor_div(args[0], args[1])
                                        : terms.floor_mod(args[0], args[1]));
  }
  const auto made = index_operation(terms, e.op, of, args);
  return made ? std::optional(algebra_.simplified(*made)) : std::nullopt;
}

/// As in ExpressionValues: an index that counts from the end where it is negative.
std::optional<Term> Meaning::lookup(ir::ExprId id, const ir::Dim& size, const Place& at) {
  const auto found = ir::index_from_end(program_, id, size);
  if (!found) return std::nullopt;
  const Expr& load = program_.exprs[static_cast<size_t>(*found)];
  const int input = operand_[static_cast<size_t>(load.integer)];
  if (input == ir::none) return std::nullopt;
  TermList element;
  for (const ir::ExprId index : load.indices) {
    const auto coordinate = this->index(index, at);
    if (!coordinate) return std::nullopt;
    element.push_back(*coordinate);
  }
  return algebra_.terms().lookup(input, extent(size), element);
}

void Meaning::require_reads_inside() {
  Terms& terms = algebra_.terms();
  for (size_t number = 0; number < program_.stages.size(); ++number) {
    const Stage& stage = program_.stages[number];
    if (stage.kind != ir::StageKind::map && stage.kind != ir::StageKind::reduce)
      throw Unproved{"the stage " + stage.name + " is neither a map nor a plain reduction"};
    Place place{static_cast<int>(number), {}};
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const ir::Axis& axis : *axes) {
        const Term size = extent(axis.extent);
        place.axes.push_back(size == terms.integer(1) ? terms.integer(0)
                                                      : algebra_.variable(axis.name, size));
      }
    }
    TermList everywhere;
    for (const Term axis : place.axes) {
      const TermList& range = algebra_.range_of(axis);
      everywhere.insert(everywhere.end(), range.begin(), range.end());
    }
    for (const ir::ExprId id : ir::reachable(program_, stage.body)) {
      const Expr& e = program_.exprs[static_cast<size_t>(id)];
      if (e.op != ScalarOp::load) continue;
      TermList facts = algebra_.facts_about({});
      facts.insert(facts.end(), everywhere.begin(), everywhere.end());
      if (e.args[0] != ir::none) {
        const auto guard = index(e.args[0], place);
        if (guard) facts.push_back(*guard);
      }
      const TermList sizes = dims(static_cast<ir::TensorId>(e.integer));
      for (size_t d = 0; d < e.indices.size(); ++d) {
        const auto at = index(e.indices[d], place);
        if (!at) continue;  // of data: what leads outside is the user's mistake, on both sides
        const Term inside = terms.all({terms.at_least(*at, terms.integer(0)), terms.less(*at, sizes[d])});
        if (!algebra_.implied(facts, inside))
          throw Unproved{"the stage " + stage.name + " perhaps reads what is not there"};
      }
    }
  }
}

}  // namespace axrun::verify::equality
