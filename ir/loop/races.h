#pragma once

#include <cstdint>
#include <vector>

namespace axrun::ir::loop {

/// Which iterations of parallel loops an access belongs to, and whether two accesses may happen at the same
/// time.
///
/// Contexts form a tree: a child is an iteration of a parallel loop that runs inside its parent's iteration.
/// Two of them are concurrent when their paths part at two iterations of one run of a loop.
class Contexts {
 public:
  static constexpr int32_t outside = 0;  ///< in no parallel loop

  /// One more run of a parallel loop.
  int32_t new_run() { return ++runs_; }
  int32_t enter(int32_t parent, int32_t run) {
    nodes_.push_back({parent, run, depth(parent) + 1});
    return static_cast<int32_t>(nodes_.size()) - 1;
  }

  bool concurrent(int32_t a, int32_t b) const {
    if (a == b) return false;
    while (depth(a) > depth(b)) a = nodes_[static_cast<size_t>(a)].parent;
    while (depth(b) > depth(a)) b = nodes_[static_cast<size_t>(b)].parent;
    int32_t run_a = 0, run_b = 0;
    while (a != b) {
      run_a = nodes_[static_cast<size_t>(a)].run;
      run_b = nodes_[static_cast<size_t>(b)].run;
      a = nodes_[static_cast<size_t>(a)].parent;
      b = nodes_[static_cast<size_t>(b)].parent;
    }
    return run_a == run_b && run_a != 0;
  }

 private:
  struct Node {
    int32_t parent;
    int32_t run;
    int32_t depth;
  };
  int32_t depth(int32_t id) const { return nodes_[static_cast<size_t>(id)].depth; }
  std::vector<Node> nodes_ = {{0, 0, 0}};
  int32_t runs_ = 0;
};

/// The accesses to one element so far. Two readers are remembered: a third that is concurrent with a later
/// writer is either one of these, or shares their loop with one of them.
struct Touched {
  int32_t writer = none_yet;
  int32_t first_reader = none_yet;
  int32_t other_reader = none_yet;  ///< concurrent with first_reader
  static constexpr int32_t none_yet = -1;

  /// Both answer whether the access races with an earlier one, and note it.
  bool read(const Contexts& contexts, int32_t by) {
    if (writer != none_yet && contexts.concurrent(writer, by)) return true;
    if (first_reader == none_yet || !contexts.concurrent(first_reader, by)) {
      first_reader = by;
    } else {
      other_reader = by;
    }
    return false;
  }
  bool write(const Contexts& contexts, int32_t by) {
    for (const int32_t other : {writer, first_reader, other_reader}) {
      if (other != none_yet && contexts.concurrent(other, by)) return true;
    }
    writer = by;
    return false;
  }
};

}  // namespace axrun::ir::loop
