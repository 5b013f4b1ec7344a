#pragma once

#include <asmjit/x86.h>

#include <vector>

#include "jit/x86/lanes.h"

namespace axrun::jit::x86 {

/// The columns of a square of vectors: lane r of result c is lane c of rows[r].
///
/// At most lanes.count() rows and columns. Lanes of rows that there are not hold anything; only the first
/// `columns` columns are made, and only what they need is computed. Bits are moved, never interpreted. The
/// rows stay as they are.
std::vector<asmjit::x86::Vec> transpose(asmjit::x86::Compiler& compiler, Lanes& lanes,
                                        const std::vector<asmjit::x86::Vec>& rows, size_t columns);

}  // namespace axrun::jit::x86
