#pragma once

#include <filesystem>

#include "runtime/cache/store.h"

namespace axrun::cache {

inline Settings settings_in(const std::filesystem::path& folder) {
  Settings settings;
  settings.directory = folder;
  settings.machine = "this machine";
  settings.generator = "version 1";
  return settings;
}

}  // namespace axrun::cache
