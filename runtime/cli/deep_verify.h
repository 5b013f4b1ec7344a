#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/cache/store.h"

namespace axrun::cli {

/// What `axrun cache verify --deep` says of the kernels in a cache.
struct DeepReport {
  nlohmann::ordered_json json;
  std::string text;
  int exit_code = 0;  ///< of the worst that was found
};

/// Proves, compiles and tests every kernel that is stored for this version and machine once more: seconds for
/// each. progress: lines on stderr.
DeepReport verify_deeply(const cache::Settings& settings, bool progress);

}  // namespace axrun::cli
