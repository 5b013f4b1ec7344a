#include "jit/cpu_features.h"

#include <algorithm>
#include <utility>

#include "ir/error.h"
#include "ir/lasting.h"

namespace axrun::jit {
namespace {

// Sorted by name.
const std::vector<CpuFeature>& table() {
  static const auto& rows = lasting<std::vector<CpuFeature>>({
      {"avx", Level::avx2, {"sse2"}},
      {"avx2", Level::avx2, {"avx"}},
      {"avx512_bf16", Level::avx512, {"avx512bw"}},
      {"avx512_vnni", Level::avx512, {"avx512bw"}},
      {"avx512bw", Level::avx512, {"avx512f"}},
      {"avx512dq", Level::avx512, {"avx512f"}},
      {"avx512f", Level::avx512, {"avx2", "fma", "f16c"}},
      {"avx512vl", Level::avx512, {"avx512f"}},
      {"avx_vnni", Level::avx2, {"avx2"}},
      {"f16c", Level::avx2, {"avx"}},
      {"fma", Level::avx2, {"avx"}},
      {"sse", Level::sse2, {}},
      {"sse2", Level::sse2, {"sse"}},
  });
  return rows;
}

/// The compiler's library has asked the processor when the program started; asking it again (asmjit's
/// CpuInfo) takes a virtual machine long.
bool is_supported(std::string_view name) {
  static constexpr std::pair<std::string_view, bool (*)()> features[] = {
      {"avx", [] { return __builtin_cpu_supports("avx") != 0; }},
      {"avx2", [] { return __builtin_cpu_supports("avx2") != 0; }},
      {"avx512_bf16", [] { return __builtin_cpu_supports("avx512bf16") != 0; }},
      {"avx512_vnni", [] { return __builtin_cpu_supports("avx512vnni") != 0; }},
      {"avx512bw", [] { return __builtin_cpu_supports("avx512bw") != 0; }},
      {"avx512dq", [] { return __builtin_cpu_supports("avx512dq") != 0; }},
      {"avx512f", [] { return __builtin_cpu_supports("avx512f") != 0; }},
      {"avx512vl", [] { return __builtin_cpu_supports("avx512vl") != 0; }},
      {"avx_vnni", [] { return __builtin_cpu_supports("avxvnni") != 0; }},
      {"f16c", [] { return __builtin_cpu_supports("f16c") != 0; }},
      {"fma", [] { return __builtin_cpu_supports("fma") != 0; }},
      {"sse", [] { return __builtin_cpu_supports("sse") != 0; }},
      {"sse2", [] { return __builtin_cpu_supports("sse2") != 0; }},
  };
  __builtin_cpu_init();
  for (const auto& [known, says] : features)
    if (known == name) return says();
  throw axrun::Error(Fault::internal, "unknown CPU feature " + std::string(name));
}

}  // namespace

std::span<const CpuFeature> cpu_features() { return table(); }

const CpuFeature* find_cpu_feature(std::string_view name) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const CpuFeature& row) { return row.name == name; });
  return found == table().end() ? nullptr : &*found;
}

bool host_has(std::string_view name) { return is_supported(name); }

std::string missing_feature(const std::vector<std::string>& features) {
  for (const std::string& feature : features)
    if (!host_has(feature)) return feature;
  return {};
}

}  // namespace axrun::jit
