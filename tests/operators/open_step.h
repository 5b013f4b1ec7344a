// A step whose sizes have names, with the kernel that it has at some of them: what tests of kernels that are
// made again draw.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/plan/kernel.h"
#include "tests/operators/open_cases.h"
#include "tests/operators/step.h"

namespace axrun::runtime {

/// Null where the case is refused.
std::unique_ptr<StepUnderTest> step_of(const Case& given);

class OpenStep {
 public:
  /// Null where the case is refused, or nothing in it hangs on sizes.
  static std::unique_ptr<OpenStep> draw(const GeneratorEntry& generator, uint64_t seed);

  const Case& given() const { return given_; }
  /// Made at the case's own sizes; null where there is none.
  const Kernel* kernel() const { return kernel_.get(); }
  /// That made the kernel; null: none of the table.
  KernelFactory factory() const { return factory_; }
  const OpenPorts& ports() const { return ports_; }

  struct Sizes {
    Case other;  ///< the case at these
    std::vector<int64_t> numbers;
  };
  /// Some, drawn anew; nothing where they are not let through.
  std::optional<Sizes> change();

 private:
  OpenStep(const GeneratorEntry& generator, Random random);
  void make_kernel_of(const StepUnderTest& step);

  Random random_;
  Case given_;
  NamedSizes own_;
  OpenCase open_;
  std::unique_ptr<StepUnderTest> step_;
  std::vector<std::shared_ptr<const ir::Program>> programs_;
  OpenPorts ports_;
  std::shared_ptr<const Kernel> kernel_;
  KernelFactory factory_ = nullptr;
};

}  // namespace axrun::runtime
