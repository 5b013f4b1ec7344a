// What kernels do in the plans in force: the part of the library that keeps the records' accounts.
#include <algorithm>

#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {
namespace {

/// Of one expression: a model of equal layers has hundreds of steps that share one.
constexpr size_t most_nodes = 256;

void note_node(OptimizedKernel& record, const std::string& node) {
  if (record.nodes.size() < most_nodes &&
      std::find(record.nodes.begin(), record.nodes.end(), node) == record.nodes.end())
    record.nodes.push_back(node);
}

}  // namespace

OptimizedKernel& KernelLibrary::unexpressed(const Served& step) {
  auto record = std::find_if(unexpressed_.begin(), unexpressed_.end(), [&](const OptimizedKernel& one) {
    return one.ops == step.ops && one.reason == step.reason;
  });
  if (record == unexpressed_.end()) {
    record = unexpressed_.emplace(record);
    record->ops = step.ops;
    record->state = OptimizedKernel::State::refused;
    record->reason = step.reason;
  }
  return *record;
}

void KernelLibrary::account(const std::vector<Served>& steps) {
  const std::lock_guard lock(mutex_);
  const auto clear = [](OptimizedKernel& record) {
    record.steps = 0;
    record.share = 0;
  };
  for (const auto& entry : order_) clear(entry->record);
  for (OptimizedKernel& record : unexpressed_) clear(record);
  for (const Served& step : steps) {
    OptimizedKernel& record = step.entry ? step.entry->record : unexpressed(step);
    record.steps += step.has_kernel ? 1 : 0;
    record.share += step.share;
    if (step.has_kernel) note_node(record, step.node);
  }
}

std::vector<OptimizedKernel> KernelLibrary::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<OptimizedKernel> records;
  for (const auto& entry : order_) {
    if (entry->role == Role::step || entry->record.steps > 0) records.push_back(record_of(*entry));
  }
  records.insert(records.end(), unexpressed_.begin(), unexpressed_.end());
  return records;
}

std::vector<OptimizedKernel> KernelLibrary::lost_joints() const {
  const std::lock_guard lock(mutex_);
  std::vector<OptimizedKernel> records;
  for (const auto& entry : order_) {
    if (entry->role == Role::joint && entry->record.steps == 0 && !entry->record.trials.empty())
      records.push_back(record_of(*entry));
  }
  return records;
}

}  // namespace axrun::runtime
