#pragma once

#include "runtime/operators/recurrent_setup.h"

namespace axrun::runtime {

/// How a recurrence is spread over threads: directions first, then the units of a phase in parts, runs of
/// blocks. Results do not depend on it.
class RecurrentSharing {
 public:
  RecurrentSharing(const RecurrentSetup& setup, int threads);

  /// Multiply-adds of one direction.
  double work() const { return work_; }
  /// For parallel_for over the directions.
  int64_t direction_grain() const;
  /// Of a phase whose weights have so many bytes.
  int64_t parts(int64_t weight_bytes) const;
  /// The first unit of a part; `parts` gives the end of the last one.
  int64_t first_unit(int64_t part, int64_t parts) const;
  /// Threads for one direction's rows.
  int64_t workers(int64_t rows, int64_t steps) const;

 private:
  int64_t batch_, hidden_, block_, blocks_, columns_, directions_, phases_;
  int threads_;
  double work_;
};

}  // namespace axrun::runtime
