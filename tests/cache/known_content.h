#pragma once

#include <cstdint>
#include <string>

namespace axrun::cache {

/// A payload that follows from its number, so that any other one is told from it: up to some 40 KiB, that
/// compress by half.
inline std::string payload_of(uint64_t number) {
  uint64_t state = number * 0x9e3779b97f4a7c15U + 1;
  const auto next = [&state] {
    state ^= state << 13U;
    state ^= state >> 7U;
    return state ^= state << 17U;
  };
  std::string payload = "payload " + std::to_string(number) + "\n";
  for (uint64_t left = next() % 5000; left > 0; --left) {
    const uint64_t word = next() & 0x0f0f0f0f0f0f0f0fU;
    payload.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return payload;
}

inline std::string key_of(uint64_t number) { return "key " + std::to_string(number); }

}  // namespace axrun::cache
