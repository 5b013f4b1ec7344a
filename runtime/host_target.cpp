#include "runtime/host_target.h"

#include <algorithm>

#include "ir/lasting.h"
#include "jit/detect.h"
#include "jit/target_file.h"
#include "runtime/knobs.h"

namespace axrun::runtime {
namespace {

jit::Target find_host_target() {
  jit::Target target = jit::detect_target();
  if (const char* file = knob_value(KnobName::target)) {
    target = jit::read_target_file(file, target);
    jit::require_runnable(target, file);
  }
  if (const char* level = knob_value(KnobName::isa))
    target = jit::restricted(target, jit::level_named(level));
  return target;
}

}  // namespace

const jit::Target& host_target() {
  static const auto& target = lasting(find_host_target());
  return target;
}

jit::Target host_target_for(int threads) {
  jit::Target target = host_target();
  target.cores = std::clamp(threads, 1, std::max(target.cores, 1));
  return target;
}

}  // namespace axrun::runtime
