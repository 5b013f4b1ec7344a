#include "runtime/cli/target_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "jit/calibrate.h"
#include "jit/processors.h"
#include "jit/target_file.h"
#include "runtime/cli/json_text.h"
#include "runtime/host_target.h"
#include "runtime/knobs.h"
#include "runtime/version.h"

namespace axrun::cli {
namespace {

jit::Target described(bool calibrate) {
  return calibrate ? jit::calibrated(runtime::host_target()) : runtime::host_target();
}

std::string size_text(int64_t bytes) { return fmt::format("{} KiB", bytes / 1024); }

/// In billions; empty where nothing was measured.
std::string rate_text(double rate, const char* unit) {
  return rate > 0 ? fmt::format(", {:.1f} G{}", rate * 1e-9, unit) : "";
}

/// "0 (core 0), 1 (core 1)", packages and NUMA nodes where there are several of them.
std::string processors_text() {
  const std::vector<jit::Processor> processors = jit::processors_to_use();
  const auto several = [&](int jit::Processor::*member) {
    return std::any_of(processors.begin(), processors.end(),
                       [&](const jit::Processor& other) { return other.*member != processors[0].*member; });
  };
  const bool packages = several(&jit::Processor::package), nodes = several(&jit::Processor::node);
  std::string text;
  for (const jit::Processor& processor : processors) {
    text += fmt::format("{}{} (core {}", text.empty() ? "" : ", ", processor.id, processor.core);
    if (packages) text += fmt::format(", package {}", processor.package);
    if (nodes) text += fmt::format(", node {}", processor.node);
    text += ")";
  }
  return text;
}

}  // namespace

std::string target_text(bool calibrate) {
  const jit::Target target = described(calibrate);
  std::string text;
  const auto line = [&](const std::string& heading, const std::string& content) {
    text += fmt::format("{:<14}{}\n", heading, content);
  };
  line("processor", target.name);
  line("features", fmt::format("{}", fmt::join(target.features, " ")));
  line("vectors", fmt::format("{} bytes, {} registers{}", target.vector_bytes, target.vector_registers,
                              target.masks ? ", masks" : ""));
  const std::string ports =
      target.fma_ports > 0 ? fmt::format("{} started per cycle", target.fma_ports) : "no such instruction";
  line("multiply-add", ports + rate_text(target.flops_per_second, "FLOP/s of one core (f32)"));
  line("cores", fmt::format("{}", target.cores));
  line("processors", processors_text());
  for (size_t k = 0; k < target.caches.size(); ++k) {
    const jit::CacheLevel& cache = target.caches[k];
    const std::string sharing =
        cache.shared_by > 1 ? fmt::format(" shared by {} cores", cache.shared_by) : " of each core";
    line(fmt::format("cache {}", k + 1),
         fmt::format("{}{}, lines of {} bytes{}", size_text(cache.bytes), sharing, cache.line_bytes,
                     rate_text(cache.bytes_per_second, "B/s read by one core")));
  }
  if (target.memory_bytes_per_second > 0)
    line("memory", rate_text(target.memory_bytes_per_second, "B/s read by one core").substr(2));
  else
    line("speeds", "not measured (axrun target --calibrate)");
  if (const char* file = runtime::knob_value(runtime::KnobName::target)) line("overridden", file);
  return text;
}

std::string target_json(bool calibrate) {
  auto json = nlohmann::ordered_json::parse(jit::print_target(described(calibrate)));
  json["version"] = runtime::version();
  return line_of(json);
}

}  // namespace axrun::cli
