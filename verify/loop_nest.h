#pragma once

#include <map>
#include <vector>

#include "ir/loop/loop_program.h"
#include "verify/dim_terms.h"
#include "verify/solver.h"

namespace axrun::verify {

/// A statement with the loops around it, outermost first.
struct Leaf {
  const ir::loop::Compute* compute = nullptr;
  std::vector<const ir::loop::Loop*> loops;
};

/// A statement at values of its loops' variables. `leaf` none: the end of the program, in no loop.
struct Instance {
  int leaf = ir::none;
  TermList values;
};

/// A loop program laid out for proofs: its statements in the order of the text, and what the names in each
/// stand for.
class LoopNest {
 public:
  LoopNest(const ir::loop::LoopProgram& program, Terms& terms);

  const ir::loop::LoopProgram& program() const { return program_; }
  const ir::loop::Buffer& buffer(int id) const { return program_.buffers[static_cast<size_t>(id)]; }
  Terms& terms() const { return terms_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const Leaf& leaf(int id) const { return leaves_[static_cast<size_t>(id)]; }
  /// Statements that write to a buffer, in the order of the text.
  const std::vector<int>& writers(int buffer) const { return writers_[static_cast<size_t>(buffer)]; }
  /// Number of loops around the buffer's allocation.
  size_t scope(int buffer) const { return scopes_[static_cast<size_t>(buffer)]; }

  /// Every loop, with the loops around it and itself last; the range of its statements.
  struct LoopPlace {
    std::vector<const ir::loop::Loop*> loops;
    int first_leaf = 0, last_leaf = 0;  ///< [first, last)
  };
  const std::vector<LoopPlace>& loop_places() const { return loop_places_; }
  struct AllocationPlace {
    int buffer = ir::none;
    std::vector<const ir::loop::Loop*> loops;
  };
  const std::vector<AllocationPlace>& allocation_places() const { return allocation_places_; }

  /// The claimed range of every size.
  const TermList& size_facts() const { return size_facts_; }
  const Names& sizes() const { return sizes_; }

  /// Number of loops around both, 0 for the end of the program.
  size_t common(int a, int b) const;

  Names names(const std::vector<const ir::loop::Loop*>& loops, const TermList& values) const;
  Names names(const Instance& at) const;
  TermList indices(const ir::loop::Access& access, const Instance& at) const;
  TermList extents(int buffer, const std::vector<const ir::loop::Loop*>& loops, const TermList& values) const;

  /// values gets new variables for the loops that it lacks.
  void extend(const std::vector<const ir::loop::Loop*>& loops, TermList& values) const;
  /// That the values of loops [from, ...) are ones that the loops take.
  TermList domain(const std::vector<const ir::loop::Loop*>& loops, const TermList& values, size_t from) const;
  /// A statement at any iteration.
  Instance any_instance(int leaf) const;
  TermList domain(const Instance& at, size_t from = 0) const {
    return domain(leaf(at.leaf).loops, at.values, from);
  }

  /// "statement 3 on c".
  std::string describe(int leaf) const;

 private:
  void walk(const ir::loop::Block& body, std::vector<const ir::loop::Loop*>& loops);

  const ir::loop::LoopProgram& program_;
  Terms& terms_;
  std::vector<Leaf> leaves_;
  std::vector<std::vector<int>> writers_;
  std::vector<size_t> scopes_;
  std::vector<LoopPlace> loop_places_;
  std::vector<AllocationPlace> allocation_places_;
  Names sizes_;
  TermList size_facts_;
};

void append(TermList& list, const TermList& more);
TermList with(TermList list, Term term);
TermList with(TermList list, const TermList& more);

}  // namespace axrun::verify
