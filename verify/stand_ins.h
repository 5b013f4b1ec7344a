#pragma once

#include "ir/loop/loop_program.h"
#include "ir/program.h"

namespace axrun::verify {

/// Stand-ins: every operation on floats that rounds becomes one that is exact on small integers, the same in
/// a tensor expression and in the loop program that computes it. What is right about a schedule does not
/// depend on what exp is; so machine code emitted from the substituted loop program must be bit-equal to the
/// substituted expression at integer operands, where the originals could only be compared up to rounding.
///
///   exp(x) -> 2*x + 1   log(x) -> 3*x - 2   sqrt(x) -> x + 3   tanh(x) -> 2*x - 1   erf(x) -> 3*x + 1
///   a / b  -> a - 3*b   pow(a, b) -> a + 2*b   and so on: no two alike, none symmetric
///   0.7071 -> a small integer that depends on the literal's f32 value; integers up to 16 stay
///   casts of floats to narrower floats are exact for small integers and stay
///
/// Not semantics-preserving, of course: only the pair means something. A rewrite that proves its equality by
/// what exp or division mean (exp(a) * exp(b), a reciprocal) has no substituted pair, nor has a loop program.
ir::Program with_stand_ins(const ir::Program& program);
ir::loop::LoopProgram with_stand_ins(const ir::loop::LoopProgram& program);

/// Whether a loop program multiplies sums while it adds to them: softmax over tiles. That it is right depends
/// on what exp and division are.
bool rescales_sums(const ir::loop::LoopProgram& program);

}  // namespace axrun::verify
