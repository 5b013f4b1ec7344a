#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace axrun::jit {

/// A cache as one core sees it.
struct CacheLevel {
  int64_t bytes = 0;
  int64_t line_bytes = 64;
  int shared_by = 1;            ///< cores
  double bytes_per_second = 0;  ///< measured read bandwidth of one core; 0: not calibrated
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

  bool has(const std::string& feature) const;
  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
};

}  // namespace axrun::jit
