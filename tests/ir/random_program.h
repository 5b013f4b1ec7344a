#pragma once

#include <random>
#include <vector>

#include "ir/builder.h"
#include "ir/tensor.h"

namespace axrun::ir {

/// A program of random maps, reductions and scatters over random operands, every load in bounds, every
/// divisor not 0.
struct RandomProgram {
  Program program;
  std::vector<Tensor> operands;
};
RandomProgram random_program(uint64_t seed);

/// Random elements: small values, and the extremes of the type now and then.
Tensor random_tensor(std::mt19937_64& random, ElementType type, const Shape& shape);

}  // namespace axrun::ir
