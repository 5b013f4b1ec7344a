#include "jit/cpu_features.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ir/error.h"
#include "ir/lasting.h"

namespace axrun::jit {
namespace {

using Id = asmjit::CpuFeatures::X86;

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

uint32_t asmjit_id(std::string_view name) {
  static constexpr std::pair<std::string_view, uint32_t> ids[] = {
      {"avx", Id::kAVX},
      {"avx2", Id::kAVX2},
      {"avx512_bf16", Id::kAVX512_BF16},
      {"avx512_vnni", Id::kAVX512_VNNI},
      {"avx512bw", Id::kAVX512_BW},
      {"avx512dq", Id::kAVX512_DQ},
      {"avx512f", Id::kAVX512_F},
      {"avx512vl", Id::kAVX512_VL},
      {"avx_vnni", Id::kAVX_VNNI},
      {"f16c", Id::kF16C},
      {"fma", Id::kFMA},
      {"sse", Id::kSSE},
      {"sse2", Id::kSSE2},
  };
  for (const auto& [known, id] : ids)
    if (known == name) return id;
  throw axrun::Error(Fault::internal, "unknown CPU feature " + std::string(name));
}

}  // namespace

std::span<const CpuFeature> cpu_features() { return table(); }

const CpuFeature* find_cpu_feature(std::string_view name) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const CpuFeature& row) { return row.name == name; });
  return found == table().end() ? nullptr : &*found;
}

bool host_has(std::string_view name) { return asmjit::CpuInfo::host().features().has(asmjit_id(name)); }

std::string missing_feature(const std::vector<std::string>& features) {
  for (const std::string& feature : features)
    if (!host_has(feature)) return feature;
  return {};
}

}  // namespace axrun::jit
