#pragma once

#include <cstddef>
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

 private:
  static constexpr size_t most_kept = 3;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Arrangement>> kept_;  ///< the one used last is the first
};

}  // namespace axrun::runtime
