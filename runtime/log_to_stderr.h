#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "runtime/knobs.h"
#include "runtime/log.h"

namespace axrun::runtime {

/// For commands; the library itself never prints. Lines begin with the time in UTC and are written whole.
/// level: one of the words of AXRUN_LOG; empty: what that says.
inline void log_to_stderr(const std::string& level) {
  const char* const knob = knob_value(KnobName::log);
  const LogLevel most = log_level_of(!level.empty()    ? level
                                     : knob != nullptr ? knob
                                                       : "off")
                            .value_or(LogLevel::off);
  if (most == LogLevel::off) return;
  set_log(most, [](const LogRecord& record) {
    const auto now = std::chrono::system_clock::now();
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    const std::string line =
        fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z {}\n",
                    fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds, log_line(record));
    std::fwrite(line.data(), 1, line.size(), stderr);
  });
}

}  // namespace axrun::runtime
