#include "runtime/serve/routes.h"

#include <charconv>
#include <vector>

namespace axrun::serve {
namespace {

/// %41 is A; anything else stays as it is.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t k = 0; k < text.size(); ++k) {
    unsigned char byte = 0;
    if (text[k] == '%' && k + 2 < text.size()) {
      const char* const digits = text.data() + k + 1;
      const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
      if (error == std::errc() && end == digits + 2) {
        decoded += static_cast<char>(byte);
        k += 2;
        continue;
      }
    }
    decoded += text[k];
  }
  return decoded;
}

std::string_view path_of(std::string_view target) {
  if (!target.starts_with('/')) {
    const size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return {};
    target.remove_prefix(scheme + 3);
    const size_t slash = target.find('/');
    if (slash == std::string_view::npos) return {};
    target.remove_prefix(slash);
  }
  return target.substr(0, target.find_first_of("?#"));
}

/// The parts between slashes, the first of which precedes the path.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = path.find('/');
    parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end, path.size()));
  }
  return parts;
}

}  // namespace

Target target_of(std::string_view target) {
  const std::string_view path = path_of(target);
  if (path == "/v2") return {Resource::server, {}, {}};
  if (path == "/v2/health/live") return {Resource::live, {}, {}};
  if (path == "/v2/health/ready") return {Resource::ready, {}, {}};
  if (path == "/metrics") return {Resource::metrics, {}, {}};
  const std::vector<std::string_view> parts = parts_of(path);
  if (parts.size() < 3 || parts[0] != "v2" || parts[1] != "models" || parts[2].empty()) return {};
  Target found{Resource::model, percent_decoded(parts[2]), {}};
  size_t at = 3;
  if (at + 1 < parts.size() && parts[at] == "versions" && !parts[at + 1].empty()) {
    found.version = percent_decoded(parts[at + 1]);
    at += 2;
  }
  if (at == parts.size()) return found;
  if (at + 1 != parts.size()) return {};
  if (parts[at] == "ready") {
    found.resource = Resource::model_ready;
  } else if (parts[at] == "infer") {
    found.resource = Resource::infer;
  } else {
    return {};
  }
  return found;
}

std::string_view methods_of(Resource resource) { return resource == Resource::infer ? "POST" : "GET, HEAD"; }

bool is_for_probes(Resource resource) {
  return resource == Resource::live || resource == Resource::ready || resource == Resource::metrics;
}

}  // namespace axrun::serve
