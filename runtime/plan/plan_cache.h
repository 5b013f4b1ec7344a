#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/value.h"

namespace axrun::runtime {

class Plan;

/// Appends kind, element type and dims of a value to a key.
void append_signature(std::string& key, const RuntimeValue& value);
/// Whether that is the same for both.
bool has_same_signature(const RuntimeValue& a, const RuntimeValue& b);
/// Appends the bytes of a small tensor.
void append_content(std::string& key, const ir::Tensor& tensor);

/// A few plans by key, the least recently used one dropped first. A dropped plan lives until its last run
/// ends.
class PlanCache {
 public:
  explicit PlanCache(size_t capacity) : capacity_(capacity < 1 ? 1 : capacity) {}
  /// `build` runs without the lock; of two that build one key at once, one result is kept.
  std::shared_ptr<const Plan> get(const std::string& key,
                                  const std::function<std::shared_ptr<const Plan>()>& build);
  size_t size() const;
  /// Of the plans kept and what is nested in them, counted where they are: runs ask.
  int open_steps() const;
  struct Known {
    std::string key;
    std::shared_ptr<const Plan> plan;
  };
  /// The plans kept, the one used last first.
  std::vector<Known> known() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Plan> plan;
    uint64_t used = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
  size_t capacity_;
};

}  // namespace axrun::runtime
