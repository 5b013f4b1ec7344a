#pragma once

#include <cstdint>
#include <string_view>

namespace axrun::runtime {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): the same numbers
/// from the same seed on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// A stream of its own for each name, so that one input's values do not depend on the others.
  Random(uint64_t seed, std::string_view name) : state_(seed) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;  // FNV-1a
    next();
  }

  uint64_t next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  /// Uniform in [0, 1), a multiple of 2^-24: every value is exact in f32.
  double uniform() { return static_cast<double>(next() >> 40) * 0x1p-24; }
  /// Uniform in [0, bound) up to the bias of a remainder; bound > 0.
  int64_t below(int64_t bound) { return static_cast<int64_t>((next() >> 1) % static_cast<uint64_t>(bound)); }

 private:
  uint64_t state_;
};

}  // namespace axrun::runtime
