#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace axrun::runtime {

class StopSignal;

/// Keeps background work to a part of what a quota of processor time leaves: work that waits for throttling
/// to show has cost others a period by then. What everybody else in the control group uses is watched, and
/// half of what is left beside it, in equal parts for the optimiser's thread and its helper process, is used
/// in turns of about a millisecond. The same turns keep it to the share that a user wants, quota or not.
///
/// For the optimiser's thread only.
class Pace {
 public:
  /// most: of one processor, in (0, 1]; thread and helper hardly work at the same time. The paths are for
  /// tests.
  explicit Pace(double most = 1, const std::string& process_groups = "/proc/self/cgroup",
                const std::string& mount = "/sys/fs/cgroup");

  /// There is a quota.
  bool limited() const { return quota_ > 0; }
  /// Nothing to speak of is left for background work.
  bool spent() const { return limited() && left_ < least_left; }
  /// Of one processor, for the thread and as much for the helper. Without a quota, what the user allows.
  double share() const;
  /// The group was throttled all the same: less from now on, for a while.
  void throttled();
  /// Whose time is not somebody else's; 0: there is none.
  void set_helper(pid_t process);

  /// Sleeps where the thread is ahead of its share. Little more than a look at the clock otherwise.
  void wait(const StopSignal& stop);
  /// What wait does with the times: how long to sleep. For tests, and of them `others` besides: processor
  /// seconds that everybody else in the group has used so far.
  double due(double now, double used, double others);

 private:
  static constexpr double least_left = 0.02;
  double used_by_others(double own) const;

  const double most_;
  double quota_ = 0;                ///< processors; 0: no limit
  std::vector<std::string> usage_;  ///< files that say what the group has used; empty: this process counts
  bool in_nanoseconds_ = false;
  pid_t helper_ = 0;
  bool begun_ = false;
  double reviewed_ = 0, others_ = 0;  ///< at the last review
  double peak_ = 0;                   ///< processors that others have used, what was long ago forgotten
  double left_ = least_left, trust_ = 1;
  double last_ = 0, last_used_ = 0, ahead_ = 0;
};

}  // namespace axrun::runtime
