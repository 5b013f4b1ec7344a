#pragma once

#include <string>

#include "ir/error.h"

namespace axrun::jit::x86 {

/// What the emitter cannot say in machine code: the plan keeps its fallback kernel, and this is the reason.
[[noreturn]] inline void refuse(const std::string& what) { throw Error(Fault::unsupported, what); }

}  // namespace axrun::jit::x86
