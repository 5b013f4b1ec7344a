#include "jit/processor_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "jit/control_groups.h"

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

}  // namespace

double processor_quota(const std::string& process_groups, const std::string& mount) {
  double fewest = HUGE_VAL;
  for (const ControlGroup& group : control_groups(process_groups, mount, "cpu")) {
    const std::string limit = group.version == 2 ? first_line(group.folder + "/cpu.max")
                                                 : first_line(group.folder + "/cpu.cfs_quota_us") + " " +
                                                       first_line(group.folder + "/cpu.cfs_period_us");
    fewest = std::min(fewest, processors_of(limit));
  }
  return fewest;
}

}  // namespace axrun::jit
