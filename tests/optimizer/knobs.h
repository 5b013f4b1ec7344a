#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace axrun::tests {

/// Environment variables for the length of a test; the optimiser gets its share of a busy machine.
class Knobs {
 public:
  Knobs(std::initializer_list<std::pair<const char*, const char*>> values) {
    set("AXRUN_OPTIMIZER_PRIORITY", "normal");
    for (const auto& [name, value] : values) set(name, value);
  }
  ~Knobs() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  Knobs(const Knobs&) = delete;
  Knobs& operator=(const Knobs&) = delete;

 private:
  void set(const char* name, const char* value) {
    names_.emplace_back(name);
    setenv(name, value, 1);
  }
  std::vector<std::string> names_;
};

}  // namespace axrun::tests
