#pragma once

#include <string>
#include <vector>

#include "jit/target.h"
#include "runtime/session.h"

namespace axrun::cli {

/// The time that a step cannot be under, and what sets it.
struct Limit {
  double us = 0;   ///< 0: nothing is known
  std::string by;  ///< "arithmetic", "memory", "cache 2", ...
};

/// What bounds the steps of a model, by the measured speeds of its machine: every floating-point operation
/// that a step counts at the measured peak, every byte of its operands and results at the speed of the
/// nearest memory that can hold them. Constants count as lying where all those of the model fit. Each thread
/// is taken for as fast as one alone, so a limit is never above the true one.
class Limits {
 public:
  /// target: calibrated. steps: of the whole model, profiled.
  Limits(const jit::Target& target, int threads, const std::vector<runtime::StepProfile>& steps);
  /// us: what a call took. Where that is less than reading all operands can take, the step reads parts of
  /// them, and only its results count.
  Limit of(const runtime::StepProfile& step, double us) const;

 private:
  struct Memory {
    std::string name;
    double bytes = 0;         ///< that fit; of the last one any number
    double bytes_per_us = 0;  ///< by all threads
  };
  const Memory* holding(double bytes) const;

  double flops_per_us_ = 0;
  std::vector<Memory> memories_;
  const Memory* of_constants_ = nullptr;  ///< in memories_
};

}  // namespace axrun::cli
