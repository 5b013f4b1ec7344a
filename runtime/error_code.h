#pragma once

#include <exception>

#include "ir/api.h"
#include "ir/error.h"

namespace axrun::runtime {

/// The class of a failure in one word that never changes its meaning: the command's --json, the server's
/// answers, axrun_status_name and the log say the same. "user", "model", "unsupported", "cancelled",
/// "deadline", "out_of_memory", "internal".
AXRUN_API const char* code_of(const std::exception& error);

/// Whose fault it is; internal for what is no Error.
AXRUN_API Fault fault_of(const std::exception& error);
AXRUN_API const char* name_of(Fault fault);

}  // namespace axrun::runtime
