#pragma once

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "ir/dim.h"
#include "ir/program.h"

namespace axrun::ir::loop {

/// A loop program: *how* stages of a tensor expression are computed, with tiles, order, fusion, packing,
/// vector lanes and threads decided. The third of axrun's four languages: verify/ proves it against the
/// tensor expression, jit/ emits it, and nothing else is an input of either.
///
/// Indices, loop extents and buffer sizes are Dims over the names of sizes and of enclosing loop variables,
/// so they are quasi-affine. Tiles are literal steps; extents are symbolic.

/// A run-time extent and the range for which the program is claimed to be right: low <= value <= high, and
/// value a multiple of divisor.
struct Size {
  std::string name;
  int64_t low = 1;
  int64_t high = int64_t{1} << 40;
  int64_t divisor = 1;
};

enum class Role : uint8_t { input, output, scratch };
/// Where a scratch buffer lives: any memory (packed operands), a core's cache, or registers.
enum class Level : uint8_t { memory, cache, registers };

struct Buffer {
  std::string name;
  ElementType type = ElementType::f32;
  Dims dims;
  Role role = Role::scratch;
  Level level = Level::memory;  ///< inputs and outputs are in memory
};

/// An index that is data: element `indices` of `buffer`, an input of i32 or i64. Negative ones count from the
/// end of the dimension that they lead into. One that is not inside then ends the program: what has been
/// written so far is of no meaning.
struct Lookup {
  int dimension = 0;  ///< of the access
  int buffer = none;
  Dims indices;
  bool operator==(const Lookup&) const = default;
};

/// An element of a buffer.
struct Access {
  int buffer = none;
  Dims indices;
  /// Of loads without a guard, of inputs or scratch memory: dimensions whose index is looked up, in order; there
  /// `indices` has 0.
  std::vector<Lookup> lookups = {};
};

/// A scalar computation. Arguments have lower numbers. Every operation rounds to its type: unlike in tensor
/// expressions, f32 means f32 here.
struct Value {
  ScalarOp op = ScalarOp::integer;  ///< not axis, time, parameter
  ElementType type = ElementType::i64;
  std::array<int, 3> args = {none, none, none};
  int64_t integer = 0;
  double real = 0;
  Dim index;  ///< extent: its value as i64
  Access
      access;  ///< load; args = {guard, otherwise} or {none, none}: where the guard is false nothing is read
};

enum class Combine : uint8_t { assign, add, mul, min, max };

/// What a statement computes of the tensor expression, and its inverse: the certificate that makes coverage a
/// question without quantifiers. `point` gives the coordinates along the stage's axes and reduce axes from
/// loop variables, `inverse` the variables of all enclosing loops, outermost first, from the coordinates x0,
/// x1, ...
struct Mapping {
  std::string stage;  ///< empty: the statement only prepares or moves values
  Dims point;
  Dims inverse;
};

/// target = value, or target = target (combine) value.
struct Compute {
  Access target;
  Combine combine = Combine::assign;
  int value = none;
  Mapping mapping;
};

/// Makes a scratch buffer, without contents, for the rest of the block.
struct Allocate {
  int buffer = none;
};

enum class LoopKind : uint8_t {
  sequential,
  parallel,  ///< iterations may run at the same time and in any order
  unrolled,  ///< sequential, written out by the emitter
  vector,    ///< sequential, lanes of vector registers; holds statements only
};

struct Loop;
using Statement = std::variant<Allocate, Compute, Loop>;
using Block = std::vector<Statement>;

/// for (variable = 0; variable < extent; variable += step).
struct Loop {
  LoopKind kind = LoopKind::sequential;
  std::string variable;
  Dim extent;
  int64_t step = 1;
  Block body;
};

struct LoopProgram {
  std::string name;
  std::vector<Size> sizes;
  std::vector<Buffer> buffers;  ///< inputs, then outputs, then scratch buffers
  std::vector<Value> values;
  Block body;
};

/// The text form; see ir/loop/README.md for an example.
std::string print(const LoopProgram& program);
/// The inverse of print. Throws Error(user) with line and column, or with the rule that the program breaks.
LoopProgram parse(std::string_view text);

/// What is wrong with a program, in words; empty for a well-formed one. Coverage, bounds and races are not
/// its business: the interpreter tests them at given sizes, verify/ proves them for all.
std::vector<std::string> violations(const LoopProgram& program);
/// Throws Error(internal) with the first violation.
void require_valid(const LoopProgram& program);

}  // namespace axrun::ir::loop
