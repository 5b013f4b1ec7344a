#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir/loop/loop_program.h"
#include "jit/layout.h"

namespace axrun::jit::x86 {

/// Which loops that count at run time keep which constants in registers while they run: float constants and
/// those of vector math, as bits. As far out as registers last, with what buffers in registers need; an
/// innermost loop keeps as many as it can, the most used first.
std::map<const ir::loop::Loop*, std::vector<uint32_t>> plan_held_constants(
    const Phase& phase, const ir::loop::LoopProgram& program, int lanes, int vector_registers);

}  // namespace axrun::jit::x86
