#pragma once

#include <string>

#include "runtime/optimizer/background.h"
#include "runtime/optimizer/paired_rounds.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// Two kernels of one step on equal buffers: made-up inputs, the model's own constants.
class KernelComparison {
 public:
  /// The kernels must be made for the step's shapes.
  KernelComparison(const Plan& plan, const Step& step, const Kernel& present, const Kernel& candidate,
                   ThreadPool& pool);

  /// Runs both once. Empty where their results agree as results of different rounding may; otherwise where
  /// they do not.
  std::string difference();
  /// Runs both on numbers of all magnitudes, zeros of both signs, infinities and NaN: empty where every
  /// result is the same to the bit (NaN is NaN).
  std::string bit_difference();
  /// How long they take. Every call is a piece of `background`.
  Ratio times(Background& background, const StopSignal& stop);

 private:
  struct Call {
    const Kernel& kernel;
    std::vector<ir::Tensor> results;
    std::vector<void*> outputs;
    AlignedBuffer scratch;
  };
  void prepare(Call& call, const Plan& plan, const Step& step);
  void run(Call& call);
  void fill(uint64_t seed, bool special);

  ThreadPool& pool_;
  std::vector<ir::Tensor> operands_;  ///< per input that is not constant; undefined for others
  std::vector<const void*> inputs_;
  Call present_, candidate_;
};

}  // namespace axrun::runtime
