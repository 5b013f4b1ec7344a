#include "runtime/kernels/dispatch.h"

#include <algorithm>
#include <atomic>
#include <string_view>

#include "runtime/kernels/isa/table.h"
#include "runtime/knobs.h"

namespace axrun::runtime {
namespace {

IsaLevel detect() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? IsaLevel::avx512 : avx2 ? IsaLevel::avx2 : IsaLevel::sse2;
}

IsaLevel initial_level() {
  const IsaLevel best = best_isa_level();
  const char* wanted = knob_value(KnobName::isa);
  if (wanted == nullptr) return best;
  for (const IsaLevel level : {IsaLevel::sse2, IsaLevel::avx2, IsaLevel::avx512}) {
    if (std::string_view(wanted) == isa_level_name(level)) return std::min(level, best);
  }
  return best;
}

std::atomic<IsaLevel>& current_level() {
  static std::atomic<IsaLevel> level{initial_level()};
  return level;
}

}  // namespace

IsaLevel best_isa_level() {
  static const IsaLevel best = detect();
  return best;
}

IsaLevel isa_level() { return current_level().load(std::memory_order_relaxed); }

void set_isa_level(IsaLevel level) {
  current_level().store(std::min(level, best_isa_level()), std::memory_order_relaxed);
}

const char* isa_level_name(IsaLevel level) {
  switch (level) {
    case IsaLevel::sse2:
      return "sse2";
    case IsaLevel::avx2:
      return "avx2";
    case IsaLevel::avx512:
      return "avx512";
  }
  return "unknown";
}

const KernelTable& kernel_table() {
  switch (isa_level()) {
    case IsaLevel::avx512:
      return avx512::table;
    case IsaLevel::avx2:
      return avx2::table;
    case IsaLevel::sse2:
      break;
  }
  return sse2::table;
}

}  // namespace axrun::runtime
