// The element is e = (((0 * f(0) + x(0)) * f(1) + x(1)) * ...), where x(t) stands for all that is added in
// iteration t. So it is the sum of x(t) times the product of all f(u) with t < u <= last, provided that
//   1. there is a factor for every u from 0 to last, and for no other,
//   2. what is added at t comes after the factors of iterations up to t and before all later ones.
#include "verify/rescaling.h"

#include <algorithm>

#include "verify/checks.h"
#include "verify/unproved.h"

namespace axrun::verify {
namespace {

using ir::loop::Combine;

class Check {
 public:
  Check(const LoopNest& nest, Solver& solver, const TermList& facts, const Instance& reader)
      : nest_(nest), terms_(nest.terms()), solver_(solver), facts_(facts), reader_(reader) {}

  RescaledLoop run(const std::vector<Contribution>& contributions) {
    RescaledLoop found;
    int factors = 0;
    for (const Contribution& c : contributions) {
      const Combine combine = nest_.leaf(c.at.leaf).compute->combine;
      if (combine == Combine::mul) {
        found.factor = c;
        ++factors;
      } else if (combine == Combine::add) {
        found.added.push_back(c);
      } else {
        fail();
      }
    }
    if (factors != 1 && checks::on("rescaled.one_factor")) fail();
    if (factors == 0 || found.factor.variables.size() != 1) fail();
    const TermList& values = found.factor.at.values;
    const Term time = found.factor.variables[0];
    found.depth = static_cast<size_t>(std::find(values.begin(), values.end(), time) - values.begin());
    const ir::loop::Loop* loop = loop_at(found.factor, found.depth);
    if (loop == nullptr || loop->step != 1) fail();
    for (const Contribution& c : found.added) {
      const bool same = loop_at(c, found.depth) == loop;
      if (!same || std::count(c.variables.begin(), c.variables.end(), c.at.values[found.depth]) != 1) fail();
      found.times.push_back(c.at.values[found.depth]);
    }
    if (!find_last(found, time)) fail();
    for (size_t k = 0; k < found.added.size(); ++k) {
      const bool ordered = in_order(found.factor, time, found.added[k], found.times[k]);
      if ((!ordered && checks::on("rescaled.order")) || !in_time(found, k)) fail();
    }
    return found;
  }

 private:
  const ir::loop::Loop* loop_at(const Contribution& c, size_t depth) const {
    const auto& loops = nest_.leaf(c.at.leaf).loops;
    return depth < loops.size() ? loops[depth] : nullptr;
  }
  Term from_zero_to(Term time, Term last) {
    return terms_.all({terms_.at_least(time, terms_.integer(0)), terms_.at_least(last, time)});
  }

  bool find_last(RescaledLoop& found, Term time) {
    const Term one = terms_.integer(1);
    const auto& loops = nest_.leaf(found.factor.at.leaf).loops;
    TermList candidates;
    if (nest_.common(found.factor.at.leaf, reader_.leaf) > found.depth) {
      const Term now = reader_.values[found.depth];
      candidates = {now, terms_.subtract(now, one)};
    } else {
      const std::vector<const ir::loop::Loop*> around(
          loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(found.depth));
      const TermList values(found.factor.at.values.begin(),
                            found.factor.at.values.begin() + static_cast<std::ptrdiff_t>(found.depth));
      candidates = {
          terms_.subtract(term_of(terms_, loops[found.depth]->extent, nest_.names(around, values)), one)};
    }
    for (const Term last : candidates) {
      found.last = last;
      const Term wanted = from_zero_to(time, last);
      if (solver_.implied(facts_, terms_.iff(terms_.all(found.factor.domain), wanted))) return true;
    }
    return !checks::on("rescaled.every_iteration");
  }

  /// Executions at time s of the factor and at time t of what is added: the factor is first where s <= t.
  bool in_order(const Contribution& factor, Term s, const Contribution& added, Term t) {
    const size_t both = nest_.common(factor.at.leaf, added.at.leaf);
    const Term added_first = added.at.leaf < factor.at.leaf
                                 ? terms_.negation(terms_.before(factor.at.values, added.at.values, 0, both))
                                 : terms_.before(added.at.values, factor.at.values, 0, both);
    const TermList facts = with(with(facts_, factor.domain), added.domain);
    return solver_.implied(facts, terms_.iff(added_first, terms_.less(t, s)));
  }

  bool in_time(const RescaledLoop& found, size_t k) {
    return solver_.implied(with(facts_, found.added[k].domain), from_zero_to(found.times[k], found.last));
  }

  [[noreturn]] void fail() const {
    throw Unproved{"what is multiplied and added to again and again is used by " +
                   nest_.describe(reader_.leaf)};
  }

  const LoopNest& nest_;
  Terms& terms_;
  Solver& solver_;
  const TermList& facts_;
  const Instance& reader_;
};

}  // namespace

RescaledLoop rescaled_loop(const LoopNest& nest, Solver& solver, const TermList& facts,
                           const Instance& reader, const std::vector<Contribution>& contributions) {
  return Check(nest, solver, facts, reader).run(contributions);
}

}  // namespace axrun::verify
