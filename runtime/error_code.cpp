#include "runtime/error_code.h"

#include <new>

#include "runtime/run_control.h"

namespace axrun::runtime {

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::user:
      return "user";
    case Fault::model:
      return "model";
    case Fault::unsupported:
      return "unsupported";
    case Fault::internal:
      break;
  }
  return "internal";
}

Fault fault_of(const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  return known != nullptr ? known->fault() : Fault::internal;
}

const char* code_of(const std::exception& error) {
  if (const auto* const ended = dynamic_cast<const RunEnded*>(&error))
    return ended->why() == RunEnded::Why::deadline ? "deadline" : "cancelled";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out_of_memory";
  return name_of(fault_of(error));
}

}  // namespace axrun::runtime
