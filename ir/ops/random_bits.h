#pragma once

#include <cstdint>

#include "ir/operator.h"

namespace axrun::ir {

/// A generator is a function of the element's position and a seed, so that runs repeat: the seed is the
/// attribute `seed`, a float or an integer, or the node's name where it is left out.
uint64_t seed_of(const OperatorContext& context);

/// 64 random bits of each element and stream; numbers of one element differ by their stream.
class RandomBits {
 public:
  RandomBits(Builder& b, const OperatorContext& context, const Dims& dims)
      : b_(b), seed_(seed_of(context)), dims_(dims) {}

  Scalar bits(const Indices& i, int64_t stream, int64_t streams) const;
  /// A multiple of 2^-digits in [0, 1), every one equally likely.
  Scalar uniform(const Indices& i, int digits, int64_t stream = 0, int64_t streams = 1) const;

 private:
  Builder& b_;
  uint64_t seed_;
  Dims dims_;
};

void dropout_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
