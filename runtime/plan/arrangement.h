#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/plan/group.h"
#include "runtime/plan/step_outline.h"
#include "runtime/plan/step_shelf.h"

namespace axrun::runtime {

/// The groups of a form as a kernel source wants them joined, and what is ready for their steps.
struct Arrangement {
  /// Where a group's steps lie on the shelf.
  struct ShelfPlace {
    size_t board, place;
  };
  /// The numbers that the steps on it depend on, and how many groups there are.
  struct Board {
    std::vector<size_t> sizes;
    size_t groups = 0;
  };

  std::vector<std::vector<int>> joined;  ///< what the source has said
  std::vector<Group> groups;             ///< in order; they and their parts have numbers
  std::vector<StepOutline> outlines;     ///< by number, of those of several nodes
  /// By number; none where steps are made for every plan.
  std::vector<std::optional<ShelfPlace>> shelf_places;
  std::vector<Board> boards;
  mutable StepShelf shelf;
};

/// The arrangements of a form: those asked for last are kept. Safe from many threads.
class Arrangements {
 public:
  std::shared_ptr<const Arrangement> find(const std::vector<std::vector<int>>& joined);
  void keep(std::shared_ptr<const Arrangement> made);

 private:
  static constexpr size_t most_kept = 3;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Arrangement>> kept_;  ///< the one used last is the first
};

}  // namespace axrun::runtime
