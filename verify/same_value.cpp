#include "verify/same_value.h"

#include <algorithm>
#include <cmath>

#include "ir/arithmetic.h"
#include "verify/checks.h"
#include "verify/loop_nest.h"
#include "verify/unproved.h"

namespace axrun::verify {

using ir::ElementType;
using ir::ScalarOp;
using HeadKind = ValueHead::Kind;

namespace {

constexpr int most_steps = 20000;

bool commutes(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::mul:
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
    case ScalarOp::logical_xor:
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
    case ScalarOp::equal:
    case ScalarOp::not_equal:
      return true;
    default:
      return false;
  }
}

/// f32 and f64 are both the reals; other types have their own values.
bool same_type(ElementType a, ElementType b) {
  const auto wide = [](ElementType type) { return type == ElementType::f32 || type == ElementType::f64; };
  return a == b || (wide(a) && wide(b));
}

bool same_literal(const ValueHead& a, const ValueHead& b) {
  if (a.real == b.real || (std::isnan(a.real) && std::isnan(b.real))) return true;
  return ir::round_to(a.type, a.real) == b.real || a.real == ir::round_to(b.type, b.real);
}

bool combines(const ValueHead& head, ir::Monoid::Kind monoid) {
  return head.kind == HeadKind::operation && head.op == operation_of(monoid);
}

/// A value that is no reduction as one: of what it combines, or of itself alone.
ValueHead lifted(const ValueHead& head, Symbolic* value, ir::Monoid::Kind monoid) {
  ValueHead reduction;
  reduction.kind = HeadKind::reduction;
  reduction.type = head.type;
  reduction.monoid = monoid;
  for (Symbolic* part : combines(head, monoid) ? head.arguments : std::vector<Symbolic*>{value})
    reduction.parts.push_back({{}, {}, {}, part, {}});
  return reduction;
}

}  // namespace

bool SameValue::same(const TermList& facts, Symbolic* a, Symbolic* b) {
  if (a == b) return true;
  solver_.check_time();
  if (++steps_ > most_steps) throw Unproved{"the values are too large to compare"};
  const auto key = std::make_tuple(a, b, facts);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const bool answer = compare(facts, a, b);
  known_[key] = answer;
  return answer;
}

/// a > b as b < a; a / b as a * (1 / b).
ValueHead SameValue::normal(const TermList& facts, ValueHead head) {
  if (head.op == ScalarOp::greater || head.op == ScalarOp::greater_equal) {
    head.op = head.op == ScalarOp::greater ? ScalarOp::less : ScalarOp::less_equal;
    std::swap(head.arguments[0], head.arguments[1]);
  }
  if (head.op != ScalarOp::div || !same_type(head.type, ElementType::f32)) return head;
  const auto dividend = head.arguments[0]->head(facts);
  if (dividend->kind == HeadKind::real && dividend->real == 1) return head;
  Symbolic*& reciprocal = reciprocals_[head.arguments[1]];
  if (reciprocal == nullptr) {
    ValueHead inverse = head;
    inverse.arguments[0] = &kept_.emplace_back(real_head(head.type, 1));
    reciprocal = &kept_.emplace_back(std::move(inverse));
  }
  head.op = ScalarOp::mul;
  head.arguments[1] = reciprocal;
  return head;
}

bool SameValue::compare(const TermList& facts, Symbolic* a, Symbolic* b) {
  const auto p = a->head(facts), e = b->head(facts);
  for (const bool program : {true, false}) {
    const ValueHead& cases = program ? *p : *e;
    if (cases.kind != HeadKind::cases) continue;
    for (size_t k = 0; k < cases.terms.size(); ++k) {
      const TermList here = with(facts, cases.terms[k]);
      if (solver_.impossible(here)) continue;
      if (!same(here, program ? cases.arguments[k] : a, program ? b : cases.arguments[k])) return false;
    }
    return true;
  }
  for (const bool program : {true, false}) {
    const ValueHead& cast = program ? *p : *e;
    if (cast.kind != HeadKind::operation || cast.op != ScalarOp::cast) continue;
    const auto chosen = cast.arguments[0]->head(facts);
    if (chosen->kind != HeadKind::cases) continue;
    // What is cast case by case may be what was cast there.
    for (size_t k = 0; k < chosen->terms.size(); ++k) {
      const TermList here = with(facts, chosen->terms[k]);
      if (solver_.impossible(here)) continue;
      Symbolic* one = &kept_.emplace_back(cast_head(
          terms_, cast.op, cast.type, type_of(chosen->arguments[k], here), chosen->arguments[k], here));
      if (!same(here, program ? one : a, program ? b : one)) return false;
    }
    return true;
  }
  if (!same_type(p->type, e->type) && checks::on("values.type"))
    return no("values of different types are compared");
  const bool both_rescaled = p->kind == HeadKind::rescaled && e->kind == HeadKind::rescaled;
  const bool product =
      p->kind == HeadKind::operation && e->kind == HeadKind::reduction && has_rescaled(facts, a, 4);
  if (both_rescaled || product) return same_rescaled(facts, a, b);
  if (one_side_ && (p->kind == HeadKind::carried || e->kind == HeadKind::carried))
    return no("recurrences of the program are not compared with each other");
  if (p->kind == HeadKind::carried && e->kind == HeadKind::carried) return same_recurrence(facts, *p, *e);
  if (p->kind == HeadKind::carried) return same(facts, p->recurrence->at(p->terms), b);
  if (e->kind == HeadKind::carried) return same(facts, a, e->recurrence->at(e->terms));
  const auto is_product = [](const ValueHead& head) {
    return head.kind == HeadKind::operation && head.op == ScalarOp::mul;
  };
  if (p->kind == HeadKind::reduction && is_product(*e) && same_scaled_sum(facts, *p, b)) return true;
  if (e->kind == HeadKind::reduction && is_product(*p) && same_scaled_sum(facts, *e, a)) return true;
  for (const bool program : {true, false}) {
    const ValueHead &reduction = program ? *p : *e, &other = program ? *e : *p;
    if (reduction.kind != HeadKind::reduction || !combines(other, reduction.monoid)) continue;
    TermList here = facts;
    if (Symbolic* term = only_term(here, reduction))
      return same(here, program ? term : a, program ? b : term);
  }
  if (p->kind == HeadKind::reduction && e->kind != HeadKind::reduction)
    return same_reduction(facts, *p, lifted(*e, b, p->monoid));
  if (e->kind == HeadKind::reduction && p->kind != HeadKind::reduction)
    return same_reduction(facts, lifted(*p, a, e->monoid), *e);
  if (p->kind != e->kind) return no("values of different kinds are compared");
  switch (p->kind) {
    case HeadKind::integer:
      return solver_.implied(facts, terms_.equal(p->terms[0], e->terms[0])) ||
             !checks::on("values.integer") || no("an integer differs");
    case HeadKind::condition:
      return solver_.implied(facts, terms_.iff(p->terms[0], e->terms[0])) ||
             !checks::on("values.condition") || no("a condition differs");
    case HeadKind::real:
      return same_literal(*p, *e) || !checks::on("values.literal") || no("a literal differs");
    case HeadKind::input:
      if (p->input != e->input && checks::on("values.input")) return no("different inputs are read");
      return solver_.implied(facts, terms_.same(p->terms, e->terms)) || !checks::on("values.index") ||
             no("an input is read at different indices");
    case HeadKind::operation:
      return same_operation(facts, normal(facts, *p), normal(facts, *e));
    default:
      return same_reduction(facts, *p, *e);
  }
}

bool SameValue::same_operation(const TermList& facts, const ValueHead& a, const ValueHead& b) {
  if (a.arguments.size() != b.arguments.size() || (a.op != b.op && checks::on("values.operation"))) {
    return no(std::string(name_of(a.op)) + " stands for " + std::string(name_of(b.op)));
  }
  bool likely = false;  // at a glance
  const auto all_same = [&](bool swapped) {
    for (const bool deep : {false, true}) {
      likely = deep;
      for (size_t k = 0; k < a.arguments.size(); ++k) {
        Symbolic* other = b.arguments[swapped ? 1 - k : k];
        if (!(deep ? same(facts, a.arguments[k], other) : plausible(facts, a.arguments[k], other, 3)))
          return false;
      }
    }
    return true;
  };
  if (all_same(false)) return true;
  const bool in_order = likely;
  const std::string reason = reason_;
  const bool commute = commutes(a.op) || (a.arguments.size() == 2 && !checks::on("values.argument_order"));
  if (commute && all_same(true)) return true;
  if (in_order) reason_ = reason;
  if (reason_.empty()) reason_ = "the arguments of " + std::string(name_of(a.op)) + " differ";
  return false;
}

/// A quick look, without the solver: false where the values have different operations or inputs.
bool SameValue::plausible(const TermList& facts, Symbolic* a, Symbolic* b, int depth) {
  const auto p = a->head(facts), e = b->head(facts);
  if (p->kind == HeadKind::cases || e->kind == HeadKind::cases || depth == 0) return true;
  if (p->kind == HeadKind::carried || e->kind == HeadKind::carried) return true;
  if (p->kind == HeadKind::rescaled || e->kind == HeadKind::rescaled) return true;
  if ((p->kind == HeadKind::reduction) != (e->kind == HeadKind::reduction)) return true;
  if (p->kind != e->kind) return no("values of different kinds are compared");
  if (p->kind == HeadKind::input)
    return p->input == e->input || !checks::on("values.input") || no("different inputs are read");
  if (p->kind == HeadKind::real)
    return same_literal(*p, *e) || !checks::on("values.literal") || no("a literal differs");
  if (p->kind == HeadKind::reduction)
    return p->monoid == e->monoid || !checks::on("reductions.monoid") || no("reductions differ");
  if (p->kind != HeadKind::operation) return true;
  const ValueHead x = normal(facts, *p), y = normal(facts, *e);
  if (x.arguments.size() != y.arguments.size() || (x.op != y.op && checks::on("values.operation")))
    return no(std::string(name_of(x.op)) + " stands for " + std::string(name_of(y.op)));
  for (const bool swapped : {false, true}) {
    const bool two = x.arguments.size() == 2;
    if (swapped && !commutes(x.op) && (!two || checks::on("values.argument_order"))) return false;
    bool all = true;
    for (size_t k = 0; k < x.arguments.size() && all; ++k)
      all = plausible(facts, x.arguments[k], y.arguments[swapped ? 1 - k : k], depth - 1);
    if (all) return true;
  }
  return false;
}

}  // namespace axrun::verify
