#pragma once

#include <array>
#include <vector>

#include "ir/graph.h"
#include "runtime/value.h"

namespace axrun::runtime {

/// A value that a body is given and gives anew in each of its runs: it lives in two buffers in turn, and
/// nothing is allocated from run to run.
class CarriedValue {
 public:
  /// Makes `place` where the next run may write the value while it reads `now`. Undefined where that is of no
  /// use.
  void offer(const RuntimeValue& now, RuntimeValue& place);
  /// What the run gave for what was offered last.
  void taken(const RuntimeValue& result);

 private:
  std::array<ir::Tensor, 2> own_;  ///< nobody else's but the value's
  const void* offered_ = nullptr;
  bool is_given_elsewhere_ = false;  ///< the body gives it in memory of its own
};

/// What a body emits in each of its runs, stacked along a new axis: each slice is written where it belongs,
/// where its elements lie side by side there.
class StackedValue {
 public:
  /// axis: of the whole; negative ones count from the end. expected: runs, as far as that is known.
  /// backwards: the last slice comes first, and there are as many as expected.
  StackedValue(const ir::Node& node, int64_t axis, bool backwards, int64_t expected);

  /// Makes `place` where the next run may write its slice; undefined where that is not known yet.
  void offer(RuntimeValue& place);
  /// Throws Error(user) where the slice is no tensor, or not like those before.
  void add(const RuntimeValue& slice);
  int64_t count() const { return count_; }
  /// Of one slice at least. Called once.
  RuntimeValue whole();

 private:
  void start(const ir::Tensor& first);
  ir::Tensor room_for(int64_t slices) const;
  char* next() const;

  const ir::Node& node_;
  int64_t axis_;
  bool backwards_, side_by_side_ = false;
  int64_t capacity_, count_ = 0;
  ir::ElementType stored_ = ir::ElementType::undefined, declared_ = ir::ElementType::undefined;
  ir::Shape shape_;                 ///< of a slice
  size_t bytes_ = 0;                ///< of a slice
  ir::Tensor whole_;                ///< where they lie side by side
  std::vector<ir::Tensor> slices_;  ///< elsewhere
};

}  // namespace axrun::runtime
