#include "runtime/cache/location.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "runtime/knobs.h"

namespace axrun::cache {

using runtime::knob_value;
using runtime::KnobName;

std::filesystem::path standard_folder() {
  if (const char* folder = knob_value(KnobName::cache_dir)) return folder;
  const auto below = [](const char* variable, const char* rest) {
    const char* value = secure_getenv(variable);
    return value == nullptr || *value != '/' ? std::filesystem::path() : std::filesystem::path(value) / rest;
  };
  const std::filesystem::path folder = below("XDG_CACHE_HOME", "axrun");
  if (!folder.empty()) return folder;
  // A home that is not there is no place to make one: services name /nonexistent.
  std::error_code error;
  const char* const home = std::getenv("HOME");
  const bool is_there = home != nullptr && std::filesystem::is_directory(home, error);
  return is_there ? below("HOME", ".cache/axrun") : std::filesystem::path();
}

Settings settings_of_environment(const std::filesystem::path& folder) {
  Settings settings;
  const char* use = knob_value(KnobName::cache);
  if (use != nullptr && std::string_view(use) == "off" && folder.empty()) {
    settings.why_none = "AXRUN_CACHE=off";
    return settings;
  }
  settings.directory = folder.empty() ? standard_folder() : folder;
  if (settings.directory.empty())
    settings.why_none = "neither AXRUN_CACHE_DIR nor XDG_CACHE_HOME is set, and HOME is no folder";
  if (const char* layers = knob_value(KnobName::cache_layers)) {
    for (std::string_view rest = layers; !rest.empty();) {
      const std::string_view layer = rest.substr(0, rest.find(':'));
      if (!layer.empty()) settings.layers.emplace_back(layer);
      rest.remove_prefix(std::min(layer.size() + 1, rest.size()));
    }
  }
  if (const char* limit = knob_value(KnobName::cache_limit)) {
    const int64_t mebibytes = std::strtoll(limit, nullptr, 10);
    constexpr int64_t most = int64_t{1} << 40;
    if (mebibytes > 0 && mebibytes < most) settings.limit_bytes = mebibytes << 20;
  }
  return settings;
}

}  // namespace axrun::cache
