#include "runtime/optimizer/worker_location.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "runtime/knobs.h"

namespace axrun::runtime {
namespace {

constexpr const char* program = "axrun-worker";

/// The folder of the file that this code was loaded from, without links; empty where nobody knows.
std::string folder_of_this_code() {
  Dl_info info{};
  std::string path;
  if (dladdr(reinterpret_cast<void*>(&worker_places), &info) != 0 && info.dli_fname != nullptr) {
    path = info.dli_fname;
  }
  // Of a program itself the loader knows only what it was called.
  if (path.find('/') == std::string::npos) path = "/proc/self/exe";
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr && realpath("/proc/self/exe", real) == nullptr) return "";
  path = real;
  return path.substr(0, path.rfind('/'));
}

}  // namespace

std::vector<std::string> worker_places() {
  const std::string folder = folder_of_this_code();
  if (folder.empty()) return {};
  std::vector<std::string> places;
  // The library's own folder; from an installed command; from programs in other folders of a build.
  for (const char* way : {"", "/" AXRUN_LIBRARY_FROM_PROGRAMS, "/..", "/../runtime", "/../../runtime"}) {
    places.push_back(folder + way + "/" + program);
  }
  return places;
}

std::string find_worker() {
  if (const char* named = knob_value(KnobName::worker)) return named;
  for (const std::string& place : worker_places()) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  return "";
}

}  // namespace axrun::runtime
