#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace axrun::serve {

/// Lets so many jobs at a time do something, and so many wait for it, in the order in which they came. No
/// thread waits: whoever ends its turn gets the job whose turn it is then.
///
/// A job is admitted, enters (unless it fails before), and leaves the room at its end; between entering and
/// leaving its turn it may give up.
template <class Job>
class Turns {
 public:
  Turns(int at_a_time, int waiting) : free_(at_a_time), room_(at_a_time + waiting) {}

  /// False where there is no room. Otherwise leave_room() must follow.
  bool admit() {
    const std::lock_guard lock(mutex_);
    if (room_ == 0) return false;
    --room_;
    return true;
  }
  void leave_room() {
    const std::lock_guard lock(mutex_);
    ++room_;
  }

  /// True where it is the job's turn at once: end_turn() must follow. Otherwise end_turn() gives it to
  /// somebody later, unless it gives up.
  bool enter(const std::shared_ptr<Job>& job) {
    const std::lock_guard lock(mutex_);
    if (free_ == 0) {
      waiting_.push_back(job);
      return false;
    }
    --free_;
    return true;
  }
  /// The job whose turn it is now, or null.
  [[nodiscard]] std::shared_ptr<Job> end_turn() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      ++free_;
      return nullptr;
    }
    std::shared_ptr<Job> next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  /// Whether the job was still waiting: its turn will not come.
  bool give_up(const std::shared_ptr<Job>& job) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(waiting_.begin(), waiting_.end(), job);
    if (found == waiting_.end()) return false;
    waiting_.erase(found);
    return true;
  }
  /// All that wait; their turns will not come.
  std::vector<std::shared_ptr<Job>> give_up_all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Job>> all(waiting_.begin(), waiting_.end());
    waiting_.clear();
    return all;
  }

 private:
  std::mutex mutex_;
  int free_, room_;
  std::deque<std::shared_ptr<Job>> waiting_;
};

}  // namespace axrun::serve
