#include "jit/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "jit/cpu_features.h"

namespace axrun::jit {
namespace {

/// How many multiply-adds start per cycle where nobody has measured it. All processors with AVX2 start two,
/// some with AVX-512 only one of 64 bytes. Counting one too many costs registers for partial sums; one too
/// few would leave half of the machine idle, and peaks that are no upper bound.
constexpr int usual_fma_ports = 2;

struct Vectors {
  int bytes, registers, fma_ports;
  bool masks;
};

Vectors vectors_of(Level level) {
  switch (level) {
    case Level::avx512:
      return {64, 32, usual_fma_ports, true};
    case Level::avx2:
      return {32, 16, usual_fma_ports, false};
    case Level::sse2:
      break;
  }
  return {16, 16, 0, false};
}

}  // namespace

bool Target::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

const char* level_name(Level level) {
  switch (level) {
    case Level::avx512:
      return "avx512";
    case Level::avx2:
      return "avx2";
    case Level::sse2:
      break;
  }
  return "sse2";
}

Level level_named(std::string_view name) {
  for (const Level level : {Level::sse2, Level::avx2, Level::avx512})
    if (name == level_name(level)) return level;
  throw Error(Fault::user, fmt::format("instruction set '{}': it is sse2, avx2 or avx512", name));
}

Level level_of(const Target& target) {
  const auto has_all = [&](std::initializer_list<const char*> features) {
    return std::all_of(features.begin(), features.end(), [&](const char* name) { return target.has(name); });
  };
  if (!has_all({"avx2", "fma"})) return Level::sse2;
  return has_all({"avx512f", "avx512bw", "avx512dq", "avx512vl"}) ? Level::avx512 : Level::avx2;
}

void derive_vectors(Target& target) {
  const Vectors best = vectors_of(level_of(target));
  if (target.vector_bytes != best.bytes) {
    for (CacheLevel& cache : target.caches) cache.bytes_per_second = 0;
    target.memory_bytes_per_second = 0;
    target.flops_per_second = 0;
  }
  target.vector_bytes = best.bytes;
  target.vector_registers = best.registers;
  target.fma_ports = best.fma_ports;
  target.masks = best.masks;
}

Target restricted(const Target& target, Level level) {
  const auto is_above = [&](const std::string& name) {
    const CpuFeature* feature = find_cpu_feature(name);
    return feature == nullptr || feature->level > level;
  };
  Target lower = target;
  std::erase_if(lower.features, is_above);
  if (lower.features == target.features) return target;
  derive_vectors(lower);
  // Narrower vectors may have been asked for.
  lower.vector_bytes = std::min(lower.vector_bytes, target.vector_bytes);
  return lower;
}

std::string inconsistency(const Target& target) {
  for (const std::string& name : target.features) {
    const CpuFeature* feature = find_cpu_feature(name);
    if (feature == nullptr) return fmt::format("features: there is no '{}'", name);
    for (const std::string_view needed : feature->needs)
      if (!target.has(needed)) return fmt::format("features: {} without {}", name, needed);
  }
  if (!target.has("sse2")) return "features: sse2 is missing, which all x86-64 processors have";
  const Level level = level_of(target);
  const Vectors best = vectors_of(level);
  const auto beyond = [&](const char* field, int value, int most) {
    return fmt::format("{} is {}: with the features given at most {} ({})", field, value, most,
                       level_name(level));
  };
  if (target.vector_bytes != 16 && target.vector_bytes != 32 && target.vector_bytes != 64)
    return fmt::format("vector_bytes is {}: vectors have 16, 32 or 64 bytes", target.vector_bytes);
  if (target.vector_bytes > best.bytes) return beyond("vector_bytes", target.vector_bytes, best.bytes);
  if (target.vector_registers > best.registers)
    return beyond("vector_registers", target.vector_registers, best.registers);
  if (target.fma_ports > 0 && !target.has("fma"))
    return fmt::format("fma_ports is {}: there is no fma among the features", target.fma_ports);
  if (target.masks && !best.masks) return "masks is true: that takes avx512f, avx512bw, avx512dq, avx512vl";
  return {};
}

void require_runnable(const Target& target, const std::string& source) {
  for (const std::string& name : target.features) {
    if (find_cpu_feature(name) == nullptr)
      throw Error(Fault::user, fmt::format("{}: features: there is no '{}'", source, name));
    if (!host_has(name))
      throw Error(Fault::user, fmt::format("{}: features: {} is not offered by this processor, or not by its "
                                           "operating system: it cannot run here",
                                           source, name));
  }
}

}  // namespace axrun::jit
