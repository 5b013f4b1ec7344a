#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/optimizer/background.h"
#include "runtime/optimizer/paired_rounds.h"
#include "runtime/optimizer/plan_tree.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// A kernel and what it computes.
struct StepKernel {
  const Step* step = nullptr;
  std::shared_ptr<const Kernel> kernel;
};

/// Empty where results agree as those of different rounding may; otherwise where they do not. quantized:
/// integers of 8 and 16 bits are rounded from real numbers, so that a few may be a step apart.
std::string difference_of(const ir::Tensor& present, const ir::Tensor& candidate, size_t output,
                          bool quantized = false);

/// A kernel and those that do its work at present, on equal buffers: made-up inputs, the model's own
/// constants, integers that a run has read where they are known.
class KernelComparison {
 public:
  /// present: in order; they compute what the candidate's step computes from its inputs. Nodes of that step
  /// that are in none of theirs are views. The kernels must be made for the plan's shapes.
  KernelComparison(const Plan& plan, const std::vector<StepKernel>& present, const StepKernel& candidate,
                   const IntegersRead& integers, ThreadPool& pool);

  /// Runs both once. Empty where their results agree as results of different rounding may; otherwise where
  /// they do not.
  std::string difference();
  /// Runs both on numbers of all magnitudes, zeros of both signs, infinities and NaN: empty where every
  /// result is the same to the bit (NaN is NaN).
  std::string bit_difference();
  /// How long they take, in the same memory: two places may differ by more than two kernels. Nothing can be
  /// compared afterwards. Every call is a piece of `background`. threads: of the runs that will use them;
  /// where the pool has fewer, it is worked out what they would take.
  Ratio times(Background& background, const StopSignal& stop, int threads = 1);

 private:
  struct Call {
    std::shared_ptr<const Kernel> kernel;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    AlignedBuffer scratch;
    void* scratch_at = nullptr;
  };
  using Results = std::map<ir::ValueId, ir::Tensor>;
  /// Where values are: inputs, and what calls so far compute.
  using Places = std::map<ir::ValueId, const void*>;
  Call prepare(const Plan& plan, const StepKernel& one, Places& places, Results& results) const;
  static void run(std::vector<Call>& calls, ThreadPool& pool);
  void share_memory();
  void fill(uint64_t seed, bool special);
  std::string compare(std::string (*difference)(const ir::Tensor&, const ir::Tensor&, size_t, bool)) const;

  ThreadPool& pool_;
  std::vector<ir::Tensor> operands_;   ///< inputs that are made up
  std::vector<ir::Tensor> read_;       ///< inputs that a run has read
  std::vector<ir::ValueId> compared_;  ///< outputs of the candidate
  bool reads_reals_ = false;           ///< a scale, if nothing else: its integers may be rounded ones
  std::vector<Call> present_, candidate_;
  Results present_results_, candidate_results_;
};

}  // namespace axrun::runtime
