// The value read is that of the last execution that wrote the element. Executions are ordered by the loops
// they share, then by the text. Let R be the reader, A an assignment above it in the text, d the number of
// loops around both, a* the one execution of A in R's iterations of these d loops that writes the element.
// Then a* and the contributions collected are all that counts if
//   1. no other execution of A in these iterations writes the element (unique),
//   2. statements between A and R, in these iterations: combining ones are collected, others do not write it,
//   3. what shares more than d loops with A runs in the right order: contributions after a*, statements above
//      A before it (ordered),
//   4. what shares more than d loops with R has not written it in an earlier iteration of these (fresh).
// Everything else runs before a* or after R.
//
// Where that cannot be shown, because what is read was written in an earlier iteration of a loop around R,
// the element may still have one assignment only in the whole program (only_writes): then nothing can come
// between it and R, and it remains to be shown that it runs before R.
//
// Or a loop around R combines with the element again and again (writes_so_far): if a* is as in 1, and no
// other assignment writes the element in R's iterations of the d loops, all executions of combining
// statements in these iterations count that run before R. Those that share more than d loops with A must run
// after it.
#include "verify/last_writes.h"

#include "verify/checks.h"
#include "verify/unproved.h"
#include "verify/witness.h"

namespace axrun::verify {
namespace {

using ir::loop::Combine;

class Search {
 public:
  Search(const LoopNest& nest, Solver& solver, const Instance& reader, int buffer, const TermList& element)
      : nest_(nest),
        terms_(nest.terms()),
        solver_(solver),
        reader_(reader),
        buffer_(buffer),
        element_(element) {}

  std::vector<Content> run(TermList facts) {
    std::vector<Content> found;
    std::vector<Contribution> contributions;
    for (const int writer : above()) {
      const Candidate candidate = execution(writer);
      if (combine(writer) == Combine::assign) {
        const bool always = solver_.implied(facts, terms_.all(candidate.hit));
        if (!always && solver_.impossible(with(facts, candidate.any_hit))) continue;
        unique(facts, candidate);
        const TermList here = always ? facts : with(facts, candidate.hit);
        ordered(here, candidate, contributions);
        fresh(here, candidate.shared);
        found.push_back({always ? TermList{} : candidate.hit, candidate.at, contributions, true});
        if (always) return found;
        facts.push_back(terms_.negation(terms_.all(candidate.hit)));
        if (solver_.impossible(facts)) return found;
      } else {
        if (solver_.impossible(with(facts, candidate.any_hit))) continue;
        contributions.insert(contributions.begin(), contribution(facts, candidate));
        same_monoid_or_ordered(facts, contributions);
      }
    }
    if (checks::on("writes.unwritten")) fail_unwritten();
    return found;
  }

  std::vector<Content> run_once(const TermList& facts) {
    if (nest_.scope(buffer_) != 0) fail(reader_.leaf, "is of a buffer within loops, read by");
    std::vector<Content> found;
    TermList ways;
    for (const int writer : nest_.writers(buffer_)) {
      const Candidate c = execution(writer, 0);
      if (solver_.impossible(with(facts, c.any_hit))) continue;
      if (combine(writer) != Combine::assign) {
        if (checks::on("only_writes.combined")) fail(writer, "is combined with by");
        continue;
      }
      unique(facts, c);
      for (const Term other : ways) {
        if (!solver_.impossible(with(with(facts, c.hit), other)) && checks::on("only_writes.written_again"))
          fail(writer, "is perhaps written again by");
      }
      if (!solver_.implied(with(facts, c.hit), before_reader(c.at)) && checks::on("only_writes.too_late"))
        fail(writer, "is perhaps written too late by");
      ways.push_back(terms_.all(c.hit));
      found.push_back({c.hit, c.at, {}, true});
    }
    if (!solver_.implied(facts, terms_.any(ways)) && checks::on("only_writes.unwritten")) fail_unwritten();
    return found;
  }

  Content run_so_far(const TermList& facts) {
    const std::vector<int>& writers = nest_.writers(buffer_);
    const auto assigns = [&](int writer) { return combine(writer) == Combine::assign; };
    for (const int writer : above()) {
      if (!assigns(writer)) continue;
      const Candidate c = execution(writer);
      if (!solver_.implied(facts, terms_.all(c.hit)) && checks::on("writes_so_far.unwritten"))
        fail(writer, "is perhaps not written by");
      unique(facts, c);
      Content content{{}, c.at, {}, false};
      for (const int other : writers) {
        // Outside of the loops that are around both: before the assignment, or after the reader.
        if (other == writer || shared_with_reader(other) < c.shared) continue;
        const Candidate o = execution(other, c.shared);
        if (solver_.impossible(with(facts, o.any_hit))) continue;
        if (assigns(other)) {
          if (checks::on("writes_so_far.written_again")) fail(other, "is perhaps written again by");
          continue;
        }
        if (other < writer) {
          if (nest_.common(other, writer) > c.shared && checks::on("writes_so_far.too_early"))
            fail(other, "is perhaps combined too early by");
          continue;
        }
        Contribution found = contribution(facts, o);
        found.domain.push_back(before_reader(found.at));
        content.contributions.push_back(std::move(found));
      }
      ordered(facts, c, content.contributions);
      return content;
    }
    fail_unwritten();
  }

  bool written(const TermList& facts) {
    TermList ways;
    const auto covered = [&](const Candidate& c) {
      TermList way = c.hit;
      if (checks::on("loops.written_before")) way.push_back(before_reader(c.at));
      ways.push_back(terms_.all(way));
      return solver_.implied(facts, terms_.any(ways));
    };
    for (const int writer : above()) {
      if (combine(writer) == Combine::assign && covered(execution(writer))) return true;
    }
    // In earlier iterations of loops around the reader.
    if (nest_.scope(buffer_) != 0) return false;
    for (const int writer : nest_.writers(buffer_)) {
      if (combine(writer) == Combine::assign && shared_with_reader(writer) > 0 &&
          covered(execution(writer, 0)))
        return true;
    }
    return false;
  }

 private:
  /// Executions of a writer in the reader's iterations of the loops that they share.
  struct Candidate {
    int writer;
    size_t shared;
    TermList any;      ///< values of the loops, any
    TermList any_hit;  ///< that they are in the domain and write the element
    Instance at;       ///< values of the loops by which the element is written, as far as they are determined
    TermList hit;      ///< that these are in the domain and write the element
    std::map<Term, Term> solved;
  };

  Combine combine(int writer) const { return nest_.leaf(writer).compute->combine; }

  /// Writers above the reader in the text, nearest first.
  std::vector<int> above() const {
    std::vector<int> list;
    for (const int writer : nest_.writers(buffer_)) {
      if (reader_.leaf == ir::none || writer < reader_.leaf) list.insert(list.begin(), writer);
    }
    return list;
  }

  size_t shared_with_reader(int writer) const { return nest_.common(writer, reader_.leaf); }

  TermList any_values(int writer, size_t shared) const {
    TermList values(reader_.values.begin(), reader_.values.begin() + static_cast<std::ptrdiff_t>(shared));
    nest_.extend(nest_.leaf(writer).loops, values);
    return values;
  }

  /// That an execution is one of the program and writes the element.
  TermList hits(const Instance& at, size_t shared) const {
    TermList facts = nest_.domain(at, shared);
    facts.push_back(terms_.same(nest_.indices(nest_.leaf(at.leaf).compute->target, at), element_));
    return facts;
  }

  Candidate execution(int writer) const { return execution(writer, shared_with_reader(writer)); }

  Candidate execution(int writer, size_t shared) const {
    Candidate c{writer, shared, {}, {}, {writer, {}}, {}, {}};
    c.any = any_values(writer, c.shared);
    const Instance any{writer, c.any};
    c.any_hit = hits(any, c.shared);
    std::map<Term, int64_t> steps;
    const auto& loops = nest_.leaf(writer).loops;
    for (size_t k = c.shared; k < loops.size(); ++k) steps[c.any[k]] = loops[k]->step;
    const TermList target = nest_.indices(nest_.leaf(writer).compute->target, any);
    std::vector<std::pair<Term, Term>> equations;
    for (size_t d = 0; d < target.size(); ++d) equations.emplace_back(target[d], element_[d]);
    c.solved = solve(terms_, steps, equations);
    c.at.values = c.any;
    for (size_t k = c.shared; k < loops.size(); ++k) {
      const auto found = c.solved.find(c.any[k]);
      if (found != c.solved.end()) {
        c.at.values[k] = found->second;
      } else if (combine(writer) == Combine::assign || loops[k]->extent == ir::Dim(1)) {
        c.at.values[k] = terms_.integer(0);  // right where the loop has one iteration
        c.solved[c.any[k]] = c.at.values[k];
      }
    }
    c.hit = hits(c.at, c.shared);
    return c;
  }

  /// That an execution is over when the reader runs.
  Term before_reader(const Instance& at) const {
    if (reader_.leaf == ir::none) return terms_.truth(true);
    const size_t shared = shared_with_reader(at.leaf);
    const Term earlier = terms_.before(at.values, reader_.values, 0, shared);
    if (at.leaf >= reader_.leaf) return earlier;
    TermList together;
    for (size_t k = 0; k < shared; ++k) together.push_back(terms_.equal(at.values[k], reader_.values[k]));
    return terms_.any({earlier, terms_.all(together)});
  }

  void unique(const TermList& facts, const Candidate& c) {
    if (c.shared == c.any.size()) return;
    if (!solver_.implied(with(facts, c.any_hit), terms_.same(c.any, c.at.values)) &&
        checks::on("writes.unique")) {
      fail(c.writer, "is perhaps written more than once by");
    }
  }

  void ordered(const TermList& facts, const Candidate& c, const std::vector<Contribution>& contributions) {
    for (const Contribution& later : contributions) {
      const size_t both = nest_.common(c.writer, later.at.leaf);
      if (both <= c.shared) continue;
      TermList wrong = with(facts, later.domain);
      wrong.push_back(terms_.before(later.at.values, c.at.values, c.shared, both));
      if (!solver_.impossible(wrong) && checks::on("writes.overwritten"))
        fail(c.writer, "is perhaps overwritten by");
    }
    for (const int earlier : nest_.writers(buffer_)) {
      if (earlier >= c.writer) break;
      const size_t both = nest_.common(c.writer, earlier);
      if (both <= c.shared) continue;
      const Instance other{earlier, any_values(earlier, c.shared)};
      TermList wrong = with(facts, hits(other, c.shared));
      wrong.push_back(terms_.before(c.at.values, other.values, c.shared, both));
      if (!solver_.impossible(wrong) && checks::on("writes.written_again"))
        fail(earlier, "is perhaps written again by");
    }
  }

  /// No execution in an earlier iteration of the loops that are around the reader but not around the
  /// assignment.
  void fresh(const TermList& facts, size_t shared) {
    for (const int writer : nest_.writers(buffer_)) {
      const size_t both = shared_with_reader(writer);
      if (both <= shared) continue;
      const Instance other{writer, any_values(writer, shared)};
      TermList wrong = with(facts, hits(other, shared));
      wrong.push_back(terms_.before(other.values, reader_.values, shared, both));
      if (!solver_.impossible(wrong) && checks::on("writes.fresh"))
        fail(writer, "is perhaps changed in an earlier iteration by");
    }
  }

  Contribution contribution(const TermList& facts, const Candidate& c) {
    TermList variables, any, determined;
    for (size_t k = c.shared; k < c.any.size(); ++k) {
      const auto found = c.solved.find(c.any[k]);
      if (found == c.solved.end()) {
        variables.push_back(c.any[k]);
      } else {
        any.push_back(c.any[k]);
        determined.push_back(found->second);
      }
    }
    if (!any.empty() && !solver_.implied(with(facts, c.any_hit), terms_.same(any, determined)) &&
        checks::on("writes.contributions")) {
      fail(c.writer, "has contributions that could not be told apart, by");
    }
    return {c.at, variables, c.hit};
  }

  /// The first of the list is new. Contributions of one monoid may come in any order.
  void same_monoid_or_ordered(const TermList& facts, const std::vector<Contribution>& list) {
    const Contribution& first = list.front();
    for (size_t k = 1; k < list.size(); ++k) {
      const Contribution& later = list[k];
      if (combine(first.at.leaf) == combine(later.at.leaf)) continue;
      const size_t shared = shared_with_reader(first.at.leaf);
      const size_t both = nest_.common(first.at.leaf, later.at.leaf);
      if (both <= shared) continue;
      TermList wrong = with(with(facts, first.domain), later.domain);
      wrong.push_back(terms_.before(later.at.values, first.at.values, shared, both));
      if (!solver_.impossible(wrong) && checks::on("writes.mixed_combines"))
        fail(later.at.leaf, "is combined in an unclear order by");
    }
  }

  [[noreturn]] void fail_unwritten() const {
    throw Unproved{"an element of " + nest_.buffer(buffer_).name + " that " + nest_.describe(reader_.leaf) +
                   " uses may not have been written"};
  }

  [[noreturn]] void fail(int writer, const std::string& what) const {
    throw Unproved{"an element of " + nest_.buffer(buffer_).name + " that " + nest_.describe(reader_.leaf) +
                   " uses " + what + " " + nest_.describe(writer)};
  }

  const LoopNest& nest_;
  Terms& terms_;
  Solver& solver_;
  const Instance& reader_;
  int buffer_;
  const TermList& element_;
};

}  // namespace

std::vector<Content> last_writes(const LoopNest& nest, Solver& solver, const TermList& facts,
                                 const Instance& reader, int buffer, const TermList& element) {
  return Search(nest, solver, reader, buffer, element).run(facts);
}

std::vector<Content> only_writes(const LoopNest& nest, Solver& solver, const TermList& facts,
                                 const Instance& reader, int buffer, const TermList& element) {
  return Search(nest, solver, reader, buffer, element).run_once(facts);
}

Content writes_so_far(const LoopNest& nest, Solver& solver, const TermList& facts, const Instance& reader,
                      int buffer, const TermList& element) {
  return Search(nest, solver, reader, buffer, element).run_so_far(facts);
}

bool surely_written(const LoopNest& nest, Solver& solver, const TermList& facts, const Instance& reader,
                    int buffer, const TermList& element) {
  return Search(nest, solver, reader, buffer, element).written(facts);
}

}  // namespace axrun::verify
