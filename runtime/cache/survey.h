#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/parts.h"
#include "runtime/cache/store.h"

namespace axrun::cache {

/// Entries of one kind, version and machine; files have no part.
struct Group {
  std::optional<Part> part;
  std::string files;   ///< of files: the first word of their keys
  bool marks = false;  ///< files that say what the folder has something for (Store::mark), of every version
  std::string generator, machine;
  int64_t entries = 0, bytes = 0;  ///< as they are stored
  int64_t last_used = 0;           ///< seconds since 1970
};

/// Something stored that cannot be used.
struct Damage {
  std::string where;  ///< file, and row of a database
  Refusal refusal = Refusal::damaged;
};

/// A folder of the cache, the writable one or a layer.
struct FolderSurvey {
  std::filesystem::path folder;
  bool layer = false, usable = false, writable = false;
  std::vector<std::string> troubles;  ///< why not; databases that cannot be read
  std::vector<Group> groups;
  std::vector<Damage> damages;  ///< where checksums were looked at

  int64_t entries() const;
  int64_t bytes() const;
};

/// What is in the folders that the settings name. check: every checksum is looked at, of entries of whatever
/// version and machine. Nothing is changed.
std::vector<FolderSurvey> survey(const Settings& settings, bool check);

/// An entry with its checksum looked at, whoever it is of.
struct StoredEntry {
  std::string where;  ///< file, and row of a database
  Part part = Part::schedules;
  std::string generator, machine, key, payload;
};
/// Calls with what is whole of such entries, folder by folder. No database is held meanwhile.
void for_entries(const Settings& settings, Part part, const std::function<void(const StoredEntry&)>& call);
/// The same with files whose keys begin like this (their part is `code`).
void for_files(const Settings& settings, std::string_view prefix,
               const std::function<void(const StoredEntry&)>& call);

/// What prune removes, besides what is damaged and what processes that were killed left behind.
struct PruneOptions {
  bool everything = false;                  ///< all entries and files
  std::optional<int64_t> most_bytes = {};   ///< then what was used longest ago, until so much is left
  std::optional<int64_t> unused_days = {};  ///< what was not used for so many days
};
struct Pruned {
  int64_t entries = 0, bytes = 0;
  std::string trouble;  ///< why nothing can be removed
};
/// Of the writable folder.
Pruned prune(const Settings& settings, const PruneOptions& options);

}  // namespace axrun::cache
