#include "jit/executable_memory.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "ir/error.h"
#include "jit/file_size_signal.h"

namespace axrun::jit {
namespace {

/// What is mapped twice is shared memory: after a fork, parent and child see what the other one writes there.
/// So both make new memory for the code that follows, and neither uses anything again of what was there: the
/// other one may still run it. A fork begins before its process is copied and ends after that; what threads
/// make in between is shared, too.
std::atomic<uint64_t> beginnings_and_ends{0};
std::atomic<uint64_t> forks_under_way{0};

/// The latest. Earlier ones stay: code lives in them.
struct Made {
  std::shared_ptr<ExecutableMemory> memory;
  const Made* before;
};
std::atomic<Made*> latest{nullptr};  // and no lock, which a forked child might find held

void begin_fork() {
  ++forks_under_way;
  ++beginnings_and_ends;
}
void end_fork() {
  ++beginnings_and_ends;
  --forks_under_way;
}
/// Forks of other threads end in the parent only.
void end_fork_in_child() {
  ++beginnings_and_ends;
  forks_under_way = 0;
}

/// When the program or library is loaded, not with the first code: a fork that has begun by then would pass
/// by.
const int fork_handlers = pthread_atfork(begin_fork, end_fork, end_fork_in_child);

asmjit::JitAllocator::CreateParams mapped_twice() {
  asmjit::JitAllocator::CreateParams parameters;
  parameters.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  return parameters;
}

}  // namespace

ExecutableMemory::ExecutableMemory()
    : made_at_(beginnings_and_ends), allocator_([] {
        static const asmjit::JitAllocator::CreateParams parameters = mapped_twice();
        return &parameters;
      }()) {}

bool ExecutableMemory::is_shared() const { return forks_under_way != 0 || beginnings_and_ends != made_at_; }

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
  const FileSizeSignal signal;  // memory that is mapped twice is a file
  if (const asmjit::Error error = allocator_.alloc(&executed, &written, most); error != asmjit::kErrorOk)
    return error;
  asmjit::Error error = code.relocateToBase(reinterpret_cast<uintptr_t>(executed));
  if (error == asmjit::kErrorOk)
    error = code.copyFlattenedData(written, most, asmjit::CopySectionFlags::kPadSectionBuffer);
  // Addresses that were within reach take less than was thought.
  if (error == asmjit::kErrorOk && code.codeSize() < most)
    error = allocator_.shrink(executed, code.codeSize());
  if (error != asmjit::kErrorOk) {
    release(executed);
    return error;
  }
  *start = executed;
  return error;
}

std::shared_ptr<ExecutableMemory> shared_memory() {
  if (fork_handlers != 0) throw axrun::Error(Fault::unsupported, "no notice of forks can be had");
  for (;;) {
    Made* known = latest;
    if (known != nullptr && known->memory->made_at() == beginnings_and_ends) return known->memory;
    auto made = std::make_unique<Made>(Made{std::make_shared<ExecutableMemory>(), known});
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
