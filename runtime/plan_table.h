#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ir/tensor.h"
#include "runtime/epoch.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// Shapes one behind the other, in one piece of memory.
class FlatShapes {
 public:
  explicit FlatShapes(const std::vector<RuntimeValue>& values);
  explicit FlatShapes(const std::vector<ir::Shape>& shapes);
  /// Of the first ones of these values as many as there are here.
  bool matches(const std::vector<RuntimeValue>& values) const;
  std::vector<ir::Shape> unfolded() const;
  friend bool operator==(const FlatShapes&, const FlatShapes&) = default;

 private:
  void add(const ir::Shape& shape);
  std::vector<int64_t> numbers_;  ///< of each the rank, and the dims
};

/// The plans in force, by input shapes. Readers find theirs without a lock and keep it alive by an epoch; a
/// plan is put in force by one store. At most `capacity` plans are kept, the least recently used one dropped
/// first.
class PlanTable {
 public:
  explicit PlanTable(size_t capacity) : capacity_(capacity < 1 ? 1 : capacity) {}
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// A plan in use: it stays valid, and in one piece, while this lives.
  struct Pinned {
    EpochDomain::Pin pin;
    const Plan* plan;
  };

  /// The plan for the shapes of these values (the first `inputs` ones are compared; a value that is no tensor
  /// has no shape), built by `build` where there is none. Building happens outside of every lock.
  Pinned find(const std::vector<RuntimeValue>& inputs,
              const std::function<std::shared_ptr<const Plan>()>& build);

  /// While it lives, the plan for these shapes is not dropped for others.
  class Hold {
   public:
    Hold(PlanTable& table, const std::vector<ir::Shape>& shapes);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    PlanTable& table_;
    FlatShapes shapes_;
  };

  /// Puts a plan in force for these shapes, replacing the one there.
  void publish(const std::vector<ir::Shape>& shapes, std::shared_ptr<const Plan> plan);
  /// The same, but only where `expected` is in force; false otherwise.
  bool replace(const std::vector<ir::Shape>& shapes, const Plan* expected, std::shared_ptr<const Plan> plan);
  std::shared_ptr<const Plan> current(const std::vector<ir::Shape>& shapes);
  std::vector<std::shared_ptr<const Plan>> all();
  /// For which there are plans.
  std::vector<std::vector<ir::Shape>> shapes();
  /// Plans replaced or dropped that some run may still see.
  size_t waiting() { return epochs_.collect(); }
  /// What a fork of the process must not find locked.
  std::mutex& writers() { return writers_; }

 private:
  struct Entry {
    std::shared_ptr<const FlatShapes> shapes;
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<std::atomic<uint64_t>> used;
  };
  using Table = std::vector<Entry>;
  bool is_held(const Entry& entry) const;
  void publish(FlatShapes shapes, std::shared_ptr<const Plan> plan);
  std::shared_ptr<const Plan> current(const FlatShapes& shapes);
  void replace_table(std::unique_ptr<Table> table);

  EpochDomain epochs_;
  std::atomic<const Table*> table_{nullptr};
  std::atomic<uint64_t> clock_{0};
  std::mutex writers_;
  size_t capacity_;
  std::vector<FlatShapes> held_;
};

/// Shapes of tensor values; empty for others.
std::vector<ir::Shape> shapes_of(const std::vector<RuntimeValue>& values);

}  // namespace axrun::runtime
