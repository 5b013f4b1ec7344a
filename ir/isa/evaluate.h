#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/isa/semantics.h"

namespace axrun::ir::isa {

/// An operand's register (or memory) in full: little-endian, lane 0 first; masks and general registers in
/// front.
using Bytes = std::array<uint8_t, 64>;

/// One concrete execution. `bytes` has an entry for each operand; the immediate's is unused.
struct Inputs {
  std::vector<Bytes> bytes;
  int immediate = 0;
};

/// Where a lane is not a function of the inputs: its value lies within relative error `error` of `center`.
struct Bound {
  double center = 0, error = 0;
};

struct Outputs {
  Bytes destination{};                       ///< the whole register afterwards; of memory: its bytes
  std::vector<std::optional<Bound>> bounds;  ///< one for each lane of the destination
  std::vector<bool> accessed;                ///< bytes of the operand in memory that the expression reached
};

/// Executes the row on `inputs`, bit-exact (see Op for NaNs). `destination_in_memory`: nothing above its bits
/// changes. `memory_operand`: whose accesses to record, or -1.
Outputs evaluate(const Row& row, Width width, const Inputs& inputs, bool destination_in_memory = false,
                 int memory_operand = -1);

/// Whether the destination that was observed is one that the row allows.
bool allows(const Row& row, Width width, const Outputs& expected, const Bytes& observed);

}  // namespace axrun::ir::isa
