#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "tests/operators/random.h"

namespace axrun::runtime {

/// A program with one thing changed, so that it means something else.
struct Corruption {
  std::string what;
  ir::Program program;
};

/// Up to `most` corruptions drawn from all places that are computed where an operation can be exchanged for
/// its neighbour, a constant changed, an index frozen, or a tree's vote doubled; the steps of scans included.
/// Some may be without effect: 0 + x and 0 - (-x), branches never taken.
std::vector<Corruption> corruptions(const ir::Program& program, Random& random, size_t most);

}  // namespace axrun::runtime
