#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace axrun::runtime {

class Plan;
struct Uses;

/// A few plans by key, the least recently used one dropped first. A dropped plan lives until its last run
/// ends.
class PlanCache {
 public:
  explicit PlanCache(size_t capacity) : capacity_(capacity < 1 ? 1 : capacity) {}
  /// `build` runs without the lock; of two that build one key at once, one result is kept. run: the number
  /// of the run of the model; later ones have higher numbers, 0 is of none.
  std::shared_ptr<const Plan> get(const std::string& key, uint64_t run,
                                  const std::function<std::shared_ptr<const Plan>()>& build);
  /// The same for no run; the plan is known to have been used so often elsewhere.
  std::shared_ptr<const Plan> start_from(const std::string& key, const Uses& uses,
                                         const std::function<std::shared_ptr<const Plan>()>& build);
  size_t size() const;
  /// Of the plans kept and what is nested in them, counted where they are: runs ask.
  int open_steps() const;
  struct Known {
    std::string key;
    std::shared_ptr<const Plan> plan;
    uint64_t runs = 0;  ///< in which it was used
  };
  /// Runs in which there was a plan of these to use.
  uint64_t runs() const;
  /// The plans kept, the one used last first.
  std::vector<Known> known() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Plan> plan;
    uint64_t used = 0, runs = 0, last_run = 0;
  };
  Entry* find(const std::string& key);
  void note(Entry& entry, uint64_t run);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
  uint64_t runs_ = 0, last_run_ = 0;
  size_t capacity_;
};

}  // namespace axrun::runtime
