#include "runtime/cache/store.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "jit/file_size_signal.h"
#include "runtime/cache/database.h"
#include "runtime/cache/directory.h"
#include "runtime/cache/entry.h"
#include "runtime/cache/place.h"
#include "runtime/cache/weights.h"

namespace axrun::cache {
namespace {

int64_t now() { return static_cast<int64_t>(std::time(nullptr)); }

/// Last uses are as exact as that.
constexpr int64_t seconds_between_uses = 3600;
/// What was used is written down when so much of it has come together, or when the store is released.
constexpr size_t most_used = 256;
/// Other processes fill the directory, too: it is measured again after so many entries.
constexpr int64_t entries_between_measurements = 256;

Stored outcome_of(Access access) {
  switch (access) {
    case Access::done:
      return Stored::stored;
    case Access::busy:
      return Stored::busy;
    case Access::full:
      return Stored::disk_full;
    case Access::read_only:
    case Access::newer:
    case Access::untrusted:
      return Stored::read_only;
    case Access::absent:
    case Access::damaged:
    case Access::failed:
      break;
  }
  return Stored::failed;
}

Refusal refusal_of(Access access) {
  switch (access) {
    case Access::busy:
      return Refusal::busy;
    case Access::damaged:
      return Refusal::damaged;
    case Access::newer:
      return Refusal::outdated;
    case Access::untrusted:
      return Refusal::untrusted;
    default:
      return Refusal::unreadable;
  }
}

class DiskStore final : public Store {
 public:
  explicit DiskStore(Settings settings) : settings_(std::move(settings)) {
    if (settings_.generator.empty()) {
      troubles_.emplace_back("no version: nothing is stored");
      return;
    }
    const auto add = [&](const std::filesystem::path& folder, bool layer) {
      std::string trouble;
      auto place = open_place(folder, layer, settings_.busy_milliseconds, trouble);
      if (!trouble.empty()) troubles_.push_back(std::move(trouble));
      if (place != nullptr) places_.push_back(std::move(place));
    };
    if (!settings_.directory.empty())
      add(settings_.directory, false);
    else if (!settings_.why_none.empty())
      troubles_.push_back(settings_.why_none);
    for (const std::filesystem::path& layer : settings_.layers) add(layer, true);
  }
  ~DiskStore() override { release(); }

  std::optional<std::string> get(Part part, std::string_view key) override {
    const jit::FileSizeSignal signal;
    const Address address = address_of(part, key);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& place : places_) {
      if (std::optional<std::string> payload = get_from(*place, address)) {
        ++counters_.hits;
        counters_.bytes_read += static_cast<int64_t>(payload->size());
        return payload;
      }
    }
    ++counters_.misses;
    return std::nullopt;
  }

  Stored put(Part part, std::string_view key, std::string_view payload) override {
    const jit::FileSizeSignal signal;
    const Address address = address_of(part, key);
    const std::optional<Sealed> sealed = writable() ? seal(address, payload) : std::nullopt;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!writable()) return count(readable() ? Stored::read_only : Stored::off);
    if (!sealed) return count(Stored::too_large);
    Place& place = *places_[0];
    Database& database = place.database_of(part);
    Access access = database.put(address, *sealed, now());
    if (access == Access::damaged && set_aside(database)) access = database.put(address, *sealed, now());
    if (access == Access::done) {
      counters_.bytes_written += static_cast<int64_t>(payload.size());
      make_room(place, static_cast<int64_t>(sealed->body.size()));
    }
    return count(outcome_of(access));
  }

  void reject(Part part, std::string_view key) override {
    const jit::FileSizeSignal signal;
    const std::lock_guard<std::mutex> lock(mutex_);
    count(Refusal::rejected);
    if (writable()) places_[0]->database_of(part).erase(address_of(part, key));
  }

  std::shared_ptr<const MappedFile> get_file(std::string_view key) override {
    const FileName name{key, settings_.generator, settings_.machine};
    for (const auto& place : places_) {
      if (!place->weights_are_trusted()) continue;
      auto found = map_file(place->weights(), name);
      if (auto* file = std::get_if<std::shared_ptr<const MappedFile>>(&found)) {
        if (*file == nullptr) continue;
        const std::lock_guard<std::mutex> lock(mutex_);
        ++counters_.hits;
        counters_.bytes_read += static_cast<int64_t>((*file)->bytes().size());
        if (place->writable()) touch_after(place->weights() / name.text(), seconds_between_uses);
        return *file;
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      const Refusal refusal = std::get<Refusal>(found);
      count(refusal);
      // Under this name nothing else belongs.
      const bool misplaced = refusal == Refusal::other_key || refusal == Refusal::other_machine;
      if ((refusal == Refusal::damaged || misplaced) && place->writable()) {
        std::error_code error;
        std::filesystem::remove(place->weights() / name.text(), error);
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counters_.misses;
    return nullptr;
  }

  void reject_file(std::string_view key) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    count(Refusal::rejected);
    if (!writable() || !places_[0]->weights_are_trusted()) return;
    const FileName name{key, settings_.generator, settings_.machine};
    std::error_code error;
    std::filesystem::remove(places_[0]->weights() / name.text(), error);
  }

  bool has_file(std::string_view key) const override {
    return exists(FileName{key, settings_.generator, settings_.machine});
  }

  bool is_marked(std::string_view subject) const override { return exists(FileName{subject, {}, {}}); }
  void mark(std::string_view subject) override {
    const jit::FileSizeSignal signal;
    const FileName name{subject, {}, {}};
    if (!writable() || !places_[0]->weights_are_trusted() || exists(name)) return;
    const Stored outcome = write_file(places_[0]->weights(), name, 0, [](auto) {});
    const std::lock_guard<std::mutex> lock(mutex_);
    count(outcome);
  }

  std::shared_ptr<const MappedFile> put_file(std::string_view key, size_t bytes,
                                             const std::function<void(std::span<std::byte>)>& fill) override {
    const jit::FileSizeSignal signal;
    const FileName name{key, settings_.generator, settings_.machine};
    const auto done = [&](Stored outcome) {
      const std::lock_guard<std::mutex> lock(mutex_);
      return count(outcome);
    };
    if (!writable() || !places_[0]->weights_are_trusted()) {
      done(readable() ? Stored::read_only : Stored::off);
      return nullptr;
    }
    Place& place = *places_[0];
    if (static_cast<int64_t>(bytes) > settings_.limit_bytes) {
      done(Stored::too_large);
      return nullptr;
    }
    Stored outcome = write_file(place.weights(), name, bytes, fill);
    if (outcome != Stored::stored) {
      done(outcome);
      return nullptr;
    }
    auto found = map_file(place.weights(), name);
    auto* file = std::get_if<std::shared_ptr<const MappedFile>>(&found);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (file == nullptr || *file == nullptr) {
      count(Stored::failed);
      return nullptr;
    }
    count(Stored::stored);
    counters_.bytes_written += static_cast<int64_t>(bytes);
    make_room(place, static_cast<int64_t>(bytes));
    return *file;
  }

  void release() override {
    const jit::FileSizeSignal signal;
    const std::lock_guard<std::mutex> lock(mutex_);
    write_uses();
    for (const auto& place : places_) place->close();
  }

  bool writable() const override { return !places_.empty() && places_[0]->writable(); }
  bool readable() const override { return !places_.empty(); }
  std::vector<std::string> troubles() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return troubles_;
  }
  Counters counters() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counters_;
  }
  const Settings& settings() const override { return settings_; }

  /// Around a fork: SQLite's files must not be open in two processes by one opening.
  void before_fork() {
    const jit::FileSizeSignal signal;
    mutex_.lock();
    for (const auto& place : places_) place->close_quickly();
  }
  void after_fork() { mutex_.unlock(); }

 private:
  Address address_of(Part part, std::string_view key) const {
    return {part, key, settings_.generator, is_portable(part) ? std::string_view() : settings_.machine};
  }
  bool exists(const FileName& name) const {
    const std::string file = name.text();
    return std::any_of(places_.begin(), places_.end(), [&](const auto& place) {
      const std::filesystem::path path = place->weights() / file;
      struct stat status {};
      if (lstat(path.c_str(), &status) != 0) return false;
      if (place->writable() && now() - status.st_mtime > seconds_between_uses) touch(path);
      return true;
    });
  }
  Stored count(Stored outcome) {
    ++counters_.stored[static_cast<size_t>(outcome)];
    return outcome;
  }
  void count(Refusal refusal) { ++counters_.refused[static_cast<size_t>(refusal)]; }

  std::optional<std::string> get_from(Place& place, const Address& address) {
    Database& database = place.database_of(address.part);
    if (place.is_given_up(database)) return std::nullopt;
    std::optional<std::string> payload;
    std::vector<Refusal> refusals;
    std::vector<int64_t> damaged;
    const auto look = [&](int64_t row, const Found& found, int64_t used) {
      auto opened = open_entry(address, found);
      if (auto* text = std::get_if<std::string>(&opened)) {
        payload = std::move(*text);
        if (place.writable() && now() - used > seconds_between_uses) used_[&database].push_back(row);
        return true;
      }
      refusals.push_back(std::get<Refusal>(opened));
      if (refusals.back() == Refusal::damaged) damaged.push_back(row);
      return false;
    };
    const Access access = database.find(address.subject(), look);
    for (const Refusal refusal : refusals)
      if (!payload || refusal == Refusal::damaged) count(refusal);
    if (access != Access::done && access != Access::absent) {
      count(refusal_of(access));
      give_up_or_renew(place, database, access);
    } else if (place.writable() && !damaged.empty()) {
      database.erase(damaged);
    }
    if (const auto used = used_.find(&database); used != used_.end() && used->second.size() > most_used)
      write_uses();
    return payload;
  }

  void give_up_or_renew(Place& place, Database& database, Access access) {
    if (access == Access::damaged && place.writable()) {
      set_aside(database);
      return;
    }
    if (access == Access::busy || access == Access::full || access == Access::failed) return;
    troubles_.push_back(
        fmt::format("{}: {}", database.file().string(),
                    access == Access::newer ? "made by a later version" : database.message()));
    place.give_up(database);
  }

  bool set_aside(Database& database) {
    if (!database.set_aside()) return false;
    ++counters_.set_aside;
    used_.erase(&database);
    troubles_.push_back(
        fmt::format("{} was damaged: it is beside it, and a new one begun", database.file().string()));
    return true;
  }

  void write_uses() {
    for (auto& [database, rows] : used_)
      if (!rows.empty()) database->set_used(rows, now());
    used_.clear();
  }

  static void touch_after(const std::filesystem::path& file, int64_t seconds) {
    struct stat status {};
    if (stat(file.c_str(), &status) == 0 && now() - status.st_mtime > seconds) touch(file);
  }

  void make_room(Place& place, int64_t written) {
    if (entries_ % entries_between_measurements == 0)
      bytes_ = place.bytes();
    else
      bytes_ += written;
    ++entries_;
    if (bytes_ <= settings_.limit_bytes) return;
    write_uses();
    counters_.evicted += place.evict(settings_.limit_bytes - settings_.limit_bytes / 8);
    bytes_ = place.bytes();
  }

  const Settings settings_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<std::string> troubles_;
  Counters counters_;
  std::map<Database*, std::vector<int64_t>> used_;
  int64_t bytes_ = 0, entries_ = 0;
};

/// All stores of the process, for forks.
class Stores {
 public:
  static Stores& of_process() {
    static auto* stores = new Stores;  // outlives every store
    return *stores;
  }
  void add(DiskStore* store) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stores_.push_back(store);
  }
  void remove(DiskStore* store) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(stores_, store);
  }

 private:
  Stores() {
    pthread_atfork(
        [] {
          of_process().mutex_.lock();
          for (DiskStore* store : of_process().stores_) store->before_fork();
        },
        after_fork, after_fork);
  }
  static void after_fork() {
    for (DiskStore* store : of_process().stores_) store->after_fork();
    of_process().mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<DiskStore*> stores_;
};

}  // namespace

std::shared_ptr<Store> Store::open(Settings settings) {
  auto* store = new DiskStore(std::move(settings));
  Stores::of_process().add(store);
  return {store, [](DiskStore* old) {
            Stores::of_process().remove(old);
            delete old;
          }};
}

int64_t Counters::all_refused() const { return std::accumulate(refused.begin(), refused.end(), int64_t{0}); }

MappedFile::~MappedFile() { munmap(const_cast<void*>(mapping_), mapped_); }

}  // namespace axrun::cache
