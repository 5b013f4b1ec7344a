#include "runtime/cache/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "runtime/cache/directory.h"
#include "runtime/cache/weights.h"

namespace axrun::cache {

namespace fs = std::filesystem;

Place::Place(fs::path folder, bool writable, int busy_milliseconds)
    : folder_(std::move(folder)),
      writable_(writable),
      results_(folder_ / "results.db", writable ? Database::Mode::read_write : Database::Mode::immutable,
               busy_milliseconds),
      machine_(folder_ / "machine.db", writable ? Database::Mode::read_write : Database::Mode::immutable,
               busy_milliseconds) {}

bool Place::weights_are_trusted() const {
  // The way to it was looked at when the place was opened.
  return is_trusted_folder(weights(), !writable_);
}

void Place::give_up(const Database& database) {
  (&database == &results_ ? results_given_up_ : machine_given_up_) = true;
}

bool Place::is_given_up(const Database& database) const {
  return &database == &results_ ? results_given_up_ : machine_given_up_;
}

int64_t Place::bytes() {
  int64_t sum = 0;
  for (Database* database : {&results_, &machine_}) {
    int64_t bytes = 0;
    if (database->total(bytes) == Access::done) sum += bytes;
  }
  for (const FileInFolder& file : files_in(weights())) sum += file.bytes;
  return sum;
}

int64_t Place::evict(int64_t most_bytes) {
  constexpr size_t at_once = 256;
  int64_t removed = 0, left = bytes();
  remove_unfinished(weights());
  std::vector<FileInFolder> files = files_in(weights());
  // The one that was used longest ago is last.
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.used > b.used; });
  while (left > most_bytes) {
    // Those of both databases and the files, in one order, as far as the shortest of the three goes.
    struct Candidate {
      int64_t used, bytes, row;
      Database* database;
    };
    std::vector<Candidate> candidates;
    for (Database* database : {&results_, &machine_}) {
      std::vector<Database::Old> old;
      if (database->oldest(at_once, old) != Access::done) continue;
      for (const Database::Old& one : old) candidates.push_back({one.used, one.bytes, one.row, database});
    }
    for (size_t n = 0; n < std::min(at_once, files.size()); ++n) {
      const FileInFolder& file = files[files.size() - 1 - n];
      candidates.push_back({file.used, file.bytes, 0, nullptr});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.used < b.used; });
    if (candidates.size() > at_once) candidates.resize(at_once);
    std::vector<int64_t> rows_of_results, rows_of_machine;
    const int64_t before = removed;
    for (const Candidate& one : candidates) {
      if (left <= most_bytes) break;
      left -= one.bytes;
      if (one.database == nullptr) {
        std::error_code error;
        if (fs::remove(files.back().path, error)) ++removed;
        files.pop_back();
      } else {
        (one.database == &results_ ? rows_of_results : rows_of_machine).push_back(one.row);
      }
    }
    if (!rows_of_results.empty() && results_.erase(rows_of_results) == Access::done)
      removed += static_cast<int64_t>(rows_of_results.size());
    if (!rows_of_machine.empty() && machine_.erase(rows_of_machine) == Access::done)
      removed += static_cast<int64_t>(rows_of_machine.size());
    if (removed == before) break;  // nothing is left, or nothing can be removed now
  }
  if (removed > 0)
    for (Database* database : {&results_, &machine_}) database->shrink();
  return removed;
}

void Place::close() {
  results_.close();
  machine_.close();
}

void Place::close_quickly() {
  results_.close_quickly();
  machine_.close_quickly();
}

std::unique_ptr<Place> open_place(const fs::path& folder, bool layer, int busy_milliseconds,
                                  std::string& trouble) {
  std::error_code error;
  if (layer && !fs::exists(folder, error)) {
    trouble = fmt::format("{} is not there", folder.string());
    return nullptr;
  }
  if (!layer) {
    trouble = make_folder(folder);
    if (!trouble.empty()) return nullptr;
  }
  const Trust trust = trust_in(folder, layer);
  if (!trust.trusted) {
    trouble = fmt::format("{} is not used: {}", folder.string(), trust.reason);
    return nullptr;
  }
  if (!layer && !trust.writable)
    trouble = fmt::format("{} cannot be written to: it is only read", folder.string());
  return std::make_unique<Place>(trust.folder, !layer && trust.writable, busy_milliseconds);
}

}  // namespace axrun::cache
