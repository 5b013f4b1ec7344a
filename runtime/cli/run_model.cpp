#include "runtime/cli/run_model.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string_view>

#include "ir/error_place.h"
#include "onnx_import/input_file.h"
#include "runtime/c_api_operators.h"
#include "runtime/cli/data_values.h"
#include "runtime/cli/demonstration.h"
#include "runtime/cli/divergence_search.h"
#include "runtime/cli/record.h"
#include "runtime/cli/values.h"
#include "runtime/cli/watchdog.h"
#include "runtime/closest_word.h"
#include "runtime/knobs.h"
#include "runtime/metrics_text/metrics_text.h"
#include "runtime/plan/plan.h"
#include "runtime/profiler.h"
#include "runtime/warm/warm_start.h"

namespace axrun::cli {

using runtime::RuntimeValue;
using runtime::Session;

namespace {

/// What earlier processes have found is used, though nothing is looked for: nobody has said --budget.
bool starts_warm(const Options& options) {
  const char* cache = runtime::knob_value(runtime::KnobName::cache);
  const bool off = cache != nullptr && std::string_view(cache) == "off" && options.cache_dir.empty();
  return options.budget.value_or(0) <= 0 && options.tier == runtime::Tier::automatic && !options.no_cache &&
         !off;
}

runtime::SessionOptions session_options(const Options& options) {
  runtime::SessionOptions session;
  session.threads = spread_of(options).threads;
  session.tier = options.tier;
  session.shapes = options.shapes;
  session.dims = options.dims;
  session.profile = options.profiling();
  session.optimize = options.budget.value_or(0) > 0 || starts_warm(options);
  session.use_cache = !options.no_cache;
  session.cache_dir = options.cache_dir;
  session.deterministic = options.deterministic;
  session.bilinear = options.numeric_class == "bilinear";
  session.operators = c_api::operators_of(options.operators);
  return session;
}

std::unique_ptr<Session> load(const std::string& path, const Options& options) {
  try {
    std::unique_ptr<Session> session = Session::load(path, session_options(options));
    if (starts_warm(options)) session->freeze();
    return session;
  } catch (const Error& error) {
    throw_as(error, text_with_file(error, path));
  }
}

/// Sizes for what a model leaves open, in the order in which they are tried: what suits their place, then a
/// length that sound and text models take.
constexpr int64_t free_sizes[] = {0, 512};

/// Gathers the inputs and measures. Made-up sizes may not suit the model: others are tried, and its refusal
/// says which they were.
void measure_inputs(Session& session, const Options& options, Clock::time_point process_start,
                    Progress& progress, Inputs& inputs, Record& record) {
  std::optional<Error> refusal;  // of the sizes tried first
  for (const int64_t free_size : free_sizes) {
    inputs = gather_inputs(session, options, free_size);
    const double before_first_ms = milliseconds_since(process_start);
    try {
      record.measurement = measure(session, inputs.values, options, progress);
      record.start_to_first_ms = before_first_ms + record.measurement.first_ms;
      return;
    } catch (const Error& error) {
      if (inputs.open_dims.empty() || error.fault() == Fault::internal) throw;
      if (!refusal) {
        refusal.emplace(
            error.fault(),
            fmt::format("{}\nThe model leaves sizes open; made up were {}. Others can be chosen with --dim "
                        "NAME=N or --shape.",
                        error.what(), fmt::join(inputs.open_dims, ", ")));
      }
    }
  }
  throw *refusal;
}

/// What was executed, in order: profiled steps, else those of the plan.
std::vector<runtime::StepProfile> executed_steps(Session& session, const Options& options,
                                                 const std::vector<RuntimeValue>& inputs) {
  if (options.profiling()) return session.profile();
  std::vector<runtime::StepProfile> steps;
  if (options.tier == runtime::Tier::reference) {
    for (const ir::Node& node : session.model().graph->nodes) {
      runtime::StepProfile step;
      step.name = node.name;
      step.op = node.op;
      step.kernel = "reference";
      steps.push_back(std::move(step));
    }
    return steps;
  }
  std::vector<ir::Shape> shapes;
  for (const RuntimeValue& value : inputs) shapes.push_back(value.tensor.shape());
  if (const auto plan = session.current_plan(shapes)) {
    for (const runtime::Step& step : plan->steps()) steps.push_back(runtime::describe_step(*plan, step));
  }
  return steps;
}

void compare_outputs(Record& record, const Session& session, const Options& options) {
  const Tolerance tolerance = tolerance_of(options);
  const auto expected = gather_expected(session, options, record.measurement.outputs);
  bool any = false;
  for (size_t k = 0; k < session.outputs().size(); ++k) {
    OutputRecord output;
    output.name = session.outputs()[k].name;
    output.value = record.measurement.outputs[k];
    if (expected[k]) output.comparison = compare(*expected[k], output.value, tolerance);
    any |= expected[k].has_value();
    record.outputs.push_back(std::move(output));
  }
  if (!options.data.empty() && !any) {
    record.notes.push_back(fmt::format("'{}' holds no expected outputs: nothing was compared", options.data));
  }
  if (!record.matches() && options.tier == runtime::Tier::reference) {
    record.notes.emplace_back(
        "this is the reference: the expected values differ from the model's definition");
  }
}

}  // namespace

void add_notes(Record& record) {
  const Optimisation& optimisation = record.measurement.optimisation;
  const auto state = optimisation.status.state;
  if (optimisation.asked && !optimisation.status.reason.empty()) {
    record.notes.push_back(
        fmt::format("the optimiser is {}: {}", runtime::name_of(state), optimisation.status.reason));
  }
  if (const runtime::CacheUse& cache = optimisation.status.cache; !cache.trouble.empty()) {
    record.notes.push_back(fmt::format("nothing is kept for later runs: {}", cache.trouble));
  } else if (const std::string lost = runtime::not_stored(cache); !lost.empty()) {
    record.notes.push_back(
        fmt::format("not everything could be kept in {} for later runs: {}", cache.folder, lost));
  }
  if (is_noisy(record.latency, record.measurement.times_ms.size())) {
    record.notes.emplace_back(
        "noisy: the slowest 5% of runs took more than 1.5 times the median; something else "
        "uses the machine");
  }
  if (record.threads > record.machine.available_processors) {
    record.notes.push_back(fmt::format("{} threads share {} processors: more of them make nothing faster",
                                       record.threads, record.machine.available_processors));
  }
  for (const std::string& name : runtime::unknown_knobs()) {
    record.notes.push_back(fmt::format("environment variable {} is none that axrun reads (axrun knobs){}",
                                       name, runtime::did_you_mean(name, runtime::knob_names())));
  }
}

namespace {

bool profiles_to_stdout(const Options& options) {
  return options.profile && options.profile_target == "json" && !options.json;
}

/// Where stdout is for a program, people read stderr.
std::FILE* people(const Options& options) {
  return options.json || profiles_to_stdout(options) ? stderr : stdout;
}

void write_text(const Record& record, const Options& options) {
  if (!options.quiet) {
    std::fputs(text_report(record, options).c_str(), people(options));
    if (options.profile && options.profile_target == "text") {
      std::fputs(profile_text(record.steps, record.measurement.times_ms.size()).c_str(), people(options));
    }
    std::fflush(people(options));
  }
  if (!record.measurement.differs.empty()) {
    std::fprintf(stderr, "axrun: runs side by side differ: %s\n", record.measurement.differs.c_str());
  } else if (!record.matches()) {
    std::fprintf(stderr, "axrun: outputs differ from the expected ones\n");
  }
}

void write_files(const Record& record, const Session& session, const Options& options) {
  const size_t runs = record.measurement.times_ms.size();
  const bool to_file =
      options.profile && options.profile_target != "text" && options.profile_target != "json";
  if (to_file) {
    const bool json = options.profile_target.ends_with(".json");
    onnx_import::write_whole_file(options.profile_target,
                                  json ? profile_json(record.steps, runs) : profile_text(record.steps, runs));
  }
  if (!options.trace.empty()) onnx_import::write_whole_file(options.trace, chrome_trace(record.steps));
  if (!options.metrics.empty()) {
    std::vector<prometheus::MetricFamily> metrics;
    runtime::add_metrics(session, {{"model", record.model}}, metrics);
    onnx_import::write_whole_file(options.metrics, runtime::metrics_text(metrics));
  }
}

/// What follows a search where there was one, and is for programs.
void write_rest(const Record& record, const Options& options) {
  if (!options.quiet) std::fputs(search_text(record).c_str(), people(options));
  if (options.json) std::fputs(json_report(record, options).c_str(), stdout);
  if (profiles_to_stdout(options))
    std::fputs(profile_json(record.steps, record.measurement.times_ms.size()).c_str(), stdout);
}

}  // namespace

std::string text_with_file(const Error& error, const std::string& path) {
  const bool in_model = error.fault() == Fault::model || error.fault() == Fault::unsupported;
  return in_model ? fmt::format("{}: {}", path, error.what()) : error.what();
}

MeasuredModel measured_model(const Options& options, Clock::time_point process_start, Progress& progress) {
  MeasuredModel model;
  Record& record = model.record;
  record.demonstration = options.model.empty();
  record.model =
      record.demonstration ? write_demonstration(options.cache_dir, !options.no_cache) : options.model;

  const Clock::time_point load_start = Clock::now();
  model.session = load(record.model, options);
  record.load_ms = milliseconds_since(load_start);
  check_expected(*model.session, options);
  measure_inputs(*model.session, options, process_start, progress, model.inputs, record);
  record.peak_rss_bytes = runtime::peak_rss_bytes();  // before comparing adds to it

  record.inputs = model.inputs.origins;
  record.latency = latency_of(record.measurement.times_ms);
  record.nodes = model.session->model().graph->nodes.size();
  record.opsets = model.session->model().opsets;
  record.threads = model.session->threads();
  record.forms = model.session->form_counts();
  record.machine = runtime::describe_machine();
  return model;
}

int run_model(const Options& options, Clock::time_point process_start, Watchdog& watchdog) {
  Progress progress(!options.quiet);
  MeasuredModel model = measured_model(options, process_start, progress);
  Record& record = model.record;
  const std::unique_ptr<Session>& session = model.session;
  record.steps = executed_steps(*session, options, model.inputs.values);
  if (!options.save.empty()) save_outputs(options.save, session->outputs(), record.measurement.outputs);
  compare_outputs(record, *session, options);
  add_notes(record);
  progress.clear();
  // The verdict is told before what may take long.
  const bool searches =
      !record.matches() && options.tier != runtime::Tier::reference && (options.json || !options.quiet);
  if (!searches) watchdog.stop();
  write_text(record, options);
  if (searches) {
    Record verdict = record;
    verdict.search = "the first node that differs from the reference was not found before --timeout";
    watchdog.answered(record.exit_code(), [verdict = std::move(verdict), &options, &progress] {
      progress.clear();
      write_rest(verdict, options);
    });
  }
  write_files(record, *session, options);
  if (searches) {
    search_divergence(record, *session, options, model.inputs, watchdog.deadline(), progress);
    progress.clear();
    watchdog.stop();
  }
  write_rest(record, options);
  return record.exit_code();
}

}  // namespace axrun::cli
