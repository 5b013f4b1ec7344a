#pragma once

#include "jit/target.h"

namespace axrun::runtime {

/// The hardware that kernels are emitted for: what is detected, overridden field by field by the file that
/// AXRUN_TARGET names, restricted to the level that AXRUN_ISA names. Found once, by the first call (a few
/// milliseconds); nothing is measured.
///
/// Throws Error(user) for a file that cannot be read, is no target, or claims what this processor lacks.
const jit::Target& host_target();
/// The same for work that never has more than so many threads: its schedules need not spread further.
jit::Target host_target_for(int threads);

}  // namespace axrun::runtime
