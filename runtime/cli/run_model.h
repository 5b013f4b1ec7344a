#pragma once

#include <string>

#include "ir/error.h"
#include "runtime/cli/measure.h"
#include "runtime/cli/options.h"
#include "runtime/cli/record.h"
#include "runtime/cli/values.h"

namespace axrun::cli {

class Watchdog;

/// A model that has been loaded, run and optimised as the options say.
struct MeasuredModel {
  std::unique_ptr<runtime::Session> session;
  Inputs inputs;
  Record record;  ///< but for steps, outputs, divergence
};
MeasuredModel measured_model(const Options& options, Clock::time_point process_start, Progress& progress);
/// What the user should know of a measurement.
void add_notes(Record& record);

/// What an error says, with the model's file before it where it is an error in the model.
std::string text_with_file(const Error& error, const std::string& path);

/// `axrun MODEL`: loads, runs, compares, saves and reports. Returns exit_ok or exit_mismatch; throws Error.
int run_model(const Options& options, Clock::time_point process_start, Watchdog& watchdog);

}  // namespace axrun::cli
