#pragma once

#include <vector>

#include "verify/loop_nest.h"

namespace axrun::verify {

/// Executions of a combining statement that reach one element: one for each value of `variables` in `domain`.
struct Contribution {
  Instance at;
  TermList variables;
  TermList domain;
};

/// What an element of a buffer holds, under a condition: the value that one execution of a statement
/// assigned, combined with contributions, those of one statement together, in the order of the text (but not
/// `in_order` where they are of many iterations).
struct Content {
  TermList condition;
  Instance assigned;
  std::vector<Contribution> contributions;
  bool in_order = true;
};

/// What is read by `reader` from an element of a scratch buffer or output, wherever the facts hold. The
/// conditions cover the facts and exclude each other. Throws Unproved where that is not certain: an element
/// that may not have been written, or written by two executions whose order matters.
///
/// Parallel loops count as sequential ones: that their order does not matter is the business of races.h.
std::vector<Content> last_writes(const LoopNest& nest, Solver& solver, const TermList& facts,
                                 const Instance& reader, int buffer, const TermList& element);

/// The same for a buffer of the top level of which every element is assigned once in the whole program at
/// most, and never combined with: what an earlier iteration of a loop around the reader wrote counts, too.
std::vector<Content> only_writes(const LoopNest& nest, Solver& solver, const TermList& facts,
                                 const Instance& reader, int buffer, const TermList& element);

/// The same where loops around the reader, or around both what multiplies and what adds, combine with the
/// element in many iterations: the last assignment, and of every combining statement the executions between
/// that and the reader, in no order.
Content writes_so_far(const LoopNest& nest, Solver& solver, const TermList& facts, const Instance& reader,
                      int buffer, const TermList& element);

/// Whether an assignment has reached the element before.
bool surely_written(const LoopNest& nest, Solver& solver, const TermList& facts, const Instance& reader,
                    int buffer, const TermList& element);

}  // namespace axrun::verify
