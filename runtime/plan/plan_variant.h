#pragma once

#include <atomic>
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
/// holds for them too, whatever the kernel source has learned since.
struct PlanVariant {
  /// How a step came about.
  struct Recipe {
    Group group;      ///< that became one step
    OpenPorts ports;  ///< where it has a kernel
    std::shared_ptr<const StepWork> work;
    bool has_kernel = false;  ///< of either kind; otherwise it is evaluated
    int ask = -1;             ///< what the kernel source was asked last before
    /// The factories' kernel at some sizes, put when it is first there or needed.
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
    bool has_kernel = false, is_open = false;  ///< what it said, where that decided what is one step
    bool counts = true;                        ///< what is open is so for the plan
    OpenPorts ports = {};
  };
  /// What has become of the arrangement's groups up to one of them.
  struct Made {
    size_t steps = 0, asks = 0;
    int open = 0;  ///< steps that may yet find something better
  };
  /// Put when it is first needed, from a context at some sizes; null where find() has to be asked.
  struct Question {
    std::once_flag put;
    std::shared_ptr<const KernelSource::Question> question;
    std::atomic<bool> is_there{false};  ///< it may be read without being put
  };
  /// What came of it at some sizes while the kernel source knew what it did at one time.
  struct Told {
    uint64_t version = 0;  ///< of the source
    std::vector<int64_t> numbers;
    std::vector<Step> steps;
    std::vector<size_t> scratch_bytes;                 ///< per step
    std::vector<int> open;                             ///< per group: Made::open
    std::vector<std::shared_ptr<Question>> questions;  ///< per ask
  };

  std::vector<Recipe> recipes;  ///< per step
  std::vector<std::vector<size_t>> sizes;
  std::vector<Ask> asks;
  std::vector<Made> groups;        ///< per group of the arrangement; open: see Told
  std::vector<int> views_by_size;  ///< nodes whose results are views at some sizes only, and are so here
  std::vector<int> concatenated;   ///< nodes whose results are written in parts
  std::shared_ptr<const PlanPlaces> places;
};

/// The variants of an arrangement: a few, those made last. Safe from many threads.
class PlanVariants {
 public:
  static constexpr size_t most = 8;
  struct Kept {
    std::shared_ptr<const PlanVariant> variant;
    std::shared_ptr<const PlanVariant::Told> told;  ///< null: nothing that is worth keeping
  };
  std::vector<Kept> all() const;
  /// The variant's, if it is there already, is this now. What was told of others at earlier versions goes:
  /// kernels that are no longer in use would stay with it.
  void keep(Kept made);

 private:
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;  ///< the one made last is the first
};

}  // namespace axrun::runtime
