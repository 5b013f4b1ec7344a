#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace axrun::jit {

/// A cache as one core sees it.
struct CacheLevel {
  int64_t bytes = 0;
  int64_t line_bytes = 64;
  int shared_by = 1;            ///< cores
  double bytes_per_second = 0;  ///< measured read bandwidth of one core; 0: not calibrated

  bool operator==(const CacheLevel&) const = default;
};

/// What the schedules and the emitters know about a machine. Nothing else outside jit/ tells one instruction
/// set from another.
struct Target {
  std::string name;                   ///< of the processor
  std::vector<std::string> features;  ///< "avx2", "fma", "avx512f", ...: lower case, sorted
  int vector_bytes = 16;              ///< width of a vector register that is worth using
  int vector_registers = 16;
  int fma_ports = 0;   ///< vector multiply-adds started per cycle; 0: there is no such instruction
  bool masks = false;  ///< loads, stores and arithmetic take a mask of lanes at no extra cost
  int cores = 1;       ///< that this process may use
  std::vector<CacheLevel> caches;      ///< of data, the nearest first
  double memory_bytes_per_second = 0;  ///< of one core; 0: not calibrated
  double flops_per_second = 0;         ///< f32 multiply-adds count two, of one core; 0: not calibrated

  bool has(std::string_view feature) const;
  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }

  bool operator==(const Target&) const = default;
};

/// Instruction sets that kernels are lowered to, each containing the one before: 16-, 32-, 64-byte vectors.
enum class Level { sse2, avx2, avx512 };

const char* level_name(Level level);
/// Throws Error(user) for anything but "sse2", "avx2" and "avx512".
Level level_named(std::string_view name);

/// The highest level whose features are all there. avx2 includes fma; avx512 means F, BW, DQ and VL.
Level level_of(const Target& target);

/// Vectors, registers, ports and masks as the features allow them at best. What was measured with other
/// vectors is forgotten.
void derive_vectors(Target& target);

/// The target without what lies above the level; the target itself where nothing does. What is lowered for
/// the result runs wherever the target does.
Target restricted(const Target& target, Level level);

/// What contradicts itself, or empty: features without those that they build on, vectors that no feature
/// offers. The name of the field comes first.
std::string inconsistency(const Target& target);

/// Throws Error(user) that names the first feature which this CPU, or its operating system, lacks, and
/// `source`, where the target comes from.
void require_runnable(const Target& target, const std::string& source = "target");

}  // namespace axrun::jit
