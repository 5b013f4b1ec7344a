#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/error_place.h"
#include "runtime/cli/compare.h"
#include "runtime/cli/latency.h"
#include "runtime/cli/measure.h"
#include "runtime/cli/options.h"
#include "runtime/machine.h"
#include "runtime/session.h"

namespace axrun::cli {

struct OutputRecord {
  std::string name;
  runtime::RuntimeValue value;
  std::optional<Comparison> comparison;  ///< empty: nothing to compare it with
};

/// All that is known after `axrun MODEL`; both reports are made from it.
struct Record {
  std::string model;
  bool demonstration = false;
  size_t nodes = 0;  ///< of the main graph, as it is executed
  std::map<std::string, int> opsets;
  int threads = 0;
  runtime::Machine machine;
  double load_ms = 0;
  double start_to_first_ms = 0;  ///< from the start of the process to the first answer
  std::vector<std::string> inputs;
  Measurement measurement;
  Latency latency;
  std::vector<OutputRecord> outputs;
  std::vector<runtime::StepProfile> steps;  ///< in order of execution; with times only where profiled
  std::optional<runtime::Divergence> divergence;
  std::string search;              ///< why a search for it has found none; empty where there was no search
  std::vector<std::string> notes;  ///< what the user should know: noise, options without effect
  int64_t peak_rss_bytes = 0;
  runtime::FormCounts forms;  ///< how plans came to be

  bool matches() const;
  ExitCode exit_code() const;
};

/// "reference", "fallback", "auto".
const char* tier_name(runtime::Tier tier);

std::string text_report(const Record& record, const Options& options);
/// What was found once outputs differed; empty where nothing was looked for.
std::string search_text(const Record& record);
/// One JSON object, ended by a newline.
std::string json_report(const Record& record, const Options& options);
std::string json_error(const std::string& fault, const std::string& message, const ErrorPlace& place,
                       int exit_code);

/// Times of steps, slowest first, and sums by operator. `runs` is the number of profiled runs.
std::string profile_text(const std::vector<runtime::StepProfile>& steps, size_t runs);
std::string profile_json(const std::vector<runtime::StepProfile>& steps, size_t runs);
/// The last run in Chrome's trace event format.
std::string chrome_trace(const std::vector<runtime::StepProfile>& steps);

}  // namespace axrun::cli
