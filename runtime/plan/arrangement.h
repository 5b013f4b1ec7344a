#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/plan/group.h"
#include "runtime/plan/plan_variant.h"
#include "runtime/plan/step_outline.h"

namespace axrun::runtime {

/// The groups of a form as a kernel source wants them joined, and what is ready for their steps.
struct Arrangement {
  std::vector<std::vector<int>> joined;  ///< what the source has said
  std::vector<Group> groups;             ///< in order; they and their parts have numbers
  std::vector<StepOutline> outlines;     ///< by number, of those of several nodes
  mutable PlanVariants variants;
};

/// The arrangements of a form: those asked for last are kept. Safe from many threads.
class Arrangements {
 public:
  std::shared_ptr<const Arrangement> find(const std::vector<std::vector<int>>& joined);
  void keep(std::shared_ptr<const Arrangement> made);
  /// That which a source of this version wants; null: it was not told (note).
  std::shared_ptr<const Arrangement> of(uint64_t version);
  void note(uint64_t version, std::shared_ptr<const Arrangement> wanted);

 private:
  static constexpr size_t most_kept = 3;
  std::mutex mutex_;
  uint64_t version_ = 0;
  std::shared_ptr<const Arrangement> wanted_;
  std::vector<std::shared_ptr<const Arrangement>> kept_;  ///< the one used last is the first
};

}  // namespace axrun::runtime
