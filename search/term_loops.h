#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "ir/program.h"
#include "search/loop_writer.h"

namespace axrun::search {

/// Which loops over the terms of a sum are written out: its reduce axes from `first` on, and the one before
/// by `by` steps.
struct Unrolling {
  size_t first = 0;
  int64_t by = 1;
};

/// As many of the innermost axes as come to few steps, but not the first axis; where these are very few, some
/// of the axis before.
Unrolling unrolling_of(const ir::Stage& sum, int64_t most = 12, int64_t enough = 4);

/// body at every term of a sum: loops over its reduce axes, over `steps` of the first one from `first` on.
/// point: of the sum, axes and then reduce axes.
void term_loops(LoopWriter& writer, const ir::Stage& sum, ir::Dims& point, const Unrolling& unrolling,
                const ir::Dim& first, const ir::Dim& steps, const std::function<void()>& body);

}  // namespace axrun::search
