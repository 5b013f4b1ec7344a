#include "runtime/warm/kept_weights.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace axrun::runtime {
namespace {

/// Empty where a constant is not known.
std::string name_of(const jit::PreparedKey& key, size_t bytes, const KeptWeights::HashOf& hash_of) {
  std::string name = std::string(KeptWeights::prefix) + cache::to_text(cache::hash_of({key.text})) + " of";
  for (const jit::PreparedKey::Constant& constant : key.constants) {
    const std::optional<cache::Hash> hash = hash_of(constant.address, constant.bytes);
    if (!hash) return {};
    name += " " + cache::to_text(*hash);
  }
  return name + ", " + std::to_string(bytes) + " bytes";
}

}  // namespace

std::shared_ptr<char> KeptWeights::find(const jit::PreparedKey& key, size_t bytes) {
  if (bytes < least_bytes) return nullptr;
  const std::string name = name_of(key, bytes, hash_of_);
  if (name.empty()) return nullptr;
  std::shared_ptr<const cache::MappedFile> file;
  // From now on it is the kernels': unmapped with the last of them.
  if (const auto at_hand = fetched_.find(name);
      at_hand != fetched_.end() && !at_hand->second.taken.exchange(true))
    file = std::move(at_hand->second.file);
  if (!file) file = store_->get_file(name);
  if (!file || file->bytes().size() != bytes) return nullptr;
  const auto* start = reinterpret_cast<const char*>(file->bytes().data());
  return {std::move(file), const_cast<char*>(start)};  // not writable: whoever tries ends there
}

bool KeptWeights::fetch(const std::vector<std::string>& names, ThreadPool& pool) {
  std::vector<std::pair<const std::string, Fetched>*> places;
  for (const std::string& name : names) {
    const auto [place, fresh] = fetched_.try_emplace(name);
    if (fresh) places.push_back(&*place);
  }
  pool.parallel_for(static_cast<int64_t>(places.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      auto& [name, fetched] = *places[static_cast<size_t>(k)];
      fetched.file = store_->get_file(name);
    }
  });
  return std::all_of(places.begin(), places.end(),
                     [](const auto* place) { return place->second.file != nullptr; });
}

PackedComparison KeptWeights::compare(InUse prepared) const {
  PackedComparison found;
  const auto compare_one = [&](const jit::PreparedKey& key, const char* memory, size_t bytes) {
    if (bytes < least_bytes) return;
    std::string name = name_of(key, bytes, hash_of_);
    const auto file = name.empty() ? nullptr : store_->get_file(name);
    if (!file) return;
    const bool same = file->bytes().size() == bytes && std::memcmp(file->bytes().data(), memory, bytes) == 0;
    (same ? found.same : found.different).push_back(std::move(name));
  };
  for (const jit::PreparedStore* const store : prepared) store->for_each(compare_one);
  return found;
}

KeptWeights::Kept KeptWeights::keep(InUse prepared, std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  const int64_t most = store_->settings().limit_bytes / 2;
  int64_t sum = 0;
  bool room = true;
  Kept kept;
  const auto keep_one = [&](const jit::PreparedKey& key, const char* memory, size_t bytes) {
    if (bytes < least_bytes || sum + static_cast<int64_t>(bytes) > most) return;
    std::string name = name_of(key, bytes, hash_of_);
    if (name.empty()) return;
    if (!store_->has_file(name)) {
      kept.in_time = kept.in_time && std::chrono::steady_clock::now() < end;
      if (!kept.in_time || !room) return;
      // Where one finds no room, neither do others.
      room = store_->put_file(name, bytes, [&](std::span<std::byte> file) {
        std::memcpy(file.data(), memory, bytes);
      }) != nullptr;
      if (!room) return;
    }
    sum += static_cast<int64_t>(bytes);
    kept.names.push_back(std::move(name));
  };
  for (const jit::PreparedStore* const store : prepared) store->for_each(keep_one);
  std::sort(kept.names.begin(), kept.names.end());
  return kept;
}

}  // namespace axrun::runtime
