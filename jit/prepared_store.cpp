#include "jit/prepared_store.h"

#include <utility>

namespace axrun::jit {

std::shared_ptr<char> PreparedStore::find(const PreparedKey& key, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = parts_.find(key);
    if (found != parts_.end()) {
      if (auto memory = found->second.memory.lock()) return memory;
    }
  }
  std::shared_ptr<char> kept = kept_ ? kept_->find(key, bytes) : nullptr;
  return kept ? add(key, std::move(kept), bytes, true) : nullptr;
}

std::shared_ptr<char> PreparedStore::keep(const PreparedKey& key, std::shared_ptr<char> memory,
                                          size_t bytes) {
  return add(key, std::move(memory), bytes, false);
}

std::shared_ptr<char> PreparedStore::add(const PreparedKey& key, std::shared_ptr<char> memory, size_t bytes,
                                         bool kept) {
  const std::lock_guard lock(mutex_);
  // Of kernels that are gone nothing is kept.
  std::erase_if(parts_, [](const auto& part) { return part.second.memory.expired(); });
  Part& part = parts_[key];
  if (auto known = part.memory.lock()) return known;
  part = {memory, bytes, kept};
  return memory;
}

size_t PreparedStore::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, part] : parts_) bytes += part.memory.expired() ? 0 : part.bytes;
  return bytes;
}

size_t PreparedStore::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, part] : parts_) bytes += part.kept && !part.memory.expired() ? part.bytes : 0;
  return bytes;
}

void PreparedStore::for_each(
    const std::function<void(const PreparedKey& key, const char* memory, size_t bytes)>& call) const {
  struct Held {
    PreparedKey key;
    std::shared_ptr<char> memory;
    size_t bytes;
  };
  std::vector<Held> held;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, part] : parts_) {
      if (auto memory = part.memory.lock()) held.push_back({key, std::move(memory), part.bytes});
    }
  }
  for (const Held& one : held) call(one.key, one.memory.get(), one.bytes);
}

}  // namespace axrun::jit
