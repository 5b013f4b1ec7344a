#include "verify/solver.h"

#include <z3++.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ir/error.h"
#include "verify/checks.h"
#include "verify/question.h"
#include "verify/ranges.h"

namespace axrun::verify {
namespace {

/// What Z3 4.8.12 counts on one core, within a factor of two.
constexpr unsigned resources_per_millisecond = 1000;
/// A question may take so much longer by the clock: a proof in the background waits for the processor.
constexpr double patience = 10;

}  // namespace

/// Terms as Z3 has them.
class Solver::Z3 {
 public:
  explicit Z3(Terms& terms)
      : terms_(terms), solver_(context_, z3::solver::simple()), integers_(context_.int_sort()) {}

  Answer check(const TermList& facts, unsigned milliseconds, unsigned most_milliseconds) {
    solver_.reset();
    z3::params limits(context_);
    limits.set("timeout", most_milliseconds);
    limits.set("rlimit", milliseconds * resources_per_millisecond);
    solver_.set(limits);
    std::set<Term> visited;
    for (const Term fact : facts) {
      axioms(fact, visited);
      solver_.add(expression(fact));
    }
    switch (solver_.check()) {
      case z3::sat:
        return Answer::yes;
      case z3::unsat:
        return Answer::no;
      default:
        return Answer::unknown;
    }
  }

 private:
  using Kind = Terms::Kind;

  z3::expr integer(int64_t value) { return context_.int_val(value); }

  z3::expr expression(Term term) {
    const auto at = static_cast<size_t>(term.id);
    if (at >= made_.size()) made_.resize(at + 1);
    if (!made_[at]) made_[at] = make(terms_.node(term));
    return *made_[at];
  }

  z3::expr make(const Terms::Node& n) {
    const auto argument = [&](size_t k) { return expression(n.arguments[k]); };
    switch (n.kind) {
      case Kind::sum: {
        z3::expr_vector parts(context_);
        if (n.linear.constant != 0 || n.linear.coefficients.empty())
          parts.push_back(integer(n.linear.constant));
        for (const auto& [atom, coefficient] : n.linear.coefficients)
          parts.push_back(coefficient == 1 ? expression(atom) : integer(coefficient) * expression(atom));
        return z3::sum(parts);
      }
      case Kind::variable:
        return context_.int_const(n.name.c_str());
      case Kind::floor_div:  // Z3's rounds towards minus infinity where the divisor is positive
        if (terms_.is_literal(n.arguments[1])) return argument(0) / argument(1);
        return context_.function("quotient", integers_, integers_, integers_)(argument(0), argument(1));
      case Kind::floor_mod:
        if (terms_.is_literal(n.arguments[1])) return z3::mod(argument(0), argument(1));
        return context_.function("remainder", integers_, integers_, integers_)(argument(0), argument(1));
      case Kind::minimum:
        return z3::ite(argument(0) <= argument(1), argument(0), argument(1));
      case Kind::maximum:
        return z3::ite(argument(0) >= argument(1), argument(0), argument(1));
      case Kind::product:
        return product(argument(0), argument(1));
      case Kind::choose:
        return z3::ite(argument(0), argument(1), argument(2));
      case Kind::lookup: {
        z3::sort_vector sorts(context_);
        z3::expr_vector arguments(context_);
        for (size_t k = 0; k < n.arguments.size(); ++k) {
          sorts.push_back(integers_);
          arguments.push_back(argument(k));
        }
        return context_.function(("lookup " + n.name).c_str(), sorts, integers_)(arguments);
      }
      case Kind::truth:
        return context_.bool_val(n.linear.constant != 0);
      case Kind::non_negative:
        return argument(0) >= 0;
      case Kind::zero:
        return argument(0) == 0;
      case Kind::negation:
        return !argument(0);
      case Kind::all:
      case Kind::any: {
        z3::expr_vector list(context_);
        for (size_t k = 0; k < n.arguments.size(); ++k) list.push_back(argument(k));
        return n.kind == Kind::all ? z3::mk_and(list) : z3::mk_or(list);
      }
    }
    return context_.bool_val(false);
  }

  /// Products of two variables are a function of which little is said: the arithmetic stays linear.
  z3::expr product(const z3::expr& a, const z3::expr& b) {
    return context_.function("product", integers_, integers_, integers_)(a, b);
  }

  /// What is true of the products, of quotients by what is no literal, and of indices that are data, that the
  /// term mentions. What is looked up is inside of its dimension, or the program has ended.
  void axioms(Term term, std::set<Term>& visited) {
    if (!visited.insert(term).second) return;
    const Terms::Node n = terms_.node(term);  // a copy: more terms are made
    for (const auto& entry : n.linear.coefficients) axioms(entry.first, visited);
    for (const Term argument : n.arguments) axioms(argument, visited);
    if (n.kind == Kind::product) {
      const z3::expr a = expression(n.arguments[0]), b = expression(n.arguments[1]), ab = expression(term);
      solver_.add(z3::implies(a >= 0 && b >= 0, ab >= 0));
      solver_.add(z3::implies(a >= 1 && b >= 0, ab >= b));
      solver_.add(z3::implies(a >= 0 && b >= 1, ab >= a));
      for (size_t k = 0; k < 2; ++k) {
        chosen_factor(term, n.arguments[k], n.arguments[1 - k], visited);
        bounded_factor(term, n.arguments[k], n.arguments[1 - k]);
      }
    }
    if (n.kind == Kind::non_negative) bounded_quotient(n.arguments[0]);
    if (n.kind == Kind::lookup)
      solver_.add(expression(term) >= 0 && expression(term) < expression(n.arguments[0]));
    const bool divides = n.kind == Kind::floor_div || n.kind == Kind::floor_mod;
    if (divides && !terms_.is_literal(n.arguments[1])) {
      const z3::expr a = expression(n.arguments[0]), b = expression(n.arguments[1]);
      const z3::expr q = context_.function("quotient", integers_, integers_, integers_)(a, b);
      const z3::expr r = context_.function("remainder", integers_, integers_, integers_)(a, b);
      solver_.add(z3::implies(b >= 1, r >= 0 && r < b));
      // a = b q + r, in both orders of a product's arguments.
      solver_.add(z3::implies(b >= 1, product(b, q) == a - r && product(q, b) == a - r));
      solver_.add(z3::implies(b >= 1 && a >= 0, q >= 0 && q <= a));
      solver_.add(z3::implies(b >= 1 && a >= 0 && a < b, q == 0 && r == a));
    }
  }

  /// A product with a minimum or maximum is the product with whichever argument that is.
  void chosen_factor(Term product, Term extremum, Term other, std::set<Term>& visited) {
    const Kind kind = terms_.node(extremum).kind;
    if (kind != Kind::minimum && kind != Kind::maximum) return;
    const TermList choices = terms_.node(extremum).arguments;
    for (const Term chosen : choices) {
      const Term same = terms_.multiply(chosen, other);
      solver_.add(
          z3::implies(expression(extremum) == expression(chosen), expression(product) == expression(same)));
      axioms(same, visited);
    }
  }

  /// Of `number - a / b >= 0` and `a / b - number >= 0`, b no literal: floor(a / b) <= c is a < (c + 1) * b,
  /// and floor(a / b) >= c is a >= c * b.
  void bounded_quotient(Term difference) {
    const LinearForm form = terms_.linear(difference);
    if (form.coefficients.size() != 1) return;
    const auto [quotient, sign] = *form.coefficients.begin();
    const Terms::Node& n = terms_.node(quotient);
    if (n.kind != Kind::floor_div || terms_.is_literal(n.arguments[1]) || std::abs(sign) != 1) return;
    const z3::expr a = expression(n.arguments[0]), b = expression(n.arguments[1]), q = expression(quotient);
    const int64_t number = sign < 0 ? form.constant : -form.constant;
    if (std::abs(number) > (int64_t{1} << 40)) return;
    if (sign < 0) {
      solver_.add(z3::implies(b >= 1, (q <= integer(number)) == (a < integer(number + 1) * b)));
    } else {
      solver_.add(z3::implies(b >= 1, (q >= integer(number)) == (a >= integer(number) * b)));
    }
  }

  /// A product with a factor that is at most a number is at most that number times the other one. Of numbers
  /// those are tried that the factor's bound suggests: what is below an extent is at most one less.
  void bounded_factor(Term product, Term factor, Term other) {
    constexpr double most = 1 << 20;
    if (terms_.magnitude(factor) > most) return;
    const auto bound = static_cast<int64_t>(terms_.magnitude(factor));
    for (const int64_t number : {bound, bound - 1}) {
      solver_.add(z3::implies(expression(factor) <= integer(number) && expression(other) >= 0,
                              expression(product) <= integer(number) * expression(other)));
    }
  }

  Terms& terms_;
  z3::context context_;
  z3::solver solver_;
  z3::sort integers_;
  std::vector<std::optional<z3::expr>> made_;
};

Solver::Solver(Terms& terms, unsigned milliseconds, double seconds, Answers* answers)
    : terms_(terms),
      milliseconds_(milliseconds),
      limit_(seconds),
      start_(std::chrono::steady_clock::now()),
      answers_(answers != nullptr ? *answers : own_) {}

Solver::~Solver() = default;

double Solver::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Solver::check_time() const {
  if (seconds() > limit_) throw OutOfTime();
}

Answer Solver::satisfiable(const TermList& facts) {
  if (std::find(facts.begin(), facts.end(), terms_.truth(false)) != facts.end()) return Answer::no;
  check_time();
  ++questions_;
  constexpr int rounds = 3;
  const Answer answer = together(facts, rounds);
  if (answer == Answer::unknown) ++unknowns_;
  return answer == Answer::unknown && !checks::on("solver.unknown") ? Answer::no : answer;
}

Answer Solver::together(const TermList& facts, int rounds) {
  TermList simpler;
  try {
    simpler = without_equations(terms_, facts);
  } catch (const Error&) {  // a coefficient does not fit
    simpler = facts;
  }
  Answer answer = Answer::yes;
  for (const TermList& some : independent_parts(terms_, simpler)) {
    const Answer here = part(some, rounds);
    if (here == Answer::no) return Answer::no;
    if (here == Answer::unknown) answer = Answer::unknown;
  }
  return answer;
}

/// Of facts that have nothing to do with others. So many rounds more may make them simpler.
Answer Solver::part(const TermList& facts, int rounds) {
  const std::string text = question_text(terms_, facts);
  if (const auto known = answers_.find(text)) return *known;
  TermList follows;
  Answer answer = quick(facts, follows);
  // What follows from facts may be true although they are not.
  if (answer == Answer::unknown && rounds > 0 && follows != facts &&
      together(follows, rounds - 1) == Answer::no)
    answer = Answer::no;
  if (answer == Answer::unknown) answer = ask(facts);
  answers_.keep(text, answer);
  return answer;
}

Answer Solver::ask(const TermList& facts) {
  const double left = std::max(1.0, (limit_ - seconds()) * 1000);
  try {
    const auto most = static_cast<unsigned>(std::min(patience * milliseconds_, left));
    if (!z3_) z3_ = std::make_unique<Z3>(terms_);
    return z3_->check(facts, milliseconds_, most);
  } catch (const z3::exception&) {
    return Answer::unknown;
  }
}

/// Without Z3: by ranges, or by values under which the facts are true. Else what follows from them.
Answer Solver::quick(const TermList& facts, TermList& follows) {
  constexpr int depth = 2;  // of clauses that are taken apart
  try {
    Ranges ranges(terms_);
    for (const Term fact : facts) ranges.add(fact);
    if (ranges.contradict(depth)) return Answer::no;
    const std::optional<TermList> variables = variables_of(terms_, facts);
    if (variables && ranges.true_somewhere(terms_.all(facts), *variables)) return Answer::yes;
    follows = ranges.simpler();
  } catch (const Error&) {  // a coefficient does not fit
    follows = facts;
  }
  return Answer::unknown;
}

bool Solver::implied(const TermList& facts, Term goal) {
  if (goal == terms_.truth(true) || std::find(facts.begin(), facts.end(), goal) != facts.end()) return true;
  TermList with = facts;
  with.push_back(terms_.negation(goal));
  return impossible(with);
}

}  // namespace axrun::verify
