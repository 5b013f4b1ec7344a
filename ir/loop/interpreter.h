#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/tensor.h"

namespace axrun::ir::loop {

/// What a well-formed program can still do wrong at given sizes.
enum class Mistake : uint8_t {
  size_not_claimed,  ///< a size outside its range
  out_of_bounds,
  unwritten_read,  ///< an element of a scratch buffer or output is read before it is written
  race,            ///< two iterations of a parallel loop touch an element and one of them writes it
  wrong_inverse,   ///< a statement's inverse does not give the variables back
  unwritten_output,
};
std::string_view name_of(Mistake mistake);

struct Outcome {
  std::vector<Tensor> outputs;  ///< in order of the output buffers; of no meaning after a mistake
  std::optional<Mistake> mistake;
  std::string text;  ///< where: statement and variables
};

/// Runs a loop program by its semantics, one iteration after another, and watches every access: a schedule
/// can be tested without machine code. Arithmetic rounds to the type of each value.
///
/// inputs: one tensor per input buffer, of its type and shape. Throws Error(user) for inputs that do not fit,
/// indices in them that are out of range, or sizes that are missing; Error(internal) for a program that is not well-formed.
Outcome interpret(const LoopProgram& program, const std::map<std::string, int64_t>& sizes,
                  const std::vector<Tensor>& inputs);

}  // namespace axrun::ir::loop
