#pragma once

#include "search/schedule_store.h"

namespace axrun::runtime {

/// The schedules that the host of a worker keeps between processes, asked for over the worker's socket while
/// it answers a request. A host that is gone has none.
class SchedulesOfHost final : public search::ScheduleStore {
 public:
  explicit SchedulesOfHost(int socket) : socket_(socket) {}
  std::optional<std::string> load(const std::string& key) override;
  void save(const std::string& key, const std::string& bytes) override;
  void reject(const std::string& key) override;

 private:
  bool send(const std::string& text) const;

  const int socket_;
};

}  // namespace axrun::runtime
