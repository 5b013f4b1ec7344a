#pragma once

#include <asmjit/x86.h>

#include <vector>

namespace axrun::jit::x86 {

/// Code for several vectors, one after the other: the nodes after boundaries[k] up to boundaries[k + 1] are
/// those of vector k. Where each takes many instructions that wait for each other, a processor sees too few
/// of the others ahead: they take turns instead, instruction by instruction, as many vectors as
/// `free_registers` last for. What one of them leaves in registers for the next stays in order; their memory
/// must have nothing to do with each other's. Code with labels, or that reads flags, stays as it is.
void interleave(asmjit::x86::Compiler& compiler, const std::vector<asmjit::BaseNode*>& boundaries,
                int free_registers);

}  // namespace axrun::jit::x86
