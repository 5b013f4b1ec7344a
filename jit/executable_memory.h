#pragma once

#include <asmjit/core.h>

#include <memory>

namespace axrun::jit {

/// Where all machine code of the process lives, mapped twice: once to write and once to execute. Shared by
/// whoever owns code, so that it outlives them all. After a fork another one: do not keep it to make code later.
std::shared_ptr<asmjit::JitRuntime> shared_runtime();

/// Throws Error with what asmjit says: unsupported where memory may not be made executable, else internal.
void require_ok(asmjit::Error error, const char* what);

}  // namespace axrun::jit
