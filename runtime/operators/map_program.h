#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// A group of elementwise stages compiled to straight-line code over blocks of elements: every instruction is
/// one vector primitive applied to a block that stays in the first-level cache.

/// Where an instruction finds an operand of a block.
struct MapOperand {
  enum class Kind : uint8_t { none, reg, input, constant };
  Kind kind = Kind::none;
  int index = 0;
};

struct MapInstruction {
  enum class Kind : uint8_t { unary, binary, compare, select, logical, convert, library };
  Kind kind = Kind::unary;
  int code = 0;            ///< of Unary, Binary, Comparison, or ir::ScalarOp (logical, library)
  ir::ElementType type;    ///< of the operands
  ir::ElementType result;  ///< of the destination
  MapOperand a, b, c;
  float alpha = 0, beta = 0;
  int destination = 0;  ///< register; the last instruction writes the output
};

/// How a block of the output reads one input: strides per collapsed axis, in elements.
struct MapInput {
  int port = 0;  ///< of the step
  ir::ElementType type = ir::ElementType::undefined;
  std::vector<int64_t> strides;
  bool identity = false;  ///< read in the output's own order
  bool uniform = false;   ///< one element for all
};

struct MapConstant {
  ir::ElementType type;
  alignas(8) unsigned char bytes[8] = {};
};

struct MapProgram {
  std::vector<int64_t> extents;  ///< collapsed axes of the output
  std::vector<MapInput> inputs;
  std::vector<MapConstant> constants;
  std::vector<MapInstruction> code;
  std::vector<ir::ElementType> registers;
  ir::ElementType result = ir::ElementType::undefined;
  double flops_per_element = 0;
};

/// Compiles the group of a step. Empty when an expression uses something without a block primitive, reads an
/// input other than affinely, or a member's result is read inside the group other than element by element.
std::optional<MapProgram> compile_map(const StepContext& context);

/// True when the node's program is a single map stage that compile_map may accept.
bool is_elementwise(const ir::Program& program);

}  // namespace axrun::runtime
