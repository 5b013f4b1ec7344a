#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/plan/group.h"
#include "runtime/plan/kernel_source.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/port_sizes.h"

namespace axrun::runtime {

/// What plans of one form have in common that groups join alike: steps, their order, which values share a
/// buffer. It was made with a plan, and is there for the sizes of others where what was decided for that one
/// holds for them too.
struct PlanVariant {
  /// How a step came about.
  struct Recipe {
    Group group;      ///< that became one step
    OpenPorts ports;  ///< where it has a kernel
    int ask = -1;     ///< what the kernel source was asked last before
    size_t scratch_bytes = 0;
    /// The factories' kernel at some sizes, put when it is first needed: where the step has one of the
    /// source's.
    struct Fallback {
      std::once_flag put;
      std::shared_ptr<const Kernel> kernel;
    };
    std::shared_ptr<Fallback> fallback = {};
    /// The numbers that the step depends on, among PlanVariant::sizes; none: more than numbers.
    std::optional<size_t> sizes;
  };
  /// What the kernel source was asked.
  struct Ask {
    Group group;
    bool has_kernel = false, is_open = false;  ///< what it said
    bool counts = true;                        ///< what is open is so for the plan
    OpenPorts ports = {};
    /// Put when it is first needed, from a context at some sizes; null where find() has to be asked.
    struct Question {
      std::once_flag put;
      std::shared_ptr<const KernelSource::Question> question;
    };
    std::shared_ptr<Question> question = {};
  };
  /// What has become of the arrangement's groups up to one of them.
  struct Made {
    size_t steps = 0, asks = 0;
    int open = 0;  ///< steps that may yet find something better
  };
  uint64_t version = 0;  ///< of what the kernel source knew
  std::vector<int64_t> numbers;
  std::vector<Step> steps;
  std::vector<Recipe> recipes;  ///< per step
  std::vector<std::vector<size_t>> sizes;
  std::vector<Ask> asks;
  std::vector<Made> groups;        ///< per group of the arrangement
  std::vector<int> views_by_size;  ///< nodes whose results are views at some sizes only, and are so here
  std::vector<int> concatenated;   ///< nodes whose results are written in parts
  std::shared_ptr<const PlanPlaces> places;
};

/// The variants of an arrangement: a few, those used last. Safe from many threads.
class PlanVariants {
 public:
  static constexpr size_t most = 8;
  std::vector<std::shared_ptr<const PlanVariant>> of(uint64_t version) const;
  /// Others of earlier versions go: a source is never asked again for what it knew then.
  void keep(std::shared_ptr<const PlanVariant> made);

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const PlanVariant>> kept_;  ///< the one made last is the first
};

}  // namespace axrun::runtime
