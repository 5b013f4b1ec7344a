#include "runtime/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "jit/processor_quota.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/knobs.h"
#include "runtime/memory_groups.h"
#include "runtime/recent.h"

namespace axrun::runtime {
namespace {

/// The first line of a file that starts with `key`, without it; empty where there is none.
std::string line_after(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return {};
}

int allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Every session asks for what the control groups allow. To read their files takes a tenth of the time in
/// which a small model is loaded.
constexpr std::chrono::seconds groups_change_after{1};

double recent_quota() {
  static constinit Recent<double> quota(groups_change_after);
  return quota.get([] { return jit::processor_quota(); });
}

}  // namespace

int available_processors() {
  const int allowed = allowed_processors();
  const double limit = recent_quota();
  return limit < allowed ? std::max(1, static_cast<int>(std::ceil(limit))) : allowed;
}

int default_threads() {
  const char* wanted = knob_value(KnobName::threads);
  const int threads = wanted == nullptr ? 0 : std::atoi(wanted);
  return threads > 0 ? threads : available_processors();
}

Machine describe_machine() {
  Machine machine;
  const std::string model = line_after("/proc/cpuinfo", "model name");
  const size_t start = model.find_first_not_of("\t :");
  machine.cpu = start == std::string::npos ? "unknown" : model.substr(start);
  machine.processors = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  machine.available_processors = available_processors();
  machine.isa = isa_level_name(isa_level());
  machine.memory_bytes = physical_memory_bytes();
  utsname system{};
  if (uname(&system) == 0) machine.system = fmt::format("{} {}", system.sysname, system.release);
  return machine;
}

int64_t physical_memory_bytes() {
  return std::max<int64_t>(0, sysconf(_SC_PHYS_PAGES)) * std::max<int64_t>(0, sysconf(_SC_PAGESIZE));
}

int64_t usable_memory_bytes() {
  static constinit Recent<int64_t> usable(groups_change_after);
  return usable.get([] {
    const int64_t all = physical_memory_bytes();
    const auto room = MemoryGroups().room();
    return room && (all == 0 || room->limit < all) ? room->limit : all;
  });
}

int64_t peak_rss_bytes() {
  const int64_t kibibytes = std::atoll(line_after("/proc/self/status", "VmHWM:").c_str());
  if (kibibytes > 0) return kibibytes * 1024;
  // Without /proc only this, which survives exec: the parent's where that was larger.
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace axrun::runtime
