#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "tests/verify/mutants.h"

namespace axrun::tests {

/// One attempt: a copy, the places in it, and the mutations.
class Surgeon {
 public:
  Surgeon(const ir::loop::LoopProgram& valid, std::mt19937_64& random);

  std::optional<Mutant> run();

 private:
  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }
  bool coin() { return below(2) == 0; }
  template <typename T>
  T* pick(std::vector<T*>& list) {
    return list.empty() ? nullptr : list[below(list.size())];
  }

  void collect(ir::loop::Block& body);

  static std::vector<std::string> symbols(const ir::Dim& dim) {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    return names;
  }
  bool is_variable(const std::string& name) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const ir::loop::Loop* loop) { return loop->variable == name; });
  }
  std::vector<std::string> variables(const ir::Dim& dim) const {
    std::vector<std::string> names = symbols(dim);
    std::erase_if(names, [&](const std::string& name) { return !is_variable(name); });
    return names;
  }
  std::string any_variable() { return loops_.empty() ? "" : loops_[below(loops_.size())]->variable; }

  // Indices, extents, claims
  /// Tiles that are too close, or too far apart, wherever the variable is used.
  bool respaced(int64_t by);
  bool overlap();
  bool gap();
  bool race();
  /// An allocation moves out of its loop.
  bool shared_scratch();
  /// An index comes from another input, or leads into another dimension.
  bool looked_up_elsewhere();
  /// It is always the same.
  bool looked_up_not();
  bool shifted();
  /// One place counts the iterations of a sequential loop backwards, is late, or stays at the first.
  bool other_time();
  /// A scratch buffer with one entry per iteration of a loop has two that take turns, or one.
  bool no_history();
  /// A literal index is another.
  bool other_part();
  bool wrong_lane();
  /// A minimum loses one of its sides.
  bool tail();
  bool permuted();
  bool scaled();
  bool other_variable();
  bool extent();
  bool step();
  bool mapping();
  bool claim();

  // Statements and values
  bool other_operation();
  /// op(inner(a, b), c) becomes inner(op(a, c), b), or two arguments change places.
  bool operands_rotated();
  struct Spot {
    ir::loop::Block* block;
    size_t at;
  };
  template <typename T>
  std::optional<Spot> any_statement();
  bool statement_dropped();
  /// Into the loop that follows it, as its first statement.
  bool statement_moved_in();
  /// The first or last statement of a loop goes before or after it.
  bool statement_moved_out();
  bool literal();
  bool statements_swapped();
  bool statement_doubled();
  bool loops_interchanged();
  bool same_form(int a, int b) const;
  bool other_operand();
  bool other_target();
  bool combine();
  bool guard();
  bool allocation();

  ir::loop::LoopProgram program_;
  std::mt19937_64& random_;
  std::vector<ir::loop::Block*> blocks_;
  std::vector<ir::loop::Loop*> loops_;
  std::vector<ir::loop::Compute*> computes_;
  std::vector<ir::loop::Value*> loads_;
  std::vector<ir::loop::Access*> accesses_;
  std::vector<ir::Dim*> indices_;
  std::vector<ir::loop::Lookup*> lookups_;
  std::vector<ir::loop::Access*> looking_up_;
};

}  // namespace axrun::tests
