#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// Kernels that run one after another as one: what passes between them lies in scratch memory.
class SequenceKernel final : public Kernel {
 public:
  /// A step with its ports: inputs and outputs by the ids of their values, absent ones left out.
  struct Part {
    std::unique_ptr<Kernel> kernel;
    std::vector<ir::ValueId> inputs, outputs;
    std::vector<const void*> constants;  ///< per input: where it is, if it is a constant; else null
    std::vector<size_t> output_bytes;
  };
  /// inputs, outputs: of the whole. Everything that a part reads is one of these inputs, a constant that
  /// lives longer, or an output of an earlier part.
  SequenceKernel(std::vector<Part> parts, const std::vector<ir::ValueId>& inputs,
                 const std::vector<ir::ValueId>& outputs);

  void run(const KernelCall& call) const override;
  std::string describe() const override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool ignores_input(int k) const override;
  double flops() const override;

 private:
  struct Place {
    enum class Kind : uint8_t { absent, input, output, scratch, constant } kind = Kind::absent;
    size_t at = 0;  ///< number of the port, or offset in scratch memory
    const void* address = nullptr;
  };
  struct Placed {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs, outputs;
  };
  static void* pointer(const KernelCall& call, const Place& place);

  std::vector<Placed> parts_;
  size_t kept_bytes_ = 0;  ///< of what passes between parts; their own scratch memory follows
  size_t scratch_bytes_ = 0;
};

}  // namespace axrun::runtime
