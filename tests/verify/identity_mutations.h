#pragma once

#include <optional>
#include <random>

#include "tests/verify/identities.h"

namespace axrun::tests {

/// An identity that is probably none any more.
struct Mutation {
  std::string kind;
  Identity mutant;
  bool unsafe =
      false;  ///< equal over the reals, and the right side goes wrong in f32 where the left does not
};

/// A mistake somewhere in the right side.
std::optional<Mutation> mutate_term(const Identity& identity, std::mt19937_64& random);

/// Both sides within a larger expression, of which the right one lacks something that seldom matters: a tie,
/// an epsilon, a guard, the last few elements of a size that is no multiple of four, what keeps f32 from
/// overflowing. Random tests at one size miss most of them. Nothing for identities that are not of one f32
/// output.
std::optional<Mutation> mutate_context(const Identity& identity, std::mt19937_64& random);

}  // namespace axrun::tests
