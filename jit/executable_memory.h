#pragma once

#include <asmjit/core.h>

#include <cstdint>
#include <memory>

namespace axrun::jit {

/// Memory for machine code, mapped twice: once to write and once to execute. asmjit's own JitRuntime would
/// ask the processor for all of its features first, which takes a virtual machine longer than loading a
/// kernel does.
class ExecutableMemory {
 public:
  ExecutableMemory();

  /// What code is to be made for.
  static asmjit::Environment environment();
  /// Places the code, and says where it begins.
  template <class Start>
  asmjit::Error add(Start* start, asmjit::CodeHolder* code) {
    void* placed = nullptr;
    const asmjit::Error error = place(&placed, *code);
    *start = reinterpret_cast<Start>(placed);
    return error;
  }
  asmjit::Error alloc(void** executed, void** written, size_t bytes) {
    return allocator_.alloc(executed, written, bytes);
  }
  /// Of what add() or alloc() gave. Once a fork has begun it stays: the other process may still run it.
  template <class Start>
  void release(Start start) {
    if (!is_shared()) allocator_.release(const_cast<void*>(reinterpret_cast<const void*>(start)));
  }
  /// Beginnings and ends of forks, until it was made.
  uint64_t made_at() const { return made_at_; }

 private:
  bool is_shared() const;
  asmjit::Error place(void** start, asmjit::CodeHolder& code);

  const uint64_t made_at_;
  asmjit::JitAllocator allocator_;
};

/// Where all machine code of the process lives. Shared by whoever owns code, so that it outlives them all.
/// After a fork another one: do not keep it to make code later.
std::shared_ptr<ExecutableMemory> shared_memory();

/// Throws Error with what asmjit says: unsupported where memory may not be made executable, else internal.
void require_ok(asmjit::Error error, const char* what);

}  // namespace axrun::jit
