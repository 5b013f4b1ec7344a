#include "runtime/optimizer/throttling.h"

#include <algorithm>
#include <fstream>
#include <sstream>

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

bool is_processor_group(const std::string& controllers) {
  std::istringstream list(controllers);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == "cpu") return true;
  }
  return false;
}

}  // namespace

Throttling::Throttling(const std::string& process_groups, const std::string& mount) {
  std::ifstream groups(process_groups);
  // Lines are "number:controllers:path"; no controllers: version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !is_processor_group(controllers)) continue;
    const std::string root = controllers.empty() ? mount : mount + "/" + controllers;
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      std::string file = root + path + "/cpu.stat";
      if (throttled(file) >= 0 && std::find(files_.begin(), files_.end(), file) == files_.end()) {
        files_.push_back(std::move(file));
      }
      if (path.rfind('/') == std::string::npos) break;
    }
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
