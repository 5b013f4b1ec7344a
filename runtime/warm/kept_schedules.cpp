#include "runtime/warm/kept_schedules.h"

#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "search/schedule_store.h"

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

void keep_schedules_in(std::shared_ptr<cache::Store> store) {
  static std::mutex mutex;
  static auto& folder = *new std::optional<std::filesystem::path>;  // threads may run on at the end
  const std::lock_guard<std::mutex> lock(mutex);
  // Another store for the same folder would read it all again.
  if (store->settings().directory == folder) return;
  folder = store->settings().directory;
  search::keep_schedules_in(std::make_shared<SchedulesInCache>(std::move(store)));
}

}  // namespace axrun::runtime
