#include "jit/processor_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

namespace axrun::jit {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "200000 100000" is two processors; "max 100000" and "-1 100000" are no limit.
double processors_of(const std::string& quota_and_period) {
  std::istringstream text(quota_and_period);
  double quota = 0;
  double period = 0;
  if (text >> quota >> period && quota > 0 && period > 0) return quota / period;
  return HUGE_VAL;
}

/// The tightest limit of a group and of those around it; `limit` reads that of one folder. A container may
/// see the path of its host, below which nothing is mounted: what is there decides.
double tightest(const std::string& mount, std::string group,
                const std::function<double(const std::string& folder)>& limit) {
  double fewest = HUGE_VAL;
  while (true) {
    if (group == "/") group.clear();
    fewest = std::min(fewest, limit(mount + group));
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return fewest;
    group.resize(slash);
  }
}

/// Whether a comma-separated list of controllers names "cpu".
bool has_cpu_controller(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

double processor_quota(const std::string& process_groups, const std::string& mount) {
  double fewest = HUGE_VAL;
  std::ifstream groups(process_groups);
  for (std::string line; std::getline(groups, line);) {
    // number:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      fewest = std::min(fewest, tightest(mount, group, [](const std::string& folder) {
                          return processors_of(first_line(folder + "/cpu.max"));
                        }));
    } else if (has_cpu_controller(controllers)) {
      const auto limit = [](const std::string& folder) {
        return processors_of(first_line(folder + "/cpu.cfs_quota_us") + " " +
                             first_line(folder + "/cpu.cfs_period_us"));
      };
      fewest = std::min(fewest, tightest(mount + "/cpu", group, limit));
    }
  }
  return fewest;
}

}  // namespace axrun::jit
