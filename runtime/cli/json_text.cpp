#include "runtime/cli/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace axrun::cli {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string line_of(const Json& json) {
  // Names come from files: bytes that are no UTF-8 are replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace axrun::cli
