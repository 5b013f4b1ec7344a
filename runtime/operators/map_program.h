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
  /// quotient: of integers, which fails where b is zero.
  enum class Kind : uint8_t { unary, binary, quotient, compare, select, logical, convert, library };
  Kind kind = Kind::unary;
  int code = 0;            ///< of Unary, Binary, Comparison, or ir::ScalarOp (logical, library)
  ir::ElementType type;    ///< of the operands
  ir::ElementType result;  ///< of the destination
  MapOperand a, b, c;
  float alpha = 0, beta = 0;
  int destination = 0;  ///< register; the last instruction writes the output
  int place = 0;        ///< of a quotient: among the program's places
};

/// An input that blocks are read from.
struct MapInput {
  int port = 0;  ///< of the step
  ir::ElementType type = ir::ElementType::undefined;
  /// How many elements apart two neighbours along an axis are: the sum of these dims' strides, each taken
  /// along its axis. For other sizes, where the program is open.
  struct Term {
    size_t axis, dim;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
};

/// How a block of the output reads one input: strides per collapsed axis, in elements.
struct MapWalk {
  Extents strides;
  bool identity = false;  ///< read in the output's own order
  bool uniform = false;   ///< one element for all
};

struct MapConstant {
  ir::ElementType type;
  alignas(8) unsigned char bytes[8] = {};
};

/// What does not depend on sizes.
struct MapProgram {
  std::vector<MapInput> inputs;
  std::vector<MapConstant> constants;
  std::vector<MapInstruction> code;
  std::vector<ir::ElementType> registers;
  ir::ElementType result = ir::ElementType::undefined;
  std::vector<std::string> places;  ///< nodes that can fail: "Div 'name'"
  double flops_per_element = 0;
  bool is_open = false;  ///< axes are the output's dims, and terms say how inputs are read, for all sizes
};

struct MapSizes {
  Extents extents;             ///< collapsed axes of the output
  std::vector<MapWalk> walks;  ///< per input

  /// Of these axes, and one list of strides along them for each input: neighbouring axes that every input
  /// walks as one are merged.
  MapSizes(const Extents& axes, const Extents* strides, size_t inputs);
};

struct CompiledMap {
  MapProgram program;
  MapSizes sizes;
};

/// Whether strides along these axes are those of the output itself.
bool walks_in_order(const Extents& axes, const Extents& strides);

/// The sizes of an open program's step; its output has elements.
MapSizes sizes_at(const MapProgram& program, const PortSizes& ports);

/// Compiles the group of a step. Empty when an expression uses something without a block primitive, reads an
/// input other than affinely, or a member's result is read inside the group other than element by element.
std::optional<CompiledMap> compile_map(const StepContext& context);

/// Replaces what computes x (1 + erf(x / sqrt(2))) / 2 step by step, as exporters write Gelu, by one
/// instruction. Every register is written once; ports: the step's inputs.
void recognise_gelu(MapProgram& map, const std::vector<StepPort>& ports);

/// True when the node's program is a single map stage that compile_map may accept.
bool is_elementwise(const ir::Program& program);

}  // namespace axrun::runtime
