#include "jit/executable_memory.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "ir/error.h"

namespace axrun::jit {
namespace {

/// What is mapped twice is shared memory: after a fork, parent and child see what the other one writes there.
/// So neither writes to it any more, and both get new memory for the code that follows.
std::atomic<uint64_t> forks{0};

/// The latest, made after so many forks. Earlier ones stay: code lives in them.
struct Made {
  uint64_t forks;
  std::shared_ptr<ExecutableMemory> memory;
  const Made* before;
};
std::atomic<Made*> latest{nullptr};  // and no lock, which a forked child might find held

void before_fork() { ++forks; }

asmjit::JitAllocator::CreateParams mapped_twice() {
  asmjit::JitAllocator::CreateParams parameters;
  parameters.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  return parameters;
}

}  // namespace

ExecutableMemory::ExecutableMemory()
    : allocator_([] {
        static const asmjit::JitAllocator::CreateParams parameters = mapped_twice();
        return &parameters;
      }()) {}

asmjit::Environment ExecutableMemory::environment() {
  asmjit::Environment environment = asmjit::Environment::host();
  environment.setObjectFormat(asmjit::ObjectFormat::kJIT);
  return environment;
}

asmjit::Error ExecutableMemory::place(void** start, asmjit::CodeHolder& code) {
  *start = nullptr;
  if (const asmjit::Error error = code.flatten(); error != asmjit::kErrorOk) return error;
  if (const asmjit::Error error = code.resolveUnresolvedLinks(); error != asmjit::kErrorOk) return error;
  const size_t most = code.codeSize();
  if (most == 0) return asmjit::kErrorNoCodeGenerated;
  void* executed = nullptr;
  void* written = nullptr;
  if (const asmjit::Error error = allocator_.alloc(&executed, &written, most); error != asmjit::kErrorOk)
    return error;
  asmjit::Error error = code.relocateToBase(reinterpret_cast<uintptr_t>(executed));
  if (error == asmjit::kErrorOk)
    error = code.copyFlattenedData(written, most, asmjit::CopySectionFlags::kPadSectionBuffer);
  // Addresses that were within reach take less than was thought.
  if (error == asmjit::kErrorOk && code.codeSize() < most)
    error = allocator_.shrink(executed, code.codeSize());
  if (error != asmjit::kErrorOk) {
    allocator_.release(executed);
    return error;
  }
  *start = executed;
  return error;
}

std::shared_ptr<ExecutableMemory> shared_memory() {
  static const int installed = pthread_atfork(before_fork, nullptr, nullptr);
  if (installed != 0) throw axrun::Error(Fault::unsupported, "no notice of forks can be had");
  for (;;) {
    const uint64_t now = forks;
    Made* known = latest;
    if (known != nullptr && known->forks == now) return known->memory;
    auto made = std::make_unique<Made>(Made{now, std::make_shared<ExecutableMemory>(), known});
    if (latest.compare_exchange_strong(known, made.get())) return made.release()->memory;
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
