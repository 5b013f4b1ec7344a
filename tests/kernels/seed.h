#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace axrun::runtime {

/// A seed for each process, printed so that AXRUN_SEED=N replays it.
inline uint64_t test_seed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("AXRUN_SEED");
    const uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::printf("AXRUN_SEED=%llu\n", static_cast<unsigned long long>(value));
    return value;
  }();
  return seed;
}

}  // namespace axrun::runtime
