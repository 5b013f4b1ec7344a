#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/kernel_code.h"
#include "jit/work_count.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// Lets a kernel's parallel loops run on a pool.
class PoolWorkers final : public jit::Workers {
 public:
  explicit PoolWorkers(ThreadPool& pool) : pool_(pool) {}
  int count() const override { return pool_.threads(); }
  void run(int64_t iterations, Body body, void* state) override;
  bool spreads_little_work() const override { return false; }

 private:
  ThreadPool& pool_;
};

/// What a JitKernel is made of, whatever its sizes are.
struct JitKernelParts {
  std::shared_ptr<const jit::KernelCode> code;
  std::vector<int> inputs;           ///< per input buffer: the input of the step that it is
  std::vector<int> outputs;          ///< per output buffer: the output of the step
  int threads = 1;                   ///< at most, of the pools that it will meet
  std::string place;                 ///< in the model, for errors: "Gather 'tokens'"
  bool from_cache = false;           ///< its code was read from a cache folder
  std::vector<std::string> symbols;  ///< names of its sizes
  /// Of the kernel at these sizes, made when asked for.
  std::function<std::string(const SizeValues&)> description;
  std::function<double(const SizeValues&)> flops;
  /// The same of what its loops execute.
  std::function<jit::WorkCount(const SizeValues&, const jit::Target&)> work;
};

/// Generated machine code as a kernel of a plan.
class JitKernel : public Kernel {
 public:
  /// More buffers than this are refused (Error, internal): calls keep their pointers on the stack.
  static constexpr size_t most_buffers = 48;
  /// kernel: of the parts' code, prepared, where it has constants. sizes: one for each of the parts' names.
  JitKernel(std::shared_ptr<const JitKernelParts> parts, std::shared_ptr<const jit::BoundKernel> kernel,
            std::vector<int64_t> sizes);
  /// What is known of every one that was made in this process; and of code that was read from a cache folder,
  /// on the word of whoever wrote that.
  static constexpr const char* proof_here = "loops proved, code tested";
  static constexpr const char* proof_of_cache = "loops proved, code tested, as this cache says";
  static constexpr const char* proof(bool from_cache) { return from_cache ? proof_of_cache : proof_here; }

  void run(const KernelCall& call) const override;
  std::string describe() const override { return parts_->description ? parts_->description(sizes()) : "jit"; }
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(parts_->threads); }
  bool ignores_input(int input) const override;
  const JitKernelParts& parts() const { return *parts_; }
  double flops() const override { return parts_->flops ? parts_->flops(sizes()) : 0; }
  /// What its loops execute; nothing where nobody counts that.
  std::optional<jit::WorkCount> work(const jit::Target& target) const;
  SizeValues sizes() const;

 private:
  std::shared_ptr<const JitKernelParts> parts_;
  std::shared_ptr<const jit::BoundKernel> kernel_;
  std::vector<int64_t> sizes_;
};

}  // namespace axrun::runtime
