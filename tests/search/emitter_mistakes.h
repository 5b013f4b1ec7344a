#pragma once

// Mistakes of an emitter, put into loop programs: the machine code of a program that is changed so is what
// such an emitter makes of the program itself.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/loop/loop_program.h"
#include "jit/kernel_code.h"
#include "verify/guarded_memory.h"
#include "verify/numeric_gate.h"

namespace axrun::tests {

/// A mistake that shows beyond some size.
struct EmitterMistake {
  const char* name;
  /// What the code has in place of the size in loops' bounds; null: bounds are right.
  ir::Dim (*bound)(const ir::Dim& size, int64_t edge);
  /// What it has in place of an index into an operand; null: indices are right.
  ir::Dim (*index)(const ir::Dim& index, int64_t edge);
  int64_t first_wrong;  ///< next to the edge
};
inline const EmitterMistake bound_with_too_few_bits = {
    "bound read with too few bits", [](const ir::Dim& size, int64_t edge) { return floor_mod(size, edge); },
    nullptr, 0};
inline const EmitterMistake bound_cut_off = {
    "bound cut off", [](const ir::Dim& size, int64_t edge) { return min(size, edge); }, nullptr, 1};
inline const EmitterMistake index_with_too_few_bits = {
    "index read with too few bits", nullptr,
    [](const ir::Dim& index, int64_t edge) { return floor_mod(index, edge); }, 1};
inline const EmitterMistake emitter_mistakes[] = {bound_with_too_few_bits, bound_cut_off,
                                                  index_with_too_few_bits};

inline bool depends_on(const ir::Dim& dim, const std::string& symbol) {
  std::vector<std::string> symbols;
  dim.collect_symbols(symbols);
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

/// Puts another extent in place of the size in the bounds of all loops; false where there is none of it.
inline bool replace_in_bounds(const std::string& size, const ir::Dim& other, ir::loop::Block& block) {
  bool changed = false;
  for (ir::loop::Statement& statement : block) {
    auto* loop = std::get_if<ir::loop::Loop>(&statement);
    if (loop == nullptr) continue;
    changed = changed || depends_on(loop->extent, size);
    loop->extent = loop->extent.substitute({{size, other}});
    changed = replace_in_bounds(size, other, loop->body) || changed;
  }
  return changed;
}

/// The program that machine code with such a mistake about the size computes; nothing where there is no place
/// for it.
inline std::optional<ir::loop::LoopProgram> with_mistake(ir::loop::LoopProgram program,
                                                         const EmitterMistake& mistake,
                                                         const std::string& size, int64_t edge) {
  if (mistake.bound != nullptr) {
    const ir::Dim wrong = mistake.bound(ir::Dim::symbol(size), edge);
    return replace_in_bounds(size, wrong, program.body) ? std::optional(program) : std::nullopt;
  }
  bool changed = false;
  for (ir::loop::Value& value : program.values) {
    if (value.op != ir::ScalarOp::load || value.access.buffer == ir::none) continue;
    const ir::loop::Buffer& buffer = program.buffers[static_cast<size_t>(value.access.buffer)];
    if (buffer.role != ir::loop::Role::input) continue;
    for (size_t d = 0; d < buffer.dims.size(); ++d) {
      if (!depends_on(buffer.dims[d], size)) continue;
      value.access.indices[d] = mistake.index(value.access.indices[d], edge);
      changed = true;
    }
  }
  return changed ? std::optional(program) : std::nullopt;
}

/// Machine code of a program whose inputs are the operands, none of them constant.
inline verify::GateCandidate gate_candidate(const std::shared_ptr<const jit::KernelCode>& code) {
  return [code](const verify::GateCall& call) {
    const jit::BoundKernel kernel(code, call.sizes);
    verify::GuardedArray scratch((kernel.scratch_bytes(1) + 63) / 64 * 64, 64);
    std::memset(scratch.data(), 0xff, scratch.bytes());
    kernel.run(call.operands.data(), call.results.data(), scratch.data(), jit::inline_workers());
  };
}

}  // namespace axrun::tests
