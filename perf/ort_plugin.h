#pragma once

#include <string>
#include <vector>

#include "perf/ort_abi.h"

namespace axrun::perf::ort {

/// A library of execution providers, for the life of an environment; nothing until one is added.
class Plugin {
 public:
  Plugin(const Api& api, Owned<Env>& env) : api_(api), env_(env) {}
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  /// Registers the library and takes all devices that come with it. Throws HostError, also where there is
  /// none.
  void add(const std::string& path);
  /// Offers nodes to those devices first. `options`: KEY=VALUE, with commas between.
  void choose(SessionOptions* settings, const std::string& options) const;

 private:
  const Api& api_;
  Owned<Env>& env_;
  std::vector<const EpDevice*> devices_;
  bool added_ = false;
};

}  // namespace axrun::perf::ort
