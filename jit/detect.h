#pragma once

#include "jit/target.h"

namespace axrun::jit {

/// This machine: features from CPUID, what the operating system enables of them; caches, their sharing and
/// the cores from hwloc, as far as this process may use them (affinity mask, control group's time). Nothing
/// is measured: bandwidths and peak are 0. Takes milliseconds; never fails, caches that the system does not
/// tell are assumed to be small ones.
Target detect_target();

}  // namespace axrun::jit
