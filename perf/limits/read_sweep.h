// Reading memory as fast as one core can, and doing nothing with it: what any program must at least do with
// its operands.
#pragma once

#include <cstddef>

namespace axrun::perf {

/// Reads the bytes once, whole vectors, in several streams and in the widest vectors this processor has,
/// on the calling thread.
void read_sweep(const void* data, size_t bytes);

}  // namespace axrun::perf
