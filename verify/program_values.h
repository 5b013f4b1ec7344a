#pragma once

#include <deque>
#include <map>
#include <memory>

#include "verify/last_writes.h"
#include "verify/symbolic_value.h"

namespace axrun::verify {

/// What a loop program computes, as values over its inputs: reads of scratch buffers are replaced by what was
/// written, accumulators by reductions. A buffer that an earlier iteration has written is a recurrence.
class ProgramValues {
 public:
  ProgramValues(const LoopNest& nest, Solver& solver) : nest_(nest), solver_(solver) {}

  /// A value of the program where the statement at `at` evaluates it.
  Symbolic* value(int id, const Instance& at);
  /// An element of a scratch buffer or output as `reader` finds it.
  Symbolic* element(int buffer, const TermList& element, const Instance& reader);

 private:
  class Evaluated;
  class Read;
  class Held;
  class Once;
  Symbolic* keep(std::unique_ptr<Symbolic> made);
  ValueHead cases_of(std::vector<Content> contents, const Instance& reader);
  std::shared_ptr<const Recurrence> recurrence(int buffer);

  const LoopNest& nest_;
  Solver& solver_;
  std::deque<std::unique_ptr<Symbolic>> kept_;
  std::map<std::tuple<int, int, TermList>, Symbolic*> values_;
  std::map<int, std::shared_ptr<const Recurrence>> recurrences_;  ///< per buffer
};

}  // namespace axrun::verify
