#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/cache/store.h"
#include "runtime/optimizer_status.h"

namespace axrun::cli {

/// What `axrun cache verify --deep` says of packed constants.
struct PackedReport {
  nlohmann::ordered_json json;
  std::string text;
  int exit_code = 0;
};

/// Packs the constants of the models (files) again and compares them with what is stored, byte by byte. What
/// belongs to no model that is given has its checksum only: the constants that it was packed of are not
/// stored. threads: of the sessions whose kernels are looked at; 0: as many as sessions have where nobody
/// says.
PackedReport verify_packed(const cache::Settings& settings, const std::vector<std::string>& models,
                           int threads);

}  // namespace axrun::cli
