#include "runtime/optimizer/throttling.h"

#include <algorithm>
#include <fstream>

#include "jit/control_groups.h"

namespace axrun::runtime {
namespace {

int64_t throttled(const std::string& path) {
  std::ifstream file(path);
  for (std::string name; file >> name;) {
    int64_t value = 0;
    if (!(file >> value)) break;
    if (name == "nr_throttled") return value;
  }
  return -1;
}

}  // namespace

Throttling::Throttling(const std::string& process_groups, const std::string& mount) {
  for (const jit::ControlGroup& group : jit::control_groups(process_groups, mount, "cpu")) {
    std::string file = group.folder + "/cpu.stat";
    if (throttled(file) >= 0 && std::find(files_.begin(), files_.end(), file) == files_.end())
      files_.push_back(std::move(file));
  }
  last_ = count();
}

int64_t Throttling::count() const {
  int64_t sum = 0;
  for (const std::string& file : files_) sum += std::max<int64_t>(0, throttled(file));
  return sum;
}

bool Throttling::rose() {
  const int64_t now = count();
  const bool more = now > last_;
  last_ = now;
  return more;
}

}  // namespace axrun::runtime
