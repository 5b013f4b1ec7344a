#pragma once

#include <vector>

namespace axrun::runtime {

/// A set of nodes that one kernel will execute, in graph order; the kernel runs where the last one stands.
struct Group {
  std::vector<int> nodes;
  /// The groups that it was joined from, in order: they stand in for it where no kernel takes the whole.
  std::vector<Group> parts = {};
  /// The parts run as one step, one after another, until it is known that no kernel takes the whole.
  bool is_sequence = false;
  /// A kernel of its own takes the whole, and goes on to do so when nothing better is found.
  bool stays_whole = false;
  /// Among those of its form; -1: it was made for one plan.
  int number = -1;
};

}  // namespace axrun::runtime
