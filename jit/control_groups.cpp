#include "jit/control_groups.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace axrun::jit {
namespace {

bool lists(const std::string& controllers, const std::string& wanted) {
  std::istringstream list(controllers);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == wanted) return true;
  }
  return false;
}

/// Version 1 has a folder for each set of controllers, and links to it by their single names.
std::string root_of(const std::string& mount, const std::string& controllers, const std::string& controller) {
  const std::string by_all = mount + "/" + controllers;
  std::error_code error;
  return std::filesystem::exists(by_all, error) ? by_all : mount + "/" + controller;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& process_groups, const std::string& mount,
                                         const std::string& controller) {
  std::vector<ControlGroup> found;
  std::ifstream groups(process_groups);
  // Lines are "number:controllers:path"; no controllers: version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !lists(controllers, controller)) continue;
    const std::string root = controllers.empty() ? mount : root_of(mount, controllers, controller);
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      found.push_back({root + path, controllers.empty() ? 2 : 1});
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  return found;
}

}  // namespace axrun::jit
