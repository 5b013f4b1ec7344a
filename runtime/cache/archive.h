#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/cache/parts.h"
#include "runtime/cache/store.h"

namespace axrun::cache {

struct Archived {
  int64_t entries = 0, bytes = 0;  ///< that were written or taken over
  int64_t known = 0;               ///< that were there already
  std::array<int64_t, refusal_count> refused = {};
  int64_t not_portable = 0;  ///< left out: they belong to a machine
  std::string trouble;       ///< why it failed; empty: it did not
};

/// Writes the portable part of the settings' folders, what is whole of it, to a file: aside, synced, renamed.
Archived export_archive(const Settings& settings, const std::filesystem::path& file);

/// Takes over what such a file holds into the settings' folder: every entry is checked, only portable ones
/// are taken, for the version that made them, and those that are there stay. The file may hold anything.
Archived import_archive(const Settings& settings, const std::filesystem::path& file);

}  // namespace axrun::cache
