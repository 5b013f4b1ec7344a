#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/kernel_code.h"
#include "jit/signature.h"

namespace axrun::jit {

/// arguments: see Layout.
using PhaseFunction = void (*)(const int64_t* arguments, int64_t begin, int64_t end, char* worker_scratch);

/// Machine code as those call it who need nothing of its program but the signature.
class CallableCode : public KernelCode {
 public:
  static constexpr int most_arguments = 64;

  const Signature& signature() const { return signature_; }
  PhaseFunction entry(size_t phase) const { return entries_[phase]; }
  /// What the phase does at these sizes.
  virtual PhaseText text_of_phase(size_t phase, const std::map<std::string, ir::Dim>& sizes) const = 0;

 protected:
  Signature signature_;
  std::vector<PhaseFunction> entries_;  ///< per phase
};

}  // namespace axrun::jit
