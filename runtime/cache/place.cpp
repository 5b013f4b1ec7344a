#include "runtime/cache/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

namespace {

/// Machine code, plans and proofs are small next to packed constants, and took minutes, not milliseconds.
constexpr int64_t smallest_large_file = int64_t{1} << 20;

/// The file that was used longest ago; false where it cannot be removed.
bool remove_last(std::vector<FileInFolder>& files) {
  std::error_code error;
  const bool removed = fs::remove(files.back().path, error);
  files.pop_back();
  return removed;
}

}  // namespace

int64_t Place::evict(int64_t most_bytes) {
  remove_unfinished(weights());
  std::vector<FileInFolder> small = files_in(weights());
  // The one that was used longest ago is last.
  std::sort(small.begin(), small.end(), [](const auto& a, const auto& b) { return a.used > b.used; });
  std::vector<FileInFolder> large;
  std::copy_if(small.begin(), small.end(), std::back_inserter(large),
               [](const FileInFolder& file) { return file.bytes >= smallest_large_file; });
  std::erase_if(small, [](const FileInFolder& file) { return file.bytes >= smallest_large_file; });
  int64_t of_large = 0;
  for (const FileInFolder& file : large) of_large += file.bytes;
  int64_t of_small = bytes() - of_large;
  int64_t removed = evict_small(small, of_small, std::max(most_bytes / 4, most_bytes - of_large));
  while (of_small + of_large > most_bytes && !large.empty()) {
    of_large -= large.back().bytes;
    if (remove_last(large)) ++removed;
  }
  if (removed > 0)
    for (Database* database : {&results_, &machine_}) database->shrink();
  return removed;
}

/// Entries of both databases and files, in one order.
int64_t Place::evict_small(std::vector<FileInFolder>& files, int64_t& left, int64_t most_bytes) {
  constexpr size_t at_once = 256;
  int64_t removed = 0;
  while (left > most_bytes) {
    // As far as the shortest of the three goes.
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
        if (remove_last(files)) ++removed;
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
