#include "runtime/cli/fill_cache.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "ir/error.h"
#include "runtime/cli/interruption.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/optimiser_report.h"
#include "runtime/cli/run_model.h"
#include "runtime/cli/watchdog.h"
#include "runtime/version.h"
#include "runtime/warm/warm_start.h"

namespace axrun::cli {
namespace {

constexpr double standard_fill_s = 60;

void require_cache(const Options& options) {
  std::string why = "--no-cache";
  std::shared_ptr<cache::Store> store;
  if (!options.no_cache) store = runtime::open_store(options.cache_dir, why);
  if (!store) throw Error(Fault::user, fmt::format("there is no cache to fill: {}", why));
  if (!store->writable())
    throw Error(Fault::user,
                fmt::format("the cache in {} can only be read: {}", store->settings().directory.string(),
                            fmt::join(store->troubles(), "; ")));
}

/// As shells say it of processes that a signal has ended.
constexpr int signal_base = 128;

std::string text_of(const Record& record) {
  const Optimisation& optimisation = record.measurement.optimisation;
  const runtime::OptimizerStatus& status = optimisation.status;
  int serving = 0, from_cache = 0;
  for (const runtime::OptimizedKernel& kernel : status.kernels) {
    if (kernel.state != runtime::OptimizedKernel::State::accepted) continue;
    ++serving;
    from_cache += kernel.from_cache ? 1 : 0;
  }
  const char* const why = Interruption::signal() != 0 ? "interrupted; what was found is kept; " : "";
  const std::string rest =
      optimisation.finished ? "nothing is left to be tried"
                            : fmt::format("{}{} left to try by now: run it again to go on", why, status.left);
  return fmt::format(
      "{}\n  {}; {:.3g} s\n  {} kernels serve, {} of them were in the cache before; {} candidates tried\n"
      "  cache: {}, {} bytes written\n  {}\n",
      record.model, gain_text(optimisation), optimisation.seconds, serving, from_cache, status.tried,
      status.cache.folder, status.cache.bytes_written, rest);
}

}  // namespace

int fill_cache(const Options& given, Clock::time_point process_start, Watchdog& watchdog) {
  Options options = given;
  if (!options.budget) options.budget = standard_fill_s;
  require_cache(options);
  Progress progress(!options.quiet);
  const Interruption interruption;
  const MeasuredModel model = measured_model(options, process_start, progress);
  progress.clear();
  watchdog.stop();
  if (options.json) {
    const nlohmann::ordered_json report = {
        {"schema_version", 1},
        {"version", runtime::version()},
        {"model", model.record.model},
        {"optimiser", optimiser_json(model.record.measurement.optimisation)}};
    std::fputs(line_of(report).c_str(), stdout);
  }
  if (!options.quiet) std::fputs(text_of(model.record).c_str(), options.json ? stderr : stdout);
  const std::string lost = runtime::not_stored(model.record.measurement.optimisation.status.cache);
  if (!lost.empty()) throw Error(Fault::user, fmt::format("not everything could be stored: {}", lost));
  if (Interruption::signal() != 0) return signal_base + Interruption::signal();
  return exit_ok;
}

}  // namespace axrun::cli
