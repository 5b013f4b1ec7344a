#include "jit/executable_memory.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "ir/error.h"

namespace axrun::jit {
namespace {

/// What is mapped twice is shared memory: after a fork, parent and child see what the other one writes there.
/// So neither writes to it any more, and both get a new runtime for the code that follows.
std::atomic<uint64_t> forks{0};

/// The latest runtime, made after so many forks. Earlier ones stay: code lives in them.
struct Made {
  uint64_t forks;
  std::shared_ptr<asmjit::JitRuntime> runtime;
  const Made* before;
};
std::atomic<Made*> latest{nullptr};  // and no lock, which a forked child might find held

void before_fork() { ++forks; }

}  // namespace

std::shared_ptr<asmjit::JitRuntime> shared_runtime() {
  static const int installed = pthread_atfork(before_fork, nullptr, nullptr);
  if (installed != 0) throw axrun::Error(Fault::unsupported, "no notice of forks can be had");
  for (;;) {
    const uint64_t now = forks;
    Made* known = latest;
    if (known != nullptr && known->forks == now) return known->runtime;
    asmjit::JitAllocator::CreateParams parameters;
    parameters.options = asmjit::JitAllocatorOptions::kUseDualMapping;
    auto made = std::make_unique<Made>(Made{now, std::make_shared<asmjit::JitRuntime>(&parameters), known});
    if (latest.compare_exchange_strong(known, made.get())) return made.release()->runtime;
  }
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
