#pragma once

#include <cstdint>

#include "jit/target.h"

namespace axrun::search {

/// Whether so much arithmetic (a multiply-add counts two), or reading and writing so many bytes once, takes
/// one core long enough for others to help: some 10 microseconds.
bool is_worth_spreading(double flops, const jit::Target& target, double bytes = 0);

/// The part of the workers' time that is used when `count` equal pieces are spread over `cores`.
double balance(int64_t count, int cores);

}  // namespace axrun::search
