#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cache/database.h"
#include "runtime/cache/parts.h"
#include "runtime/cache/weights.h"

namespace axrun::cache {

/// A folder with a cache in it: `results.db` holds what is portable, `machine.db` what is not, `weights/`
/// files. For one thread at a time.
class Place {
 public:
  Place(std::filesystem::path folder, bool writable, int busy_milliseconds);

  const std::filesystem::path& folder() const { return folder_; }
  bool writable() const { return writable_; }
  Database& results() { return results_; }
  Database& machine() { return machine_; }
  Database& database_of(Part part) { return is_portable(part) ? results_ : machine_; }
  std::filesystem::path weights() const { return folder_ / "weights"; }
  /// Or not there yet.
  bool weights_are_trusted() const;

  /// What cannot be used is not tried again.
  void give_up(const Database& database);
  bool is_given_up(const Database& database) const;

  /// Of all entries and files.
  int64_t bytes();
  /// Removes what was used longest ago until no more than so many bytes are left; how much it was. Large
  /// files go first: entries and small ones only where these are more than a quarter of that.
  int64_t evict(int64_t most_bytes);

  void close();
  void close_quickly();

 private:
  int64_t evict_small(std::vector<FileInFolder>& files, int64_t& left, int64_t most_bytes);

  std::filesystem::path folder_;
  bool writable_;
  Database results_, machine_;
  bool results_given_up_ = false, machine_given_up_ = false;
};

/// Null where the folder cannot be used; then, and where it cannot be written to, `trouble` says why. A layer
/// is never written to, and nothing is missing where it is not there.
std::unique_ptr<Place> open_place(const std::filesystem::path& folder, bool layer, int busy_milliseconds,
                                  std::string& trouble);

}  // namespace axrun::cache
