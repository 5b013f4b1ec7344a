#include "runtime/warm/origin.h"

#include <cpuid.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "jit/cpu_features.h"
#include "jit/target_file.h"
#include "runtime/host_target.h"
#include "runtime/knobs.h"
#include "runtime/machine.h"
#include "runtime/parallel.h"
#include "runtime/version.h"

namespace axrun::runtime {
namespace {

std::string processor_name() {
  std::array<unsigned, 12> words{};
  unsigned most = 0, b = 0, c = 0, d = 0;
  // In a virtual machine each of these takes some 10 us: none more than is needed (__get_cpuid asks twice).
  __cpuid(0x80000000U, most, b, c, d);
  if (most < 0x80000004U) return "x86-64";
  for (unsigned k = 0; k < 3; ++k)
    __cpuid(0x80000002U + k, words[4 * k], words[4 * k + 1], words[4 * k + 2], words[4 * k + 3]);
  const auto* text = reinterpret_cast<const char*>(words.data());
  return {text, strnlen(text, sizeof words)};
}

}  // namespace

std::string generator_text() { return fmt::format("{} {}", version(), generator_id); }

std::string processor_text() {
  const char* level = knob_value(KnobName::isa);
  return processor_name() + (level != nullptr ? fmt::format("; at most {}", level) : "");
}

std::string machine_text() {
  std::string text = processor_name();
  for (const jit::CpuFeature& feature : jit::cpu_features()) {
    if (!jit::host_has(feature.name)) continue;
    text += ' ';
    text += feature.name;
  }
  if (const char* level = knob_value(KnobName::isa)) text += fmt::format("; at most {}", level);
  text += fmt::format("; {} processors", default_threads());
  if (knob_value(KnobName::target) != nullptr) text += "; " + jit::print_target(host_target());
  return text;
}

}  // namespace axrun::runtime
