#include "runtime/operators/recurrent_sharing.h"

#include <algorithm>

namespace axrun::runtime {
namespace {

/// Multiply-adds of one direction above which two directions are worth a thread each.
constexpr double parallel_work = 200'000;
/// Multiply-adds of all steps, and of one phase, above which units are worth several threads: threads come
/// late, and a phase ends with what a cache line takes from core to core.
constexpr double parallel_sequence_work = 500'000;
constexpr double parallel_phase_work = 50'000;
/// Multiply-adds that are worth a part of their own: as much as a thread may wait for at the end of a phase.
constexpr double work_per_part = 16'000;
/// Weights of a part: so little that its end is still in the second cache level when it is read next.
constexpr int64_t bytes_per_part = 128 << 10;
constexpr int64_t most_parts = 64;

/// Of a state's product with R.
double step_work(int64_t rows, int64_t hidden, int64_t columns) {
  return static_cast<double>(rows * hidden) * static_cast<double>(columns);
}

}  // namespace

RecurrentSharing::RecurrentSharing(const RecurrentSetup& setup, int threads)
    : batch_(setup.batch),
      hidden_(setup.hidden),
      block_(setup.block),
      blocks_((setup.hidden + setup.block - 1) / setup.block),
      columns_(setup.gate_columns()),
      directions_(setup.directions),
      phases_(setup.has_two_products() ? 2 : 1),
      threads_(threads),
      work_(static_cast<double>(setup.length * setup.batch * columns_) *
            static_cast<double>(setup.input + setup.hidden)) {}

int64_t RecurrentSharing::direction_grain() const { return work_ > parallel_work ? 1 : 2; }

int64_t RecurrentSharing::parts(int64_t weight_bytes) const {
  int64_t wanted = weight_bytes / bytes_per_part;
  if (threads_ > 1) {
    const double worth =
        std::min<double>(step_work(batch_, hidden_, columns_) / work_per_part, 4.0 * threads_);
    wanted = std::max(wanted, static_cast<int64_t>(worth));
  }
  return std::clamp<int64_t>(wanted, 1, std::min(blocks_, most_parts));
}

int64_t RecurrentSharing::first_unit(int64_t part, int64_t parts) const {
  return std::min(part * blocks_ / parts * block_, hidden_);
}

int64_t RecurrentSharing::workers(int64_t rows, int64_t steps) const {
  const double work = step_work(rows, hidden_, columns_);
  if (work < parallel_phase_work * static_cast<double>(phases_) ||
      work * static_cast<double>(steps) < parallel_sequence_work)
    return 1;
  return (threads_ + directions_ - 1) / directions_;
}

}  // namespace axrun::runtime
