#pragma once

#include "runtime/parallel.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

class Frame;

/// Whether all elements are, which must be there.
bool is_within(const ValueLimit& limit, const Frame& frame, ThreadPool& pool);

}  // namespace axrun::runtime
