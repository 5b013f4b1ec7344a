#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/loop/interpreter.h"
#include "ir/loop/loop_program.h"
#include "jit/kernel_code.h"

namespace axrun::tests {

/// Runs machine code on tensors, with memory of its own around the results. Inputs whose flag is set are
/// prepared.
std::vector<ir::Tensor> run_code(const std::shared_ptr<const jit::KernelCode>& code,
                                 const std::map<std::string, int64_t>& sizes,
                                 const std::vector<ir::Tensor>& inputs, const std::vector<bool>& constant = {},
                                 jit::Workers& workers = jit::inline_workers());

/// Small integers as floats: exact in sums of products.
ir::Tensor small_integers(const ir::Shape& shape, unsigned seed);

using SizeValues = std::map<std::string, int64_t>;

/// Inputs of small integers, of the shapes that the program states.
std::vector<ir::Tensor> inputs_of(const ir::loop::LoopProgram& program, const SizeValues& sizes);

/// The machine code of every target against the interpreter of loop programs.
void expect_as_interpreted(const std::string& text, const std::vector<SizeValues>& all_sizes,
                           double tolerance = 0);

/// The targets of this machine that code is made for, widest first; empty where there is none.
std::vector<jit::Target> code_targets();

}  // namespace axrun::tests
