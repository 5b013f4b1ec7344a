#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/binder.h"
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
  /// What binding it takes with these constants (Binder). Safe from many threads.
  const Binder& binder(const std::vector<bool>& constant) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [flags, binder] : binders_) {
      if (flags == constant) return *binder;
    }
    binders_.emplace_back(constant, std::make_unique<const Binder>(signature_, constant));
    return *binders_.back().second;
  }
  /// What the phase does at these sizes.
  virtual PhaseText text_of_phase(size_t phase, const std::map<std::string, ir::Dim>& sizes) const = 0;

 protected:
  Signature signature_;
  std::vector<PhaseFunction> entries_;  ///< per phase

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::vector<bool>, std::unique_ptr<const Binder>>> binders_;
};

}  // namespace axrun::jit
