// Recurrences are equal by induction. Claims are of the form "for all times and coordinates within the
// extents, recurrence A of the program has the value of state B of the expression", and are shown together,
// by strong induction over the pairs (order of B's scan, time): the claim at one pair is shown from all
// claims at smaller ones. So the proof of a claim at a time `now` may use
//   claims about states of scans of lower order, at any time,
//   claims about states of the same scan, at times from 0 to before `now`,
// and nothing else; that times and coordinates are within the extents is checked at each use. Outside of
// these proofs a claim is used at any time, and is shown once recurrences_hold has said so: whoever asks
// `same` must ask that, too.
#include <algorithm>

#include "verify/checks.h"
#include "verify/loop_nest.h"
#include "verify/same_value.h"
#include "verify/unproved.h"

namespace axrun::verify {

namespace {

TermList after_the_time(const TermList& coordinates) { return {coordinates.begin() + 1, coordinates.end()}; }

TermList with_time(Term time, const TermList& coordinates) {
  TermList all = {time};
  append(all, coordinates);
  return all;
}

}  // namespace

bool SameValue::same_recurrence(const TermList& facts, const ValueHead& a, const ValueHead& b) {
  const Recurrence &mine = *a.recurrence, &theirs = *b.recurrence;
  if (mine.extents.empty() || (!solver_.implied(facts, terms_.equal(mine.extents[0], theirs.extents[0])) &&
                               checks::on("recurrences.length")))
    return no("recurrences have different lengths");
  const auto known = [&](const Induction& one) {
    return one.program->number == mine.number && one.expression->number == theirs.number &&
           one.expression->order == theirs.order;
  };
  auto induction = std::find_if(inductions_.begin(), inductions_.end(), known);
  if (induction == inductions_.end()) {
    const auto merged =
        MergedDims::find(terms_, after_the_time(mine.extents), after_the_time(theirs.extents));
    if (!merged) return no("recurrences have different dims");
    inductions_.push_back({a.recurrence, b.recurrence, *merged});
    induction = inductions_.end() - 1;
  }
  TermList wanted = {terms_.same(
      a.terms, with_time(b.terms[0], induction->coordinates.split(terms_, after_the_time(b.terms))))};
  for (size_t d = 0; d < b.terms.size(); ++d) {
    wanted.push_back(terms_.at_least(b.terms[d], terms_.integer(0)));
    wanted.push_back(terms_.less(b.terms[d], theirs.extents[d]));
  }
  if (!solver_.implied(facts, terms_.all(wanted)) && checks::on("recurrences.place"))
    return no("a state is used of another time or place");
  if (current_ == nullptr || theirs.order < current_->expression->order) return true;
  if (theirs.order > current_->expression->order || !solver_.implied(facts, terms_.less(b.terms[0], now_)))
    return no("a state is used before its time");
  return true;
}

bool SameValue::holds(const Induction& induction) {
  TermList facts = size_facts_, element;
  for (const Term extent : induction.expression->extents) {
    element.push_back(terms_.variable("s" + std::to_string(element.size()), terms_.magnitude(extent)));
    facts.push_back(terms_.at_least(element.back(), terms_.integer(0)));
    facts.push_back(terms_.less(element.back(), extent));
  }
  current_ = &induction;
  now_ = element[0];
  const TermList place = with_time(now_, induction.coordinates.split(terms_, after_the_time(element)));
  const bool answer = same(facts, induction.program->at(place), induction.expression->at(element));
  current_ = nullptr;
  return answer;
}

bool SameValue::recurrences_hold() {
  while (shown_ < inductions_.size()) {
    if (!holds(inductions_[shown_])) return false;
    ++shown_;
  }
  return true;
}

}  // namespace axrun::verify
