#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ir/isa/evaluate.h"
#include "ir/isa/semantics.h"
#include "jit/cpu_features.h"

/// Executes one instruction of a semantics table on the hardware: what a row says is tested against this.
namespace axrun::jit {

/// An instruction with every operand decided. `memory_operand`: the operand that is in memory, or -1.
struct InstructionChoice {
  const ir::isa::Row* row = nullptr;
  ir::isa::Width width = ir::isa::Width::x;
  int memory_operand = -1;
  int immediate = 0;
};

/// A function that loads registers, executes the instruction once and stores the destination. The memory that
/// it is in is never writable and executable at once: it is mapped twice.
class SingleInstruction {
 public:
  /// Throws Error(internal) when the instruction cannot be encoded with these operands, Error(unsupported)
  /// where executable memory is not allowed. The CPU need not have the instruction.
  explicit SingleInstruction(const InstructionChoice& choice);
  SingleInstruction(const SingleInstruction&) = delete;
  SingleInstruction& operator=(const SingleInstruction&) = delete;
  ~SingleInstruction();

  /// The destination afterwards: the whole register, or the bytes of memory. The CPU must have the row's
  /// features. `memory`: where the operand in memory lies instead of a buffer of its own (it is not filled
  /// from `inputs`).
  ir::isa::Bytes run(const ir::isa::Inputs& inputs, void* memory = nullptr) const;

  /// The encoding of the instruction alone.
  std::string_view encoding() const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace axrun::jit
