#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error_code.h"
#include "runtime/log.h"
#include "runtime/run_control.h"
#include "runtime/run_counts.h"

namespace axrun::runtime {

/// What the log says of an error: its class, its text, and what it is about.
std::vector<std::pair<const char*, std::string>> log_fields_of(const std::exception& error);

/// A run, counted as what it ends as.
template <class Run>
void counted_run(RunCounts& counts, const Run& run) {
  std::atomic<int64_t>* end = &counts.failed;
  struct Count {
    std::atomic<int64_t>*& end;
    ~Count() { end->fetch_add(1, std::memory_order_relaxed); }
  } const count{end};
  try {
    run();
    end = &counts.ok;
  } catch (const RunEnded&) {
    end = &counts.ended_early;
    throw;
  } catch (const std::exception& error) {
    // Mistakes of a client are no concern of operators.
    const bool ours = fault_of(error) == Fault::internal;
    const LogLevel level = ours ? LogLevel::error : LogLevel::debug;
    if (logs(level)) log({level, "run_failed", log_fields_of(error)});
    throw;
  }
}

}  // namespace axrun::runtime
