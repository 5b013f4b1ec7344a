#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/packed.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// The mutable state of one run of a plan: its arena and where every value is. Frames are kept (FramePool)
/// and used again, so that a run of shapes that were met before allocates nothing.
class Frame {
 public:
  explicit Frame(const Plan& plan);
  /// From now on it is of this plan, whose values are in the same places as those of the one before.
  void move_to(const Plan& plan);
  uint64_t plan_id() const { return plan_id_; }

  /// Sets the places that differ from run to run. Allocates the outputs that are not given or do not fit.
  void bind(const Plan& plan, const std::vector<RuntimeValue>& live_in, std::vector<RuntimeValue>& outputs);
  /// Drops every reference to the caller's values.
  void release(const Plan& plan);

  void* pointer(ir::ValueId id) const { return pointers[static_cast<size_t>(id)]; }
  /// The value as a RuntimeValue; a tensor in the arena is borrowed, valid until the frame is used again.
  RuntimeValue value(const Plan& plan, ir::ValueId id) const;
  /// The same into `to`, whose memory is used again.
  void read(const Plan& plan, ir::ValueId id, RuntimeValue& to) const;
  /// Puts what a step has evaluated where the plan has the value: into its slot, or as bytes into its buffer,
  /// where kernels and views read it. Constants are there already.
  void put(const Plan& plan, ir::ValueId id, RuntimeValue value);

  AlignedBuffer arena;
  std::vector<void*> pointers;           ///< per value of the graph
  std::vector<RuntimeValue> slots;       ///< per value; empty when the plan has no slots
  std::vector<const void*> call_inputs;  ///< scratch for KernelCall
  std::vector<void*> call_outputs;
  const std::vector<RuntimeValue>* live_in = nullptr;
  std::vector<RuntimeValue>* outputs = nullptr;

 private:
  /// To what is in the arena, and to the plan's own constants.
  void point(const Plan& plan);

  uint64_t plan_id_ = 0;
};

}  // namespace axrun::runtime
