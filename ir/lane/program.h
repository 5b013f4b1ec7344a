#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/lane/operation.h"

namespace axrun::ir::lane {

/// The number of the instruction that makes a value.
using ValueId = int32_t;
inline constexpr ValueId no_value = -1;

/// The bits of 16 floats: as many as a program may choose from by a number.
using Table = std::array<uint32_t, 16>;

struct Instruction {
  Opcode opcode = Opcode::input;
  std::array<ValueId, 3> arguments{no_value, no_value, no_value};  ///< unused ones are no_value
  uint32_t literal = 0;                                            ///< 0 where the operation has none

  bool operator==(const Instruction&) const = default;
};

/// What a vectorised loop does to one lane: straight-line code in single-assignment form, without memory,
/// without branches. Instruction k makes value k. The inputs come first, in the order of the arguments.
/// A valid program obeys ir/lane/grammar.h.
struct Program {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<ValueId> results;
  std::vector<Table> tables;  ///< each once, in the order of their first use

  bool operator==(const Program&) const = default;
};

/// The number of a table, which is added where the program does not have it.
uint32_t table_number(Program& program, const Table& table);

/// The number of inputs of a valid program.
size_t input_count(const Program& program);

}  // namespace axrun::ir::lane
