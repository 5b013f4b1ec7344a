#pragma once

#include <functional>

#include "jit/target.h"

namespace axrun::jit {

/// The target with what short measurements on the calling thread say of one core: the peak of f32
/// multiply-adds, how many start per cycle, the read bandwidth of every cache and of memory. A level whose
/// data cannot be told from the nearer level's within 32 MiB stays 0.
///
/// Everything is measured several times, spread over the whole duration, and the best counts: neighbours and
/// the hypervisor only ever slow things. Takes about 40 ms and up to 32 MiB of memory for the time. Nothing
/// calls this by itself.
///
/// Throws Error(user) for a target that this processor cannot run, Error(unsupported) where memory may not be
/// made executable.
Target calibrated(const Target& target);

/// The bytes that are read to measure each cache level, then memory; 0: not measured. Well over what the
/// nearer level holds, well under one core's share of the level itself.
std::vector<int64_t> measured_bytes(const Target& target);

}  // namespace axrun::jit
