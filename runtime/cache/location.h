#pragma once

#include <filesystem>

#include "runtime/cache/store.h"

namespace axrun::cache {

/// What the environment says: AXRUN_CACHE, AXRUN_CACHE_DIR, AXRUN_CACHE_LAYERS, AXRUN_CACHE_LIMIT. A folder
/// that the program or the command line names takes the place of AXRUN_CACHE_DIR, and is used with
/// AXRUN_CACHE=off, too. Machine and version are left to whoever opens the store.
Settings settings_of_environment(const std::filesystem::path& folder = {});

/// $AXRUN_CACHE_DIR, else $XDG_CACHE_HOME/axrun, else $HOME/.cache/axrun where HOME is a folder; otherwise
/// empty.
std::filesystem::path standard_folder();

}  // namespace axrun::cache
