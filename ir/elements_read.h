#pragma once

#include <vector>

#include "ir/program.h"

namespace axrun::ir {

/// How many elements of each operand a program reads, each once: 0 for operands that it does not read, at
/// most the operand's size. Rows that data picks (Gather) count once each time they are picked, up to the
/// size. Needs constant dims of the operands; what is read by stages of unknown size counts whole.
std::vector<double> elements_read(const Program& program);

}  // namespace axrun::ir
