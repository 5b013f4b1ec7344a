#include "jit/prepared_store.h"

#include <utility>

namespace axrun::jit {

std::shared_ptr<char> PreparedStore::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = parts_.find(key);
  return found == parts_.end() ? nullptr : found->second.memory.lock();
}

std::shared_ptr<char> PreparedStore::keep(const std::string& key, std::shared_ptr<char> memory,
                                          size_t bytes) {
  const std::lock_guard lock(mutex_);
  // Of kernels that are gone nothing is kept.
  std::erase_if(parts_, [](const auto& part) { return part.second.memory.expired(); });
  Part& part = parts_[key];
  if (auto known = part.memory.lock()) return known;
  part = {memory, bytes};
  return memory;
}

size_t PreparedStore::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, part] : parts_) bytes += part.memory.expired() ? 0 : part.bytes;
  return bytes;
}

}  // namespace axrun::jit
