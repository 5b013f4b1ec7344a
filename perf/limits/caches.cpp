#include "perf/limits/caches.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "runtime/machine.h"

namespace axrun::perf {
namespace {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::int64_t to_number(const std::string& text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : otherwise;
}

/// "0-3,8": the processors of a sysfs list.
std::vector<int> parse_list(const std::string& text) {
  std::vector<int> list;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string range = text.substr(at, end - at);
    const std::size_t dash = range.find('-');
    const auto first = static_cast<int>(to_number(range, 0));
    const auto last =
        dash == std::string::npos ? first : static_cast<int>(to_number(range.substr(dash + 1), first));
    for (int k = first; k <= last; ++k) list.push_back(k);
    at = end + 1;
  }
  return list;
}

std::string folder_of(int processor) { return "/sys/devices/system/cpu/cpu" + std::to_string(processor); }

/// One processor of each core in the affinity mask; no more than the control group's time is enough for.
std::vector<int> find_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int k = 0; k < CPU_SETSIZE; ++k) {
      if (!CPU_ISSET(k, &mask)) continue;
      const std::vector<int> siblings =
          parse_list(read_line(folder_of(k) + "/topology/thread_siblings_list"));
      const bool core_is_there = std::any_of(siblings.begin(), siblings.end(), [&](int sibling) {
        return std::find(found.begin(), found.end(), sibling) != found.end();
      });
      if (!core_is_there) found.push_back(k);
    }
  }
  if (found.empty()) found.push_back(0);
  const auto most = static_cast<std::size_t>(std::max(1, runtime::available_processors()));
  if (found.size() > most) found.resize(most);
  return found;
}

/// Data caches of the first processor, smallest first.
std::vector<MemoryLevel> find_caches(const std::vector<int>& processors) {
  std::vector<MemoryLevel> caches;
  for (int index = 0; index < 10; ++index) {
    const std::string folder = folder_of(processors.front()) + "/cache/index" + std::to_string(index);
    const std::string kind = read_line(folder + "/type");
    const std::int64_t kilobytes = to_number(read_line(folder + "/size"), 0);
    if ((kind != "Data" && kind != "Unified") || kilobytes <= 0) continue;
    const std::vector<int> sharing = parse_list(read_line(folder + "/shared_cpu_list"));
    const auto measured = std::count_if(sharing.begin(), sharing.end(), [&](int processor) {
      return std::find(processors.begin(), processors.end(), processor) != processors.end();
    });
    // One processor that is measured alone still shares a cache that the machine's others use.
    caches.push_back(
        {"L" + read_line(folder + "/level"), kilobytes * 1024, measured <= 1 && sharing.size() <= 2});
  }
  std::sort(caches.begin(), caches.end(),
            [](const MemoryLevel& a, const MemoryLevel& b) { return a.bytes < b.bytes; });
  return caches;
}

}  // namespace

Topology find_topology() {
  Topology topology;
  topology.processors = find_processors();
  topology.levels = find_caches(topology.processors);
  if (topology.levels.empty()) {
    topology.levels = {{"L1", 32 << 10, true}, {"L2", 1 << 20, true}, {"L3", 32 << 20, false}};
    topology.assumed = true;
  }
  topology.levels.push_back({"memory", 0, false});
  return topology;
}

std::int64_t free_memory_bytes() {
  std::int64_t bytes = std::int64_t{1} << 30;
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t digits = line.find_first_of("0123456789");
    if (line.starts_with("MemAvailable:")) bytes = to_number(line.substr(digits), 1 << 20) * 1024;
  }
  const std::string group = "/sys/fs/cgroup/memory.";
  const std::int64_t most = to_number(read_line(group + "max"), 0);  // "max" where there is no limit
  if (most > 0) bytes = std::min(bytes, most - to_number(read_line(group + "current"), 0));
  return std::max<std::int64_t>(bytes, 0);
}

}  // namespace axrun::perf
