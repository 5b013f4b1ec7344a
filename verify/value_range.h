#pragma once

#include <cstdint>
#include <optional>

#include "verify/symbolic_value.h"

namespace axrun::verify {

struct ValueRange {
  int64_t low = 0, high = 0;
};

/// Bounds of a value of an integer type of at most 32 bits, from the types of what it is made of; nothing where
/// they tell none. Throws Unproved.
std::optional<ValueRange> range_of(const Terms& terms, Symbolic* value, const TermList& facts);

}  // namespace axrun::verify
