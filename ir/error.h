#pragma once

#include <stdexcept>
#include <string>

#include "ir/api.h"

namespace axrun {

/// Whose fault a failure is. The command's exit codes follow it.
enum class Fault {
  user,         ///< command line, missing file, bad inputs: exit 1
  model,        ///< the model is damaged or invalid: exit 2
  unsupported,  ///< the model is valid but needs something axrun lacks: exit 2
  internal,     ///< a broken invariant of ours: exit 70
};

/// Every failure the library reports. The text carries the model's own names.
class AXRUN_API Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& text) : std::runtime_error(text), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

[[noreturn]] AXRUN_API void throw_internal(const char* condition, const char* file, int line);

/// An invariant of our own code. Input from outside must never reach one: check it first, and throw Error.
#define AXRUN_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::axrun::throw_internal(#condition, __FILE__, __LINE__))

}  // namespace axrun
