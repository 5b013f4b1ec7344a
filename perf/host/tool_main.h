// What programs share that print one JSON object about a model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perf/host/options.h"

namespace axrun::perf {

/// Prints what `json` makes of the command line and returns the exit code; prints `help` where that is asked
/// for, and failures as "name: reason" on one line of stderr.
int tool_main(int argc, char** argv, const std::string& name, const char* help,
              const std::vector<EngineFlag>& flags, const std::function<std::string(const Options&)>& json);

}  // namespace axrun::perf
