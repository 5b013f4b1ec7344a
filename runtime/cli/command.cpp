#include "runtime/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ir/error.h"
#include "runtime/c_api_operators.h"
#include "runtime/cli/cache_command.h"
#include "runtime/cli/explain.h"
#include "runtime/cli/fill_cache.h"
#include "runtime/cli/help.h"
#include "runtime/cli/inspect.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/model_path.h"
#include "runtime/cli/operators_report.h"
#include "runtime/cli/options.h"
#include "runtime/cli/record.h"
#include "runtime/cli/reproduce.h"
#include "runtime/cli/rules_command.h"
#include "runtime/cli/run_model.h"
#include "runtime/cli/target_report.h"
#include "runtime/cli/watchdog.h"
#include "runtime/error_code.h"
#include "runtime/knobs.h"
#include "runtime/log_to_stderr.h"
#include "runtime/version.h"

namespace axrun::cli {
namespace {

std::string inspected(const Options& options) {
  const Operators operators = c_api::operators_of(options.operators);
  return options.json ? inspect_json(options.model, operators) : inspect_text(options.model, operators);
}

struct Failure {
  int exit_code;
  const char* fault;
};

Failure failure_of(const std::exception& error) {
  const char* const code = runtime::code_of(error);
  switch (runtime::fault_of(error)) {
    case Fault::user:
      return {exit_user, code};
    case Fault::model:
    case Fault::unsupported:
      return {exit_model, code};
    case Fault::internal:
      break;
  }
  return {exit_internal, code};
}

std::string knobs_text() {
  std::string text;
  for (size_t k = 0; k < runtime::knobs().size(); ++k) {
    const runtime::Knob& knob = runtime::knobs()[k];
    const char* value = runtime::knob_value(static_cast<runtime::KnobName>(k));
    text += fmt::format("{}={}\n    {}\n    values: {}; not set: {}\n", knob.name, value ? value : "",
                        knob.meaning, knob.values, knob.standard);
  }
  return text;
}

std::string knobs_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t k = 0; k < runtime::knobs().size(); ++k) {
    const runtime::Knob& knob = runtime::knobs()[k];
    const char* value = runtime::knob_value(static_cast<runtime::KnobName>(k));
    list.push_back({{"name", knob.name},
                    {"value", value ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr)},
                    {"default", knob.standard},
                    {"values", knob.values},
                    {"meaning", knob.meaning}});
  }
  return line_of({{"schema_version", 1}, {"version", runtime::version()}, {"knobs", std::move(list)}});
}

void check_knobs() {
  const std::vector<std::string> mistakes = runtime::knob_mistakes();
  if (!mistakes.empty()) {
    throw Error(Fault::user, fmt::format("environment variable {}", fmt::join(mistakes, "\n")));
  }
}

/// Of those whose MODEL is a file.
bool takes_model(Options::Command command) {
  using Command = Options::Command;
  return command == Command::run || command == Command::optimize || command == Command::explain ||
         command == Command::inspect;
}

int execute(Options options, Clock::time_point process_start) {
  std::optional<ModelPath> model;
  if (takes_model(options.command) && !options.model.empty())
    options.model = model.emplace(options.model).file();
  switch (options.command) {
    case Options::Command::help:
      std::fputs(help_text, stdout);
      return exit_ok;
    case Options::Command::version:
      std::fputs(fmt::format("axrun {} ({})\n", runtime::version(), runtime::build_text()).c_str(), stdout);
      return exit_ok;
    case Options::Command::knobs:
      std::fputs((options.json ? knobs_json() : knobs_text()).c_str(), stdout);
      return exit_ok;
    case Options::Command::cache:
      check_knobs();
      return cache_command(options);
    case Options::Command::rules:
      check_knobs();
      return rules_command(options);
    case Options::Command::inspect:
      std::fputs(inspected(options).c_str(), stdout);
      return exit_ok;
    case Options::Command::operators:
      std::fputs((options.json ? operators_json() : operators_text()).c_str(), stdout);
      return exit_ok;
    case Options::Command::target:
      check_knobs();
      std::fputs((options.json ? target_json(options.calibrate) : target_text(options.calibrate)).c_str(),
                 stdout);
      return exit_ok;
    case Options::Command::reproduce:
      check_knobs();
      return reproduce(options.model, options.json);
    case Options::Command::optimize:
    case Options::Command::explain:
    case Options::Command::run:
      break;
  }
  check_knobs();
  runtime::log_to_stderr(options.log);
  Watchdog watchdog(options.timeout, options.json);
  if (options.command == Options::Command::optimize) return fill_cache(options, process_start, watchdog);
  return options.command == Options::Command::explain ? explain_model(options, process_start, watchdog)
                                                      : run_model(options, process_start, watchdog);
}

}  // namespace

int command(int argc, const char* const* argv) {
  const Clock::time_point process_start = Clock::now();
  // Known before the command line is: its mistakes are reported as JSON too.
  const bool json =
      std::any_of(argv, argv + argc, [](const char* text) { return std::string_view(text) == "--json"; });
  const auto fail = [&](const std::exception& error, const std::string& message) {
    const Failure failure = failure_of(error);
    std::fflush(stdout);
    std::fputs(fmt::format("axrun: error: {}\n", message).c_str(), stderr);
    if (json) {
      std::fputs(json_error(failure.fault, message, error_place(error), failure.exit_code).c_str(), stdout);
    }
    return failure.exit_code;
  };
  try {
    return execute(parse_options(argc, argv), process_start);
  } catch (const std::bad_alloc& error) {
    return fail(error, "out of memory");
  } catch (const std::exception& error) {
    return fail(error, error.what());
  }
}

}  // namespace axrun::cli
