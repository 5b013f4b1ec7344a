#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/isa/semantics.h"

namespace axrun::isa_test {

/// What the hardware said of a row.
struct Verdict {
  bool ran = false;  ///< false at widths whose features are missing (`missing`): unconfirmed
  std::string missing;
  uint64_t executions = 0;
  std::optional<std::string> counterexample;
  bool confirmed() const { return ran && !counterexample; }
};

/// Compares the row at one width with the hardware: registers and memory, {k} and {k}{z} where there are,
/// every immediate, all combinations of special values, random bits.
Verdict compare(const ir::isa::Row& row, ir::isa::Width width, uint64_t seed);

/// The row, or with {k} and {k}{z} all three.
std::vector<ir::isa::Row> variants(const ir::isa::Row& row);

/// From AXRUN_TEST_SEED, or fresh; printed once.
uint64_t seed();

}  // namespace axrun::isa_test
