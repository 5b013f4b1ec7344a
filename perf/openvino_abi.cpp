#include "perf/openvino_abi.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

namespace axrun::perf::openvino {
namespace {

/// `ov_element_type_e` since 2026; the types that this program has no name for are left out.
constexpr std::pair<Type, int> types[] = {
    {Type::boolean, 1},     {Type::bfloat16, 2}, {Type::float16, 3}, {Type::float32, 4},
    {Type::float64, 5},     {Type::int4, 6},     {Type::int8, 7},    {Type::int16, 8},
    {Type::int32, 9},       {Type::int64, 10},   {Type::uint4, 14},  {Type::uint8, 16},
    {Type::uint16, 17},     {Type::uint32, 18},  {Type::uint64, 19}, {Type::float8e4m3fn, 21},
    {Type::float8e5m2, 22}, {Type::string, 23},
};

/// The message without the places in OpenVINO's own sources that it came through, which come before what went
/// wrong: "Exception from FILE:LINE:" and "Check 'CONDITION' failed at FILE:LINE:".
std::string without_places(const std::string& message) {
  std::string kept;
  for (std::size_t begin = 0; begin < message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    std::string line = message.substr(begin, end - begin);
    if (line.starts_with("Check ")) {
      if (line.ends_with(":")) line.clear();
      const std::size_t place = line.find(" failed at ");
      const std::size_t reason = place == std::string::npos ? place : line.find(": ", place);
      if (reason != std::string::npos) line.erase(0, reason + 2);
    }
    if (!line.empty() && !line.starts_with("Exception from ")) kept += (kept.empty() ? "" : " ") + line;
    begin = end + 1;
  }
  return kept.empty() ? "no reason given" : kept;
}

}  // namespace

int number_of(Type type) {
  for (const auto& [ours, theirs] : types) {
    if (ours == type) return theirs;
  }
  return -1;
}

Type type_of(int number) {
  for (const auto& [ours, theirs] : types) {
    if (theirs == number) return ours;
  }
  return Type::undefined;
}

Library::Library(const std::string& path)
    : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)), path_(path) {
  if (!handle_) throw HostError(HostError::user, std::string("can't load OpenVINO: ") + dlerror());
}

void* Library::find(const char* name) const {
  if (void* function = dlsym(handle_, name)) return function;
  throw HostError(HostError::user, "'" + path_ + "' is not OpenVINO's C library of 2026: no " + name);
}

void Library::raise(const char* name, int status) const {
  const auto last_error = reinterpret_cast<const char* (*)()>(find("ov_get_last_err_msg"));
  const char* text = last_error();
  throw HostError(HostError::model, std::string(name) + " (" + std::to_string(status) +
                                        "): " + without_places(text ? text : ""));
}

Api::Api(const std::string& path) : library(path) {}

}  // namespace axrun::perf::openvino
