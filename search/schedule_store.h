#pragma once

#include <memory>
#include <optional>
#include <string>

namespace axrun::search {

/// Keeps what searches for schedules found between processes: bytes under keys that say everything they
/// depend on but the version of this code. Any thread may call it; nothing is thrown.
class ScheduleStore {
 public:
  virtual ~ScheduleStore() = default;
  virtual std::optional<std::string> load(const std::string& key) = 0;
  virtual void save(const std::string& key, const std::string& bytes) = 0;
  /// What was loaded made no sense.
  virtual void reject(const std::string& key) = 0;
};

/// What searches of this process found, and what they took over.
struct ScheduleSearches {
  int64_t products = 0, states = 0;       ///< searched here
  int64_t taken_over = 0;                 ///< specifications that were loaded
  int64_t specifications = 0, bytes = 0;  ///< in memory
  double seconds = 0;
};
ScheduleSearches schedule_searches();

/// From now on product_schedules() looks there first, and leaves there what it finds; null: nowhere.
void keep_schedules_in(std::shared_ptr<ScheduleStore> store);

/// Forgets what this process knows, but for what is kept elsewhere: as if it had just started. For tests.
void forget_schedules();

}  // namespace axrun::search
