#include "verify/expression_values.h"

#include <algorithm>

#include "ir/arithmetic.h"
#include "ir/index_from_end.h"
#include "verify/index_operation.h"
#include "verify/unproved.h"

namespace axrun::verify {

using ir::ElementType;
using ir::Expr;
using ir::ScalarOp;
using ir::Stage;

class ExpressionValues::Element final : public Symbolic {
 public:
  Element(ExpressionValues& values, ir::TensorId tensor, TermList coordinates)
      : values_(values), tensor_(tensor), coordinates_(std::move(coordinates)) {}

 private:
  ValueHead unfold(const TermList& facts) override {
    const auto at = static_cast<size_t>(tensor_);
    ValueHead head;
    head.type = values_.expression_.tensors[at].type;
    if (values_.inputs_[at] != ir::none) {
      head.kind = ValueHead::Kind::input;
      head.input = values_.inputs_[at];
      head.terms = coordinates_;
      const auto merged = values_.merged_.find(tensor_);
      if (merged != values_.merged_.end()) head.terms = merged->second.merge(values_.terms_, coordinates_);
      return head;
    }
    if (const auto bound = values_.bound_.find(tensor_); bound != values_.bound_.end())
      return *bound->second(coordinates_)->head(facts);
    const int number = values_.producer_[at];
    const Stage& stage = values_.expression_.stages[static_cast<size_t>(number)];
    const auto result = static_cast<size_t>(std::find(stage.results.begin(), stage.results.end(), tensor_) -
                                            stage.results.begin());
    if (stage.kind == ir::StageKind::scan) return *values_.of_scan(number, result, coordinates_)->head(facts);
    const bool plain = stage.kind == ir::StageKind::map ||
                       (stage.kind == ir::StageKind::reduce && stage.monoid.kind != ir::Monoid::Kind::tuple);
    if (!plain) throw Unproved{"the stage " + stage.name + " is neither a map nor a plain reduction"};
    Place place{number, values_.axes_of(stage, coordinates_)};
    if (stage.kind == ir::StageKind::map) return *values_.value(stage.body[result], place)->head(facts);

    Terms& terms = values_.terms_;
    Part part;
    for (const ir::Axis& axis : stage.reduce_axes) {
      const Term extent = term_of(terms, axis.extent, values_.sizes_);
      if (extent == terms.integer(1)) {
        place.axes.push_back(terms.integer(0));
        continue;
      }
      const Term variable = terms.variable(axis.name, terms.magnitude(extent));
      part.variables.push_back(variable);
      part.steps.push_back(1);
      part.domain.push_back(terms.at_least(variable, terms.integer(0)));
      part.domain.push_back(terms.less(variable, extent));
      place.axes.push_back(variable);
    }
    if (values_.time_) part.claim.point.push_back(*values_.time_);
    part.claim.stage = stage.name;
    part.claim.point.insert(part.claim.point.end(), place.axes.begin(), place.axes.end());
    part.body = values_.value(stage.body[result], place);
    if (part.variables.empty()) return *part.body->head(facts);  // of a single value
    head.kind = ValueHead::Kind::reduction;
    head.monoid = stage.monoid.kind;
    head.parts.push_back(std::move(part));
    return head;
  }

  ExpressionValues& values_;
  ir::TensorId tensor_;
  TermList coordinates_;
};

class ExpressionValues::Evaluated final : public Symbolic {
 public:
  Evaluated(ExpressionValues& values, ir::ExprId id, Place at)
      : values_(values), id_(id), at_(std::move(at)) {}

 private:
  ValueHead cases(Term condition, Symbolic* then, Symbolic* otherwise) {
    ValueHead head;
    head.kind = ValueHead::Kind::cases;
    head.terms = {condition, values_.terms_.negation(condition)};
    head.arguments = {then, otherwise};
    return head;
  }

  ValueHead unfold(const TermList& facts) override {
    Terms& terms = values_.terms_;
    const Expr& e = values_.expression_.exprs[static_cast<size_t>(id_)];
    const auto argument = [&](int k) { return values_.value(e.args[static_cast<size_t>(k)], at_); };
    if (e.op == ScalarOp::real) return real_head(e.type, e.real);
    if (const auto term = values_.index(id_, at_)) {
      ValueHead head = integer_head(e.type, *term);
      if (terms.is_boolean(*term)) head.kind = ValueHead::Kind::condition;
      return head;
    }
    if (e.op == ScalarOp::integer) return integer_head(e.type, terms.integer(e.integer));
    if (e.op == ScalarOp::time || e.op == ScalarOp::parameter) throw Unproved{"the expression has tuples"};
    if (e.op == ScalarOp::load) {
      TermList coordinates;
      for (const ir::ExprId index : e.indices) {
        auto coordinate = values_.index(index, at_);
        if (!coordinate && e.args[0] == ir::none) {
          const ir::Dims& dims = values_.expression_.tensors[static_cast<size_t>(e.integer)].dims;
          coordinate = values_.lookup(index, dims[coordinates.size()], at_);
        }
        if (!coordinate) throw Unproved{"an index of the expression depends on data"};
        coordinates.push_back(*coordinate);
      }
      Symbolic* read = values_.element(static_cast<ir::TensorId>(e.integer), coordinates);
      if (e.args[0] == ir::none) return *read->head(facts);
      const auto guard = values_.index(e.args[0], at_);
      if (!guard) throw Unproved{"a guard of the expression depends on data"};
      return cases(*guard, read, argument(1));
    }
    if (e.op == ScalarOp::select) {
      if (const auto condition = values_.index(e.args[0], at_))
        return cases(*condition, argument(1), argument(2));
    }
    if (e.op == ScalarOp::cast || e.op == ScalarOp::cast_saturate) {
      const ElementType from = values_.expression_.exprs[static_cast<size_t>(e.args[0])].type;
      return cast_head(terms, e.op, e.type, from, argument(0), facts);
    }
    ValueHead head;
    head.op = e.op;
    head.type = e.type;
    for (int k = 0; k < 3 && e.args[static_cast<size_t>(k)] != ir::none; ++k)
      head.arguments.push_back(argument(k));
    return head;
  }

  ExpressionValues& values_;
  ir::ExprId id_;
  Place at_;
};

class ExpressionValues::State final : public Symbolic {
 public:
  State(std::shared_ptr<const Recurrence> recurrence, ElementType type, TermList at)
      : recurrence_(std::move(recurrence)), type_(type), at_(std::move(at)) {}

 private:
  ValueHead unfold(const TermList&) override {
    ValueHead head;
    head.kind = ValueHead::Kind::carried;
    head.type = type_;
    head.terms = at_;
    head.recurrence = recurrence_;
    return head;
  }

  std::shared_ptr<const Recurrence> recurrence_;
  ElementType type_;
  TermList at_;
};

/// The initial state, or what the step before gives.
class ExpressionValues::StateValue final : public Symbolic {
 public:
  StateValue(ExpressionValues& values, int stage, size_t number, TermList at)
      : values_(values), stage_(stage), number_(number), at_(std::move(at)) {}

 private:
  ValueHead unfold(const TermList&) override {
    Terms& terms = values_.terms_;
    const Stage& stage = values_.expression_.stages[static_cast<size_t>(stage_)];
    const TermList coordinates(at_.begin() + 1, at_.end());
    const Term first = terms.equal(at_[0], terms.integer(0));
    ExpressionValues& before = values_.step(stage_, terms.subtract(at_[0], terms.integer(1)));
    ValueHead head;
    head.kind = ValueHead::Kind::cases;
    head.terms = {first, terms.negation(first)};
    head.arguments = {values_.element(stage.initial[number_], coordinates),
                      before.element(stage.step->outputs[number_], coordinates)};
    return head;
  }

  ExpressionValues& values_;
  int stage_;
  size_t number_;
  TermList at_;
};

ExpressionValues::ExpressionValues(const ir::Program& expression, const Names& sizes, Terms& terms)
    : expression_(expression), sizes_(sizes), terms_(terms) {
  inputs_.assign(expression.tensors.size(), ir::none);
  producer_.assign(expression.tensors.size(), ir::none);
  int next = 0;
  for (const ir::TensorId id : expression.operands) {
    if (id != ir::none) inputs_[static_cast<size_t>(id)] = next++;
  }
  for (size_t stage = 0; stage < expression.stages.size(); ++stage) {
    for (const ir::TensorId id : expression.stages[stage].results)
      producer_[static_cast<size_t>(id)] = static_cast<int>(stage);
  }
}

ExpressionValues::ExpressionValues(const ir::Program& expression, const Names& sizes, Terms& terms,
                                   std::map<ir::TensorId, MergedDims> merged)
    : ExpressionValues(expression, sizes, terms) {
  merged_ = std::move(merged);
  for (size_t position = 0; position < expression.operands.size(); ++position) {
    const ir::TensorId id = expression.operands[position];
    if (id != ir::none) inputs_[static_cast<size_t>(id)] = static_cast<int>(position);
  }
}

ExpressionValues::ExpressionValues(const ir::Program& step, const Names& sizes, Terms& terms, Term time,
                                   const std::vector<Operand>& operands)
    : ExpressionValues(step, sizes, terms) {
  time_ = time;
  for (size_t position = 0; position < step.operands.size(); ++position) {
    const ir::TensorId id = step.operands[position];
    if (id == ir::none) continue;
    inputs_[static_cast<size_t>(id)] = ir::none;
    bound_[id] = operands.at(position);
  }
}

/// Operands of the step: captures, which are elements here, and the states at its time.
ExpressionValues& ExpressionValues::step(int number, Term time) {
  std::unique_ptr<ExpressionValues>& made = steps_[{number, time}];
  if (made) return *made;
  const Stage& stage = expression_.stages[static_cast<size_t>(number)];
  std::vector<Operand> operands;
  for (const ir::TensorId id : stage.captures)
    operands.push_back([this, id](const TermList& coordinates) { return element(id, coordinates); });
  for (size_t k = 0; k < stage.initial.size(); ++k) {
    operands.push_back([this, number, k, time](const TermList& coordinates) {
      TermList at = {time};
      at.insert(at.end(), coordinates.begin(), coordinates.end());
      return state(number, k, at);
    });
  }
  made.reset(new ExpressionValues(*stage.step, sizes_, terms_, time, operands));
  return *made;
}

Symbolic* ExpressionValues::state(int number, size_t k, const TermList& at) {
  const Stage& stage = expression_.stages[static_cast<size_t>(number)];
  const ir::TensorDecl& tensor = expression_.tensors[static_cast<size_t>(stage.initial[k])];
  std::shared_ptr<const Recurrence>& known = recurrences_[{number, k}];
  if (!known) {
    Recurrence made;
    made.number = static_cast<int>(recurrences_.size());
    made.order = number;
    made.extents = {terms_.add(term_of(terms_, stage.length, sizes_), terms_.integer(1))};
    for (const ir::Dim& dim : tensor.dims) made.extents.push_back(term_of(terms_, dim, sizes_));
    made.at = [this, number, k](const TermList& coordinates) {
      return keep(std::make_unique<StateValue>(*this, number, k, coordinates));
    };
    known = std::make_shared<const Recurrence>(std::move(made));
  }
  return keep(std::make_unique<State>(known, tensor.type, at));
}

/// Final states, then what is emitted at every time. What is emitted of a new state is that state.
Symbolic* ExpressionValues::of_scan(int number, size_t result, const TermList& coordinates) {
  const Stage& stage = expression_.stages[static_cast<size_t>(number)];
  if (time_) throw Unproved{"a scan within a scan"};
  const size_t states = stage.initial.size();
  if (result < states) {
    TermList at = {term_of(terms_, stage.length, sizes_)};
    at.insert(at.end(), coordinates.begin(), coordinates.end());
    return state(number, result, at);
  }
  const std::vector<ir::TensorId>& outputs = stage.step->outputs;
  for (size_t k = 0; k < states; ++k) {
    if (outputs[k] != outputs[result]) continue;
    TermList at = coordinates;
    at[0] = terms_.add(at[0], terms_.integer(1));
    return state(number, k, at);
  }
  return step(number, coordinates[0]).element(outputs[result], {coordinates.begin() + 1, coordinates.end()});
}

Symbolic* ExpressionValues::keep(std::unique_ptr<Symbolic> made) {
  kept_.push_back(std::move(made));
  return kept_.back().get();
}

Symbolic* ExpressionValues::value(ir::ExprId id, const Place& at) {
  Symbolic*& known = values_[{id, at.stage, at.axes}];
  if (known == nullptr) known = keep(std::make_unique<Evaluated>(*this, id, at));
  return known;
}

Symbolic* ExpressionValues::element(ir::TensorId tensor, const TermList& coordinates) {
  Symbolic*& known = elements_[{tensor, coordinates}];
  if (known == nullptr) known = keep(std::make_unique<Element>(*this, tensor, coordinates));
  return known;
}

std::optional<Term> ExpressionValues::index(ir::ExprId id, const Place& at) {
  const Expr& e = expression_.exprs[static_cast<size_t>(id)];
  if (e.op == ScalarOp::integer && e.type == ElementType::i64) return terms_.integer(e.integer);
  if (e.op == ScalarOp::integer && e.type == ElementType::boolean) return terms_.truth(e.integer != 0);
  if (e.op == ScalarOp::extent) return term_of(terms_, e.dim, sizes_);
  if (e.op == ScalarOp::axis) return at.axes.at(static_cast<size_t>(e.integer));
  if (e.op == ScalarOp::time) return time_;
  if (e.op < ScalarOp::select) return std::nullopt;  // the other leaves
  TermList args;
  for (int k = 0; k < ir::argument_count(e.op); ++k) {
    const auto argument = index(e.args[static_cast<size_t>(k)], at);
    if (!argument) return std::nullopt;
    args.push_back(*argument);
  }
  const ElementType of = expression_.exprs[static_cast<size_t>(e.args[0])].type;
  if (e.op == ScalarOp::cast || e.op == ScalarOp::cast_saturate)
    return of == e.type ? std::optional(args[0]) : std::nullopt;
  if (e.op == ScalarOp::select) {
    if (e.type == ElementType::i64) return terms_.choose(args[0], args[1], args[2]);
    return std::nullopt;
  }
  return index_operation(terms_, e.op, of, args);
}

/// select(x < 0, x + extent, x) of an element x of an input: the index that counts from the end where it is
/// negative. One into a dimension of one element is none: it would vanish where such dimensions are dropped,
/// and what is wrong with it would go unnoticed.
std::optional<Term> ExpressionValues::lookup(ir::ExprId id, const ir::Dim& extent, const Place& at) {
  const auto found = ir::index_from_end(expression_, id, extent);
  if (!found) return std::nullopt;
  const Expr& load = expression_.exprs[static_cast<size_t>(*found)];
  const int input = inputs_[static_cast<size_t>(load.integer)];
  const Term size = term_of(terms_, extent, sizes_);
  if (input == ir::none || size == terms_.integer(1)) return std::nullopt;
  TermList element;
  for (const ir::ExprId index : load.indices) {
    const auto coordinate = this->index(index, at);
    if (!coordinate) return std::nullopt;
    element.push_back(*coordinate);
  }
  const auto merged = merged_.find(static_cast<ir::TensorId>(load.integer));
  if (merged != merged_.end()) element = merged->second.merge(terms_, element);
  return terms_.lookup(input, size, element);
}

/// A dimension is the row-major merge of its group's axes.
TermList ExpressionValues::axes_of(const Stage& stage, const TermList& coordinates) {
  TermList axes(stage.axes.size());
  for (size_t d = 0; d < stage.groups.size(); ++d) {
    const std::vector<int>& group = stage.groups[d];
    Term rest = coordinates[d];
    for (size_t k = group.size(); k-- > 0;) {
      const auto axis = static_cast<size_t>(group[k]);
      if (k == 0) {
        axes[axis] = rest;
      } else {
        const Term extent = term_of(terms_, stage.axes[axis].extent, sizes_);
        axes[axis] = terms_.floor_mod(rest, extent);
        rest = terms_.floor_div(rest, extent);
      }
    }
  }
  return axes;
}

}  // namespace axrun::verify
