#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/graph.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/frame_pool.h"

namespace axrun::runtime {

/// Where a value lives while a plan runs.
struct ValuePlace {
  enum class Kind : uint8_t {
    nowhere,   ///< not used by this plan
    constant,  ///< at a fixed address; none: it is the plan's own
    input,     ///< live-in number `index`
    output,    ///< the buffer of graph output `index`
    arena,     ///< in the arena: buffer, or part, number `index`
    slot,      ///< a RuntimeValue of the frame: containers, strings, and what only the run can shape
  };
  Kind kind = Kind::nowhere;
  size_t index = 0;
  const void* address = nullptr;
};

/// Where the values of plans live: what stays the same when only sizes change. How long buffers are, and
/// where in the arena they begin, is each plan's own.
struct PlanPlaces {
  /// Exists from step `first` to step `last`, both included, and is as long as its owner.
  struct Buffer {
    ir::ValueId owner;
    int first, last;
  };
  /// What lies in a buffer, or in a part of one that stands before it here, behind what these values take.
  struct Part {
    size_t in;  ///< parts have the numbers after the buffers'
    std::vector<ir::ValueId> before;
  };
  /// A constant whose elements the sizes tell, or what is a view of it.
  struct OwnConstant {
    ir::ValueId id, of;
  };
  /// An output that no step could write in place: copied at the end.
  struct OutputCopy {
    ir::ValueId value;
    size_t output;
  };
  /// The result of a step is written over its input `input`, which is as long.
  struct Shared {
    size_t step;
    int input;
    ir::ValueId from, to;
  };
  /// An output with a place of its own.
  struct Output {
    size_t index;
    ir::ValueId value;
  };

  std::vector<ValuePlace> of;
  std::vector<ir::ValueId> live_in;
  std::vector<ir::ValueId> bound;  ///< values in places that differ from run to run
  std::vector<ir::ValueId> in_slots;
  std::vector<Buffer> buffers;
  std::vector<Part> parts;
  MemoryOrder order;  ///< of the buffers
  std::shared_ptr<LastMemoryPlan> last_memory = std::make_shared<LastMemoryPlan>();
  std::vector<Shared> shared;
  std::vector<OwnConstant> own_constants;
  std::vector<OutputCopy> copies;
  std::vector<Output> outputs;
  std::vector<ir::ElementType> output_types;  ///< of all of the graph's
  std::vector<ir::ValueId> passed_on;         ///< as values, with their shapes
  std::shared_ptr<FramePool> frames = std::make_shared<FramePool>();
  size_t widest_step = 0;  ///< most inputs and outputs of one step
};

}  // namespace axrun::runtime
