#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace axrun::runtime {

/// How a session's plans came to be: bound from forms, which hold for many sizes (runtime/plan/plan_form.h),
/// or made for one set of sizes alone.
struct FormCounts {
  /// The reason of a model all of whose inputs have numbers for sizes.
  static constexpr const char* nothing_open = "no size is open";

  uint64_t made = 0;     ///< forms, those that gave way to others included
  uint64_t bound = 0;    ///< plans of the whole model
  uint64_t unbound = 0;  ///< likewise
  /// Of the bound ones, those that were made in all stages: the others were taken from such a one.
  uint64_t variants = 0;
  std::string reason;    ///< why there are no forms; empty: nothing speaks against them
  struct Form {
    std::vector<std::string> sizes;   ///< the names that are open
    std::vector<std::string> guards;  ///< what has to hold of them: "seq - 4 >= 0", "input_ids[0] = 1"
  };
  std::vector<Form> forms;  ///< those kept, the one used last first
};

}  // namespace axrun::runtime
