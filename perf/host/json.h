// One line of JSON, written member by member in the order of the calls.
#pragma once

#include <string>
#include <string_view>

namespace axrun::perf {

/// Text as a JSON string, quotes included; bytes that are not UTF-8 pass through unchanged.
std::string json_string(std::string_view text);

/// The shortest decimal that reads back as the same number.
std::string json_number(double value);

class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value) { return raw(key, json_string(value)); }
  JsonObject& number(std::string_view key, double value) { return raw(key, json_number(value)); }
  JsonObject& integer(std::string_view key, long long value) { return raw(key, std::to_string(value)); }
  JsonObject& boolean(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  JsonObject& raw(std::string_view key, std::string_view json);  ///< `json` is already JSON
  std::string str() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

/// `[f(x), ...]` over a container, where f gives JSON.
template <class Container, class ToJson>
std::string json_array(const Container& items, ToJson to_json) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ",";
    out += to_json(item);
  }
  return out + "]";
}

}  // namespace axrun::perf
