#pragma once

#include <cstdint>

namespace axrun::runtime {

/// Instruction-set levels the kernels are compiled for. Every x86-64 processor runs the first.
enum class IsaLevel : int32_t { sse2, avx2, avx512 };

/// The highest level this processor (and its operating system) runs.
IsaLevel best_isa_level();

/// The level in force: the best one, unless AXRUN_ISA=sse2|avx2|avx512 or set_isa_level says less.
IsaLevel isa_level();

/// Forces a level (capped to the best one). Packed operands belong to the level they were packed under, so
/// this is for tests, before anything is packed and while no kernel runs.
void set_isa_level(IsaLevel level);

const char* isa_level_name(IsaLevel level);

}  // namespace axrun::runtime
