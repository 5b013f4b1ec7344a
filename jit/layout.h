#pragma once

#include <string>
#include <vector>

#include "ir/loop/loop_program.h"

namespace axrun::jit {

/// A piece of a loop program that is one function: a parallel loop of the top level, or statements between
/// two of them; what fills scratch memory only stands apart from what follows.
struct Phase {
  const ir::loop::Loop* parallel = nullptr;            ///< or:
  std::vector<const ir::loop::Statement*> statements;  ///< in order
  std::vector<int> reads, writes;                      ///< buffers in memory; a buffer may be in both
};

/// How the functions of a program find its buffers: in an array of 64-bit arguments. First come the sizes, in
/// the program's order, then for each buffer in memory its address, or its offset in the worker's own scratch
/// memory, in bytes; then `flag_argument`, where there is one.
struct Layout {
  std::vector<Phase> phases;
  std::vector<int> argument;     ///< per buffer: its place in the array; none for registers
  std::vector<bool> per_worker;  ///< per buffer: one for each worker, its argument is an offset
  int arguments = 0;
  /// Where indices are data: the address of an int32 that becomes 1 when one of them is outside of its
  /// dimension; what the functions have computed is of no meaning then. none elsewhere.
  int flag_argument = ir::none;
};

/// The program must be well-formed and outlive the layout. Throws Error(unsupported) where parallel loops are
/// nested in others, or a buffer's size depends on a loop.
Layout layout_of(const ir::loop::LoopProgram& program);

}  // namespace axrun::jit
