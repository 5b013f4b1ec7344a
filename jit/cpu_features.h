#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/target.h"

/// The processor features that have a name here, which is the one that the tables of ir/isa use.
namespace axrun::jit {

struct CpuFeature {
  std::string_view name;
  Level level;  ///< the lowest that includes it
  std::vector<std::string_view>
      needs;  ///< features that it builds on, transitively closed by their own needs
};

/// Sorted by name.
std::span<const CpuFeature> cpu_features();

/// Null where nothing has that name.
const CpuFeature* find_cpu_feature(std::string_view name);

/// Whether this CPU has it and the operating system saves its registers (XGETBV). Throws Error(internal) for
/// a name that is not in the table.
bool host_has(std::string_view name);

/// The first of the features that this CPU (or its operating system) does not offer; empty when it has them
/// all. Throws Error(internal) for a feature that the tables may not name.
std::string missing_feature(const std::vector<std::string>& features);

}  // namespace axrun::jit
