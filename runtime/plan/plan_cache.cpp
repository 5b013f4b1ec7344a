#include "runtime/plan/plan_cache.h"

#include <algorithm>

#include "runtime/plan/plan.h"

namespace axrun::runtime {

void append_signature(std::string& key, const RuntimeValue& value) {
  key.push_back(static_cast<char>(value.kind));
  key.push_back(static_cast<char>(value.type));
  if (!value.tensor.defined()) {
    key.push_back('\xff');
    return;
  }
  key.push_back(static_cast<char>(value.tensor.rank()));
  const ir::Shape& shape = value.tensor.shape();
  key.append(reinterpret_cast<const char*>(shape.data()), shape.size() * sizeof(int64_t));
}

bool has_same_signature(const RuntimeValue& a, const RuntimeValue& b) {
  return a.kind == b.kind && a.type == b.type && a.tensor.defined() == b.tensor.defined() &&
         a.tensor.shape() == b.tensor.shape();
}

void append_content(std::string& key, const ir::Tensor& tensor) {
  if (tensor.type() != ir::ElementType::string) key.append(tensor.as<char>(), tensor.bytes());
}

std::shared_ptr<const Plan> PlanCache::get(const std::string& key,
                                           const std::function<std::shared_ptr<const Plan>()>& build) {
  const auto find = [&]() -> Entry* {
    for (Entry& entry : entries_) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (Entry* entry = find()) {
      entry->used = ++clock_;
      return entry->plan;
    }
  }
  std::shared_ptr<const Plan> plan = build();
  std::shared_ptr<const Plan> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (Entry* entry = find()) return entry->plan;
  if (entries_.size() >= capacity_) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const Entry& a, const Entry& b) { return a.used < b.used; });
    dropped = std::move(oldest->plan);
    entries_.erase(oldest);
  }
  entries_.push_back({key, plan, ++clock_});
  return plan;
}

std::vector<PlanCache::Known> PlanCache::known() const {
  std::vector<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used > b.used; });
  std::vector<Known> known;
  for (Entry& entry : entries) known.push_back({std::move(entry.key), std::move(entry.plan)});
  return known;
}

int PlanCache::open_steps() const {
  const std::lock_guard lock(mutex_);
  int open = 0;
  for (const Entry& entry : entries_) open += entry.plan->open_steps();
  return open;
}

size_t PlanCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace axrun::runtime
