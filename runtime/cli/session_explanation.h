#pragma once

#include <string>
#include <vector>

#include "runtime/session.h"

namespace axrun::cli {

/// Why a session's model runs as it does, for the library's users: the JSON of `axrun explain --json` on one
/// line, without what only that command knows (names of files, latencies). Runs the model that often and
/// times every step; measures the speed of the machine, which takes some 40 ms. Throws as Session::run does,
/// and Error(user) for less than one run. control: may end the runs early; null: nothing does.
std::string explanation_of(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                           int runs, const runtime::RunControl* control);

}  // namespace axrun::cli
