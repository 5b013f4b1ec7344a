#include "runtime/onnxruntime_ep/examined_parts.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cache/hash.h"
#include "runtime/cache/location.h"
#include "runtime/onnxruntime_ep/refusals.h"
#include "runtime/session_policy.h"
#include "runtime/warm/origin.h"

namespace axrun::ort {
namespace {

/// Goes up with every change of what refused_nodes refuses: the version that marks are bound to does not know
/// the sources of this folder.
constexpr int revision = 2;

std::string subject_of(const WrittenModel& part) {
  std::vector<std::string_view> looked_at{part.bytes};
  std::vector<uint64_t> sizes;
  for (const auto& [name, file] : part.options.memory_files) {
    looked_at.push_back(name);
    sizes.push_back(file.size);
    if (file.size <= looked_at_bytes) looked_at.emplace_back(static_cast<const char*>(file.data), file.size);
  }
  looked_at.emplace_back(reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(uint64_t));
  return fmt::format("nothing is refused of {}, {} {}", cache::to_text(cache::hash_of(looked_at)),
                     runtime::generator_text(), revision);
}

}  // namespace

ExaminedParts::ExaminedParts(const runtime::SessionOptions& session) {
  if (!why_no_optimizer(session).empty() || !why_no_cache(session).empty()) return;
  cache::Settings settings = cache::settings_of_environment(session.cache_dir);
  if (settings.directory.empty() && settings.layers.empty()) return;
  settings.generator = runtime::generator_text();  // marks hold on every machine
  store_ = cache::Store::open(std::move(settings));
}

bool ExaminedParts::has(const WrittenModel& part) const {
  return store_ != nullptr && store_->is_marked(subject_of(part));
}

void ExaminedParts::add(const WrittenModel& part) {
  if (store_ != nullptr) store_->mark(subject_of(part));
}

}  // namespace axrun::ort
