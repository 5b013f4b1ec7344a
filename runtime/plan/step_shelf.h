#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// What became of the groups of a form for sizes that some plan was bound to. Most groups depend on few of
/// the sizes: where these come again, so does what was made. Groups that depend on the same sizes lie on one
/// board. Kernels stay as long as a plan has them. Safe from many threads.
class StepShelf {
 public:
  /// Of one group.
  struct Made {
    std::vector<Step> steps;                                 ///< without kernels
    std::vector<std::weak_ptr<const Kernel>> kernels;        ///< theirs
    std::vector<std::pair<ir::ValueId, ir::ValueId>> views;  ///< values, and what they are views of
    int open = 0;                                            ///< steps that may yet find something better
  };
  /// Per group of a board; null: it has to be made.
  using Lot = std::vector<std::shared_ptr<const Made>>;
  /// What a board's groups were made from.
  struct Key {
    std::vector<int64_t> sizes;  ///< those that they depend on
    uint64_t version = 0;        ///< of what the kernel source knew
    friend bool operator==(const Key&, const Key&) = default;
  };

  void resize(size_t boards) { boards_.resize(boards); }
  /// Null: nothing is there.
  std::shared_ptr<const Lot> find(size_t board, const Key& key);
  /// Whether what was made of it is worth keeping.
  bool wants(size_t board);
  void keep(size_t board, Key key, Lot lot);

 private:
  /// For so many sizes each.
  static constexpr size_t most_kept = 4;
  /// Sizes that never come again are not worth keeping for; but now and then it is tried.
  static constexpr uint32_t most_misses = 16, every = 32;
  struct Kept {
    Key key;
    std::shared_ptr<const Lot> lot;
  };
  struct Board {
    std::vector<Kept> kept;
    size_t next = 0;      ///< which one gives way
    uint32_t misses = 0;  ///< since it was last of use
  };
  std::mutex mutex_;
  std::vector<Board> boards_;
};

}  // namespace axrun::runtime
