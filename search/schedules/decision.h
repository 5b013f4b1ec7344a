#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/schedules/cost.h"
#include "search/schedules/specification.h"

namespace axrun::search::schedules {

/// One step of a schedule: what becomes of a specification.
struct Decision {
  enum class Kind : uint8_t {
    tile,        ///< a loop over an axis in pieces of `size`, what is left over by itself
    spread,      ///< the same over cores
    move,        ///< an operand to a nearer level, in a layout
    accumulate,  ///< zeros first, to which parts of the depth are added
    kernel,      ///< the tile in registers
  };
  Kind kind = Kind::kernel;
  Axis axis = Axis::rows;           ///< of tile, spread
  Operand operand = Operand::left;  ///< of move
  Level level = 0;                  ///< of move
  Layout layout = Layout::lines;    ///< of move
  int32_t size = 0;                 ///< of tile, spread

  bool operator==(const Decision&) const = default;
};
std::string to_text(const Decision& decision);

/// What a decision leaves to be scheduled.
struct Part {
  int64_t count = 0;    ///< how many times
  double weight = 0;    ///< of its cost: the count, or what of it each core has
  Specification whole;  ///< what is done so many times
};
struct Expansion {
  double own = 0;  ///< nanoseconds besides the parts
  std::vector<Part> parts;
};

/// Every decision that may come first, in one order of those that can be exchanged. Nothing is moved that is
/// read once, unless tiles cannot read it where it is.
std::vector<Decision> decisions(const CostModel& cost, const Specification& specification);

/// What follows from a decision; nothing where it is not one for this specification.
std::optional<Expansion> expand(const CostModel& cost, const Specification& specification,
                                const Decision& decision);

/// The smallest limits under which a decision can be taken and leaves its parts as much as these need.
Limits used(const CostModel& cost, const Specification& specification, const Decision& decision,
            const Limits& parts);

}  // namespace axrun::search::schedules
