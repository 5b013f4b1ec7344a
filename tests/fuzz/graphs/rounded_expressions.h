#pragma once

#include "ir/program.h"
#include "tests/operators/random.h"

namespace axrun::tests {

/// The program with every float operation of its expressions, and every sum that they read, rounded to
/// float32, or to float64 where it has tensors of it, as kernels round it; the interpreter alone rounds only
/// what is stored. Each operation's result is moved before, by a factor of its own of up to `units`
/// roundings: 0 rounds only, and so finds the zeros of cancelled differences.
ir::Program with_rounded_expressions(const ir::Program& program, double units, runtime::Random& random);

/// The program, if it sums anything, without what zeros and masks hide: infinities and NaN become 0 where
/// they are multiplied by it, and the mask where one of attention is added. Definitions compute with them,
/// and 0 times infinity is NaN; kernels leave such terms out. Numbers stay what they are.
ir::Program without_hidden_terms(const ir::Program& program);

}  // namespace axrun::tests
