#include "jit/executable_memory.h"

#include "ir/error.h"

namespace axrun::jit {

std::shared_ptr<asmjit::JitRuntime> shared_runtime() {
  static const std::shared_ptr<asmjit::JitRuntime> runtime = [] {
    asmjit::JitAllocator::CreateParams parameters;
    parameters.options = asmjit::JitAllocatorOptions::kUseDualMapping;
    return std::make_shared<asmjit::JitRuntime>(&parameters);
  }();
  return runtime;
}

void require_ok(asmjit::Error error, const char* what) {
  if (error == asmjit::kErrorOk) return;
  const bool memory = error == asmjit::kErrorOutOfMemory || error == asmjit::kErrorTooManyHandles ||
                      error == asmjit::kErrorFailedToOpenAnonymousMemory ||
                      error == asmjit::kErrorInvalidState;
  throw axrun::Error(memory ? Fault::unsupported : Fault::internal,
                     std::string(what) + ": " + asmjit::DebugUtils::errorAsString(error));
}

}  // namespace axrun::jit
