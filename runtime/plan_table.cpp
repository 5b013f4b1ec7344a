#include "runtime/plan_table.h"

#include <algorithm>
#include <iterator>

namespace axrun::runtime {

FlatShapes::FlatShapes(const std::vector<RuntimeValue>& values) {
  size_t count = values.size();
  for (const RuntimeValue& value : values) count += value.tensor.shape().size();
  numbers_.reserve(count);
  for (const RuntimeValue& value : values) add(value.tensor.shape());
}

FlatShapes::FlatShapes(const std::vector<ir::Shape>& shapes) {
  for (const ir::Shape& shape : shapes) add(shape);
}

void FlatShapes::add(const ir::Shape& shape) {
  numbers_.push_back(static_cast<int64_t>(shape.size()));
  numbers_.insert(numbers_.end(), shape.begin(), shape.end());
}

bool FlatShapes::matches(const std::vector<RuntimeValue>& values) const {
  size_t k = 0;
  for (auto at = numbers_.begin(); at != numbers_.end(); ++k) {
    const auto dims = std::next(at), end = dims + *at;
    const ir::Shape& shape = values[k].tensor.shape();
    if (!std::equal(dims, end, shape.begin(), shape.end())) return false;
    at = end;
  }
  return true;
}

std::vector<ir::Shape> FlatShapes::unfolded() const {
  std::vector<ir::Shape> shapes;
  for (auto at = numbers_.begin(); at != numbers_.end();) {
    const auto dims = std::next(at), end = dims + *at;
    shapes.emplace_back(dims, end);
    at = end;
  }
  return shapes;
}

std::vector<ir::Shape> shapes_of(const std::vector<RuntimeValue>& values) {
  std::vector<ir::Shape> shapes;
  shapes.reserve(values.size());
  for (const RuntimeValue& value : values) shapes.push_back(value.tensor.shape());
  return shapes;
}

PlanTable::~PlanTable() { delete table_.load(); }

PlanTable::Pinned PlanTable::find(const std::vector<RuntimeValue>& inputs,
                                  const std::function<std::shared_ptr<const Plan>()>& build) {
  for (;;) {
    EpochDomain::Pin pin = epochs_.pin();
    if (const Table* table = table_.load()) {
      for (const Entry& entry : *table) {
        if (!entry.shapes->matches(inputs)) continue;
        if (table->size() > 1) entry.used->store(clock_.fetch_add(1, std::memory_order_relaxed));
        return {std::move(pin), entry.plan.get()};
      }
    }
    { const EpochDomain::Pin done = std::move(pin); }  // building takes long: nothing is pinned meanwhile
    std::shared_ptr<const Plan> plan = build();
    FlatShapes shapes(inputs);
    if (current(shapes) == nullptr) publish(std::move(shapes), std::move(plan));
  }
}

PlanTable::Hold::Hold(PlanTable& table, const std::vector<ir::Shape>& shapes)
    : table_(table), shapes_(shapes) {
  const std::lock_guard lock(table_.writers_);
  table_.held_.push_back(shapes_);
}

PlanTable::Hold::~Hold() {
  const std::lock_guard lock(table_.writers_);
  table_.held_.erase(std::find(table_.held_.begin(), table_.held_.end(), shapes_));
}

bool PlanTable::is_held(const Entry& entry) const {
  return std::find(held_.begin(), held_.end(), *entry.shapes) != held_.end();
}

void PlanTable::publish(const std::vector<ir::Shape>& shapes, std::shared_ptr<const Plan> plan) {
  publish(FlatShapes(shapes), std::move(plan));
}

void PlanTable::publish(FlatShapes shapes, std::shared_ptr<const Plan> plan) {
  const std::lock_guard lock(writers_);
  const Table* old = table_.load();
  auto table = old != nullptr ? std::make_unique<Table>(*old) : std::make_unique<Table>();
  const auto same =
      std::find_if(table->begin(), table->end(), [&](const Entry& e) { return *e.shapes == shapes; });
  if (same != table->end()) {
    same->plan = std::move(plan);
  } else {
    if (table->size() >= capacity_) {
      auto oldest = table->end();
      for (auto entry = table->begin(); entry != table->end(); ++entry) {
        if (is_held(*entry)) continue;
        if (oldest == table->end() || entry->used->load() < oldest->used->load()) oldest = entry;
      }
      if (oldest != table->end()) table->erase(oldest);
    }
    table->push_back({std::make_shared<const FlatShapes>(std::move(shapes)), std::move(plan),
                      std::make_shared<std::atomic<uint64_t>>(clock_.fetch_add(1))});
  }
  replace_table(std::move(table));
}

bool PlanTable::replace(const std::vector<ir::Shape>& of, const Plan* expected,
                        std::shared_ptr<const Plan> plan) {
  const FlatShapes shapes(of);
  const std::lock_guard lock(writers_);
  const Table* old = table_.load();
  if (old == nullptr) return false;
  auto table = std::make_unique<Table>(*old);
  const auto same =
      std::find_if(table->begin(), table->end(), [&](const Entry& e) { return *e.shapes == shapes; });
  if (same == table->end() || same->plan.get() != expected) return false;
  same->plan = std::move(plan);
  replace_table(std::move(table));
  return true;
}

std::shared_ptr<const Plan> PlanTable::current(const std::vector<ir::Shape>& shapes) {
  return current(FlatShapes(shapes));
}

std::shared_ptr<const Plan> PlanTable::current(const FlatShapes& shapes) {
  const EpochDomain::Pin pin = epochs_.pin();
  if (const Table* table = table_.load()) {
    for (const Entry& entry : *table) {
      if (*entry.shapes == shapes) return entry.plan;
    }
  }
  return nullptr;
}

std::vector<std::shared_ptr<const Plan>> PlanTable::all() {
  std::vector<std::shared_ptr<const Plan>> plans;
  const EpochDomain::Pin pin = epochs_.pin();
  if (const Table* table = table_.load()) {
    for (const Entry& entry : *table) plans.push_back(entry.plan);
  }
  return plans;
}

std::vector<std::vector<ir::Shape>> PlanTable::shapes() {
  std::vector<std::vector<ir::Shape>> shapes;
  const EpochDomain::Pin pin = epochs_.pin();
  if (const Table* table = table_.load()) {
    for (const Entry& entry : *table) shapes.push_back(entry.shapes->unfolded());
  }
  return shapes;
}

void PlanTable::replace_table(std::unique_ptr<Table> table) {
  const Table* old = table_.exchange(table.release());
  // The old table holds the last reference to what it alone had.
  if (old != nullptr) epochs_.retire([old] { delete old; });
}

}  // namespace axrun::runtime
