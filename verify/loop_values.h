#pragma once

#include <optional>

#include "verify/loop_nest.h"

namespace axrun::verify {

/// A value of type i64 or boolean as a term, where it depends on sizes and loop variables only.
std::optional<Term> index_value(const LoopNest& nest, int value, const Instance& at);

}  // namespace axrun::verify
