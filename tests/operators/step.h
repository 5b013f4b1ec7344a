#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "runtime/plan/kernel.h"
#include "tests/operators/case.h"

namespace axrun::runtime {

using Programs = std::vector<ir::Program>;

/// A case as the plan would present it to a factory: programs, ports, the whole context.
class StepUnderTest {
 public:
  /// Throws what the definitions throw.
  StepUnderTest(const Case& test_case, int threads);

  const StepContext& context() const { return *context_; }
  const Programs& programs() const { return programs_; }

  /// The results of the last node by the expressions, in float64: one tensor per output, undefined for those
  /// nobody wants.
  std::vector<ir::Tensor> evaluate(const Programs& programs) const;

  /// The results of the kernel, with memory filled with garbage and guarded around every buffer. `in_place`
  /// is the input whose buffer output 0 shares, or -1. Throws std::runtime_error when a guard is hurt.
  std::vector<ir::Tensor> run(const Kernel& kernel, ThreadPool& pool, int in_place = -1) const;

 private:
  const Case& case_;
  Programs programs_;
  std::vector<ir::ValueFact> facts_;
  PackCache packs_;
  std::unique_ptr<StepContext> context_;
};

/// Empty when the tensors agree: integers exactly, floats within tolerance times the largest finite magnitude
/// wanted.
std::string difference(const std::vector<ir::Tensor>& got, const std::vector<ir::Tensor>& wanted,
                       double tolerance);

}  // namespace axrun::runtime
