#include "perf/host/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace axrun::perf {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      out += {'\\', character};
    } else if (static_cast<unsigned char>(character) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(character));
      out += escaped;
    } else {
      out += character;
    }
  }
  return out + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  if (!members_.empty()) members_ += ",";
  members_ += json_string(key);
  members_ += ":";
  members_ += json;
  return *this;
}

}  // namespace axrun::perf
