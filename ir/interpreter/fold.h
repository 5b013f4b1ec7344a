#pragma once

#include <cstdint>

#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir::interpreter {

/// Lanes are arrays of double for float types and of int64_t for the others.

/// The neutral element of a built-in monoid, `count` times.
void fill_identity(Monoid::Kind kind, ElementType type, void* lanes, int count);
/// accumulators[k] = accumulators[k] (+) values[k], or values[0] when uniform.
void fold(Monoid::Kind kind, ElementType type, void* accumulators, const void* values, bool uniform,
          int count);
/// accumulator[0] = accumulator[0] (+) values[0] (+) values[1] ..., in this order.
void fold_sequence(Monoid::Kind kind, ElementType type, void* accumulator, const void* values, bool uniform,
                   int count);

/// Writes lanes to consecutive elements of a tensor, rounded or wrapped to its stored type.
void store_lanes(Tensor& tensor, int64_t position, const void* lanes, bool uniform, int count);

}  // namespace axrun::ir::interpreter
