// What no program can beat on this machine, measured as contestants in the same rounds as the operators: the
// multiply-adds of an operator done in registers, and its operands read once.
#pragma once

#include <cstddef>
#include <vector>

#include "perf/kernels/interleave.h"
#include "runtime/parallel.h"

namespace axrun::perf {

struct Span {
  const void* data = nullptr;
  size_t bytes = 0;
};

/// Floating-point operations that one run of `fma_limit` does (a multiply-add is two).
double fma_limit_operations(int threads);
Contestant fma_limit(runtime::ThreadPool& pool);

/// Each run reads the next of the sets of spans, in turn, all threads together.
Contestant read_limit(std::vector<std::vector<Span>> sets, runtime::ThreadPool& pool);

}  // namespace axrun::perf
