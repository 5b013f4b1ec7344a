#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/interpreter/affine.h"
#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir::interpreter {

/// A stage's expressions compiled to a list of instructions, each a loop over the lanes of a block.
///
/// The lanes of a block are at most `block_lanes` consecutive points of the flattened lane axes; the other
/// axes have one value for the whole block (outer axes), or step through the points of a reduction (loop
/// axes). What does not depend on the loop axes is computed once per block, what does not depend on the lane
/// axes once for all lanes.

inline constexpr int block_lanes = 256;

class Workspace;
struct Instruction;
using Kernel = void (*)(const Instruction& instruction, Workspace& workspace, int count);

/// Value of an expression: one element per lane, or one for all.
struct Register {
  size_t offset = 0;  ///< in the workspace, in elements of 8 bytes
  bool uniform = false;
  bool in_loop = false;
};

struct Instruction {
  Kernel kernel = nullptr;
  ScalarOp op = ScalarOp::add;
  ElementType type = ElementType::undefined;  ///< of the first argument
  ElementType to = ElementType::undefined;    ///< of the result
  size_t result = 0;
  std::array<size_t, 3> arguments = {0, 0, 0};
  std::array<bool, 3> uniform = {true, true, true};
  bool uniform_result = false;
  int number = 0;  ///< form or load
};

/// An affine value: table[lane] + scalar. The scalar starts at constant + coefficients * coordinates for a
/// block and moves by advance[a] when loop axis a steps and those inside it start again.
struct Form {
  int table = none;  ///< none: no lane axis occurs
  int64_t constant = 0;
  std::vector<int64_t> coefficients;
  std::vector<int64_t> advance;
  bool in_loop = false;
};

/// How the elements of a tensor's storage are read into lanes: one function per stored type.
struct LaneSource {
  const void* data = nullptr;
  int64_t base = 0;
  const int64_t* offsets = nullptr;   ///< added to base per lane; nullptr: all lanes read the same element
  bool contiguous = false;            ///< offsets ascend by one
  const int64_t* excluded = nullptr;  ///< lanes with a negative entry get `otherwise`; nullptr: none
  const void* otherwise = nullptr;
  bool uniform_otherwise = true;
};
using LoadKernel = void (*)(const LaneSource& source, void* lanes, int count);
LoadKernel load_kernel(ElementType stored);

struct Load {
  /// An index that is not affine, or whose address would be too large.
  struct Computed {
    size_t reg = 0;
    bool uniform = false;
    int64_t stride = 0;
    int64_t extent = 0;
    int dimension = 0;
  };
  /// Affine bounds that do not hold for certain: both forms must be >= 0 in every lane that loads.
  struct Check {
    int index_form = none;
    int room_form = none;  ///< extent - 1 - index
    int dimension = 0;
  };
  TensorId tensor = none;
  LoadKernel kernel = nullptr;
  int address_form = none;
  std::vector<Computed> computed;
  std::vector<Check> checks;
  /// Guard: all these forms are >= 0 and all these booleans true.
  std::vector<int> guard_forms;
  std::vector<std::pair<size_t, bool>> guard_registers;  ///< offset, uniform
  bool guarded = false;
  size_t otherwise = 0;
  bool uniform_otherwise = true;
};

/// Roles of the axes: [lane_begin, lane_end) are lanes, [loop_begin, loop_end) the loop, the rest outer.
/// extents has one more entry than there are axes: the length of the enclosing scan.
struct Layout {
  std::vector<int64_t> extents = {1};
  size_t lane_begin = 0;
  size_t lane_end = 0;
  size_t loop_begin = 0;
  size_t loop_end = 0;
};

struct Body {
  std::string where;  ///< for messages: program and stage
  const Program* program = nullptr;
  Layout layout;
  std::vector<std::vector<int64_t>> tables;  ///< coefficients of the lane axes
  std::vector<Form> forms;
  std::vector<Load> loads;
  std::vector<Instruction> block;                     ///< once per block
  std::vector<Instruction> loop;                      ///< once per point of the loop axes
  std::vector<std::pair<size_t, int64_t>> constants;  ///< offset, bits
  std::vector<Register> roots;
  std::vector<Register> parameters;  ///< of a monoid's combine: written by the caller, one element per lane
  size_t size = 0;                   ///< of the workspace, in elements
};

/// What compilation needs to know besides the expressions.
struct BodyContext {
  const Program& program;
  const Bindings& bindings;
  /// Stored type and shape of every tensor that may be loaded (data is not touched).
  const std::vector<Tensor>& tensors;
  std::string where;
};

/// Types of the parameter leaves in order, if there are any.
Body compile_body(const BodyContext& context, const Layout& layout, const std::vector<ExprId>& roots,
                  const std::vector<ElementType>& parameters = {});

Kernel binary_kernel(ScalarOp op, ElementType type);
Kernel unary_kernel(ScalarOp op, ElementType type);
Kernel cast_kernel(ElementType from, ElementType to, bool saturate);
Kernel select_kernel();
Kernel form_kernel();
Kernel guarded_load_kernel();

}  // namespace axrun::ir::interpreter
