#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/open_answer.h"

namespace axrun::runtime {

/// What the library has for one step at any sizes: looked up once, but for what sizes decide.
class KernelLibrary::StepQuestion final : public KernelSource::Question {
 public:
  StepQuestion(KernelLibrary& library, const ir::Graph& graph, const std::vector<int>& nodes,
               const StepContext& context);
  Found at(const PortSizes& ports) const override;
  bool holds() const override;

 private:
  Found look_up(const PortSizes& ports) const;
  /// What the library says of the entry is kept. Under its lock.
  void keep(const Entry& entry, std::shared_ptr<const JitKernelParts> parts,
            std::shared_ptr<const jit::BoundKernel> kernel) const;
  /// What kernels of one code have in common.
  struct Known {
    std::shared_ptr<const JitKernelParts> parts;
    Constants constants;
  };
  /// Under the library's lock. Null where an input is not known that the code takes for a constant.
  Known* known(const Entry& entry, const ServingCode& code) const;

  KernelLibrary& library_;
  const GroupKey key_;
  std::vector<std::shared_ptr<Form>> forms_;
  bool has_room_;             ///< for an expression of other sizes
  Constants constants_;       ///< per input of the step
  std::vector<int> outputs_;  ///< those that are there
  const ir::Node& node_;
  int threads_;
  mutable size_t last_ = 0;  ///< of the forms: which had the answer before
  mutable std::vector<std::unique_ptr<Known>> known_;
  /// What it says is what the library of this version does. Answers are asked first while it is that one.
  mutable std::atomic<uint64_t> version_;
  mutable std::atomic<const OpenAnswer*> answer_{nullptr};
  mutable std::vector<std::unique_ptr<const OpenAnswer>>
      answers_;  ///< at most one without a kernel and one with
};

}  // namespace axrun::runtime
