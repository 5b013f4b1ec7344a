#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"

namespace axrun::ir {

/// One node of a group: its program, and which values its operands and outputs are.
struct Part {
  const Program* program = nullptr;
  /// The value of each operand position. Positions that the program does not read (Program::operands[k] is
  /// none) may be `absent`; missing ones are.
  std::vector<ValueId> operands;
  /// The value that each output is; `absent` or missing where nobody asks for it.
  std::vector<ValueId> outputs;
};

/// One tensor expression for a group of nodes: what the group computes from values outside of it.
///
/// parts: in an order in which values are computed before they are read. outside: the values that the result
/// reads; operand k of the result is outside[k], or none when nothing of the group reads it. outputs: the
/// values that the result gives, in this order; each must be an output of a part.
///
/// A value that several parts read is one operand, with the dims of its first reader; an operand that a part
/// computes has the dims that it was computed with. All of them must be equal at run time: they may only be
/// written differently. Stages that no output needs are dropped. Names of tensors and stages are words of
/// letters, digits and underscores, each used once, and do not depend on the values' numbers.
///
/// Throws Error(internal) when a value is read before it is computed and is not outside, or when an output
/// is not computed.
Program compose(const std::string& name, const std::vector<Part>& parts, const std::vector<ValueId>& outside,
                const std::vector<ValueId>& outputs);

/// The program without the stages that no output needs. Operands that are read no more are none.
Program without_dead_stages(const Program& program);

}  // namespace axrun::ir
