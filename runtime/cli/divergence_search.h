#pragma once

#include <optional>
#include <vector>

#include "runtime/cli/options.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/record.h"
#include "runtime/cli/values.h"

namespace axrun::cli {

/// What an output that differs is followed by: the first node whose result differs from the reference's, in
/// the record's `divergence`, or in its `search` why none was found. Ends at `deadline`, and after 30 s; a
/// node that is being computed then goes on to its end.
void search_divergence(Record& record, runtime::Session& session, const Options& options,
                       const Inputs& inputs, Clock::time_point deadline, Progress& progress);

}  // namespace axrun::cli
