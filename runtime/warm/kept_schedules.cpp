#include "runtime/warm/kept_schedules.h"

#include <optional>
#include <utility>

namespace axrun::runtime {
namespace {

class SchedulesInCache : public search::ScheduleStore {
 public:
  explicit SchedulesInCache(std::shared_ptr<cache::Store> store) : store_(std::move(store)) {}

  std::optional<std::string> load(const std::string& key) override {
    return store_->get(cache::Part::schedules, key);
  }
  void save(const std::string& key, const std::string& bytes) override {
    store_->put(cache::Part::schedules, key, bytes);
  }
  void reject(const std::string& key) override { store_->reject(cache::Part::schedules, key); }

 private:
  std::shared_ptr<cache::Store> store_;
};

}  // namespace

std::shared_ptr<search::ScheduleStore> schedules_in(std::shared_ptr<cache::Store> store) {
  return std::make_shared<SchedulesInCache>(std::move(store));
}

}  // namespace axrun::runtime
