#pragma once

#include <chrono>
#include <memory>
#include <set>

#include "verify/answers.h"
#include "verify/terms.h"

namespace axrun::verify {

/// The time of a proof is used up.
struct OutOfTime {};

/// Questions about terms, put to Z3. Nothing of Z3 is seen outside of solver.cpp, its exceptions included:
/// trouble is `unknown`.
class Solver {
 public:
  /// milliseconds: per question, in Z3's own count of resources, so that answers are the same on a fast, a
  /// slow and a busy machine. seconds: for all questions together, by the clock; then OutOfTime is thrown.
  /// answers: of earlier proofs, and for later ones; may be null.
  Solver(Terms& terms, unsigned milliseconds, double seconds, Answers* answers = nullptr);
  ~Solver();

  /// Whether some values of the variables make all of them true.
  Answer satisfiable(const TermList& facts);
  /// Whether the goal is true wherever the facts are.
  bool implied(const TermList& facts, Term goal);
  /// Whether the facts exclude each other. Unknown is no.
  bool impossible(const TermList& facts) { return satisfiable(facts) == Answer::no; }

  int questions() const { return questions_; }
  bool ran_out() const { return unknowns_ > 0; }
  double seconds() const;
  /// Throws OutOfTime when there is none left.
  void check_time() const;

 private:
  class Z3;
  Answer together(const TermList& facts, int rounds);
  Answer part(const TermList& facts, int rounds);
  Answer quick(const TermList& facts, TermList& follows);
  Answer ask(const TermList& facts);
  Terms& terms_;
  std::unique_ptr<Z3> z3_;
  unsigned milliseconds_;
  double limit_;
  std::chrono::steady_clock::time_point start_;
  int questions_ = 0;
  int unknowns_ = 0;
  Answers own_;
  Answers& answers_;
};

}  // namespace axrun::verify
