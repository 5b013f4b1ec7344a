#include "jit/target_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/error.h"
#include "jit/cpu_features.h"

namespace axrun::jit {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t most_text = 64 << 10;
constexpr size_t most_name = 200;
constexpr size_t most_caches = 8;
constexpr int64_t most_cores = 1 << 16;
constexpr int64_t least_cache = 1 << 10;
constexpr int64_t most_cache = int64_t{1} << 40;
// Per second: more than any core does, less than any that would run this does.
constexpr double least_rate = 1e6;
constexpr double most_rate = 1e15;

/// Where a value stands, for errors: "target.json: caches[1].bytes".
class Field {
 public:
  explicit Field(const std::string& source) : text_(source + ": ") {}

  Field member(const std::string& name) const {
    Field field = *this;
    field.text_ += (is_top_ ? "" : ".") + name;
    field.is_top_ = false;
    return field;
  }
  Field element(size_t index) const {
    Field field = *this;
    field.text_ += fmt::format("[{}]", index);
    return field;
  }

  [[noreturn]] void refuse(const std::string& why) const { throw Error(Fault::user, text_ + why); }

 private:
  std::string text_;
  bool is_top_ = true;
};

/// A value as a user would recognise it.
std::string shown(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr size_t most = 60;
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

int64_t integer(const Field& field, const Json& json, int64_t least, int64_t most) {
  const bool is_large = json.is_number_unsigned() &&
                        json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!json.is_number_integer()) field.refuse(fmt::format(" is {}: it is an integer", shown(json)));
  const int64_t value = is_large ? std::numeric_limits<int64_t>::max() : json.get<int64_t>();
  if (is_large || value < least || value > most)
    field.refuse(fmt::format(" is {}: it is from {} to {}", shown(json), least, most));
  return value;
}

int small_integer(const Field& field, const Json& json, int64_t least, int64_t most) {
  return static_cast<int>(integer(field, json, least, most));
}

double rate(const Field& field, const Json& json) {
  if (!json.is_number()) field.refuse(fmt::format(" is {}: it is a number", shown(json)));
  const auto value = json.get<double>();
  if (value == 0) return 0;
  if (!(value >= least_rate && value <= most_rate))
    field.refuse(fmt::format(" is {}: it is 0, which means not measured, or from {:g} to {:g}", shown(json),
                             least_rate, most_rate));
  return value;
}

bool boolean(const Field& field, const Json& json) {
  if (!json.is_boolean()) field.refuse(fmt::format(" is {}: it is true or false", shown(json)));
  return json.get<bool>();
}

std::string text(const Field& field, const Json& json) {
  if (!json.is_string()) field.refuse(fmt::format(" is {}: it is a text", shown(json)));
  auto value = json.get<std::string>();
  const bool has_controls =
      std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (value.size() > most_name || has_controls)
    field.refuse(fmt::format(" is {}: it has at most {} bytes on one line", shown(json), most_name));
  return value;
}

const Json& list(const Field& field, const Json& json, size_t most) {
  if (!json.is_array()) field.refuse(fmt::format(" is {}: it is a list", shown(json)));
  if (json.size() > most) field.refuse(fmt::format(" has {} entries: at most {}", json.size(), most));
  return json;
}

std::vector<std::string> features(const Field& field, const Json& json) {
  std::set<std::string> found;
  for (const Json& entry : list(field, json, cpu_features().size())) {
    const Field place = field.element(found.size());
    const std::string name = text(place, entry);
    if (find_cpu_feature(name) == nullptr)
      place.refuse(fmt::format(" is {}: no feature that is known here", shown(entry)));
    if (!found.insert(name).second) place.refuse(fmt::format(" is {} again", shown(entry)));
  }
  return {found.begin(), found.end()};
}

CacheLevel cache(const Field& field, const Json& json) {
  if (!json.is_object()) field.refuse(fmt::format(" is {}: it is an object", shown(json)));
  CacheLevel cache;
  for (const auto& [key, value] : json.items()) {
    const Field member = field.member(key);
    if (key == "bytes")
      cache.bytes = integer(member, value, least_cache, most_cache);
    else if (key == "line_bytes")
      cache.line_bytes = integer(member, value, 16, 4096);
    else if (key == "shared_by")
      cache.shared_by = small_integer(member, value, 1, most_cores);
    else if (key == "bytes_per_second")
      cache.bytes_per_second = rate(member, value);
    else
      field.refuse(fmt::format(": caches have no field {}", shown(Json(key))));
  }
  if (cache.bytes == 0) field.member("bytes").refuse(" is missing");
  if ((cache.line_bytes & (cache.line_bytes - 1)) != 0)
    field.member("line_bytes").refuse(fmt::format(" is {}: it is a power of two", cache.line_bytes));
  return cache;
}

std::vector<CacheLevel> caches(const Field& field, const Json& json) {
  std::vector<CacheLevel> levels;
  for (const Json& entry : list(field, json, most_caches)) {
    const Field place = field.element(levels.size());
    levels.push_back(cache(place, entry));
    if (levels.size() > 1 && levels.back().bytes <= levels[levels.size() - 2].bytes)
      place.member("bytes").refuse(
          fmt::format(" is {}: levels grow, the nearest comes first", levels.back().bytes));
  }
  return levels;
}

void set_field(Target& target, const std::string& key, const std::string& source, const Json& json) {
  const Field field = Field(source).member(key);
  if (key == "name")
    target.name = text(field, json);
  else if (key == "features")
    return;  // first of all
  else if (key == "vector_bytes")
    target.vector_bytes = small_integer(field, json, 16, 64);
  else if (key == "vector_registers")
    target.vector_registers = small_integer(field, json, 8, 32);
  else if (key == "fma_ports")
    target.fma_ports = small_integer(field, json, 0, 8);
  else if (key == "masks")
    target.masks = boolean(field, json);
  else if (key == "cores")
    target.cores = small_integer(field, json, 1, most_cores);
  else if (key == "caches")
    target.caches = caches(field, json);
  else if (key == "memory_bytes_per_second")
    target.memory_bytes_per_second = rate(field, json);
  else if (key == "flops_per_second")
    target.flops_per_second = rate(field, json);
  else if (key == "schema_version")
    integer(field, json, 1, 1);
  else if (key == "version")
    text(field, json);
  else
    Field(source).refuse(fmt::format("targets have no field {}", shown(Json(key))));
}

/// JSON without repeated keys, which the parser would drop silently.
Json parse_json(std::string_view text, const std::string& source) {
  const Field top(source);
  if (text.size() > most_text)
    top.refuse(fmt::format("{} bytes: a target has at most {}", text.size(), most_text));
  constexpr int most_depth = 4;
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > most_depth) top.refuse("nested too deep for a target");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      top.refuse(fmt::format("the field {} is given twice", shown(parsed)));
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    top.refuse(fmt::format("no JSON: {}", error.what()));
  }
}

}  // namespace

std::string print_target(const Target& target) {
  Json json;
  json["schema_version"] = 1;
  json["name"] = target.name;
  json["features"] = target.features;
  json["vector_bytes"] = target.vector_bytes;
  json["vector_registers"] = target.vector_registers;
  json["fma_ports"] = target.fma_ports;
  json["masks"] = target.masks;
  json["cores"] = target.cores;
  json["caches"] = Json::array();
  for (const CacheLevel& cache : target.caches)
    json["caches"].push_back({{"bytes", cache.bytes},
                              {"line_bytes", cache.line_bytes},
                              {"shared_by", cache.shared_by},
                              {"bytes_per_second", cache.bytes_per_second}});
  json["memory_bytes_per_second"] = target.memory_bytes_per_second;
  json["flops_per_second"] = target.flops_per_second;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Target parse_target(std::string_view text, const Target& base, const std::string& source) {
  const Json json = parse_json(text, source);
  const Field top(source);
  if (!json.is_object()) top.refuse(fmt::format("{} is no object", shown(json)));
  Target target = base;
  if (json.contains("features")) {
    const Field field = top.member("features");
    target.features = features(field, json["features"]);
    if (const std::string why = inconsistency(target); why.starts_with("features")) top.refuse(why);
    const int ports = target.fma_ports;
    derive_vectors(target);
    // Best knowledge stays: ports do not change with what else there is.
    if (ports > 0 && target.fma_ports > 0) target.fma_ports = ports;
  }
  for (const auto& [key, value] : json.items()) set_field(target, key, source, value);
  if (const std::string why = inconsistency(target); !why.empty()) top.refuse(why);
  return target;
}

Target read_target_file(const std::string& path, const Target& base) {
  std::ifstream file(path, std::ios::binary);
  // One byte more than allowed, of whatever size the file is: it may be a device.
  std::string content(most_text + 1, '\0');
  if (file) file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.is_open() || file.bad() || (file.gcount() == 0 && !file.eof()))
    throw Error(Fault::user, fmt::format("target {}: cannot be read", path));
  content.resize(static_cast<size_t>(file.gcount()));
  return parse_target(content, base, path);
}

}  // namespace axrun::jit
