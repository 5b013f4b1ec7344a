#include "runtime/plan/plan_cache.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/plan.h"

namespace axrun::runtime {

PlanCache::Entry* PlanCache::find(const std::string& key) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

void PlanCache::note(Entry& entry, uint64_t run) {
  entry.used = ++clock_;
  if (run > last_run_) {
    last_run_ = run;
    ++runs_;
  }
  if (run > entry.last_run) {
    entry.last_run = run;
    ++entry.runs;
  }
}

std::shared_ptr<const Plan> PlanCache::get(const std::string& key, uint64_t run,
                                           const std::function<std::shared_ptr<const Plan>()>& build) {
  {
    const std::lock_guard lock(mutex_);
    if (Entry* entry = find(key)) {
      note(*entry, run);
      return entry->plan;
    }
  }
  std::shared_ptr<const Plan> plan = build();
  std::shared_ptr<const Plan> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (Entry* entry = find(key)) {
    note(*entry, run);
    return entry->plan;
  }
  if (entries_.size() >= capacity_) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const Entry& a, const Entry& b) { return a.used < b.used; });
    dropped = std::move(oldest->plan);
    entries_.erase(oldest);
  }
  note(entries_.emplace_back(Entry{key, plan}), run);
  return plan;
}

std::shared_ptr<const Plan> PlanCache::start_from(const std::string& key, const Uses& uses,
                                                  const std::function<std::shared_ptr<const Plan>()>& build) {
  const std::shared_ptr<const Plan> plan = get(key, 0, build);
  const std::lock_guard lock(mutex_);
  Entry* entry = find(key);
  if (entry == nullptr) return plan;  // others have come meanwhile
  entry->runs = std::max(entry->runs, uses.runs);
  runs_ = std::max(runs_, uses.of);
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
  for (Entry& entry : entries) known.push_back({std::move(entry.key), std::move(entry.plan), entry.runs});
  return known;
}

uint64_t PlanCache::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
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
