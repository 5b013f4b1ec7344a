// The best rate that pinned threads reach together.
#pragma once

#include <functional>
#include <vector>

namespace axrun::perf {

/// What each thread does, over and over.
struct Work {
  double amount = 0;                        ///< done by one call
  std::function<void(int thread)> run;      ///< not allowed to throw
  std::function<void(int thread)> prepare;  ///< once per thread, pinned already; may be empty
};

/// Amount per second of all threads together in the best of many batches of about half a millisecond (or one
/// call), for about `seconds`. Thread k is pinned to processors[k]. All start a batch together, and it ends
/// with the last one.
///
/// The best, not the mean: neighbours and the hypervisor only ever slow things. The threads are busy for a
/// while before the first batch, so that frequencies have settled.
double best_rate(const std::vector<int>& processors, const Work& work, double seconds);

}  // namespace axrun::perf
