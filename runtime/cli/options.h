#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "runtime/session.h"

namespace axrun::cli {

/// What `axrun` ends with; `axrun --help` lists them.
enum ExitCode : int {
  exit_ok = 0,
  exit_user = 1,      ///< command line, missing file, bad inputs
  exit_model = 2,     ///< the model is damaged, invalid or unsupported
  exit_mismatch = 3,  ///< an output differs from the expected one
  exit_refuted = 4,   ///< a proof was refuted
  exit_unknown = 5,   ///< a proof came to nothing
  exit_internal = 70,
  exit_timeout = 124,
};

/// Everything the command line says.
struct Options {
  enum class Command {
    run,
    optimize,
    cache,
    rules,
    explain,
    reproduce,
    inspect,
    knobs,
    operators,
    target,
    version,
    help
  };
  Command command = Command::run;

  std::string model;               ///< empty: the demonstration model
  bool calibrate = false;          ///< of the command target
  std::vector<std::string> nodes;  ///< of the command explain: the ones asked about
  std::string html;                ///< of the command explain: the page is written there

  // Values.
  std::string data;
  std::vector<std::string> inputs;   ///< NAME:SPEC
  std::vector<std::string> expects;  ///< NAME:SPEC
  std::string save;
  std::map<std::string, ir::Shape> shapes;
  std::map<std::string, int64_t> dims;
  std::optional<double> tolerance;
  uint64_t seed = 0;

  // What is measured.
  std::optional<int64_t> runs;
  std::optional<double> seconds;
  std::optional<int64_t> warmup;
  std::optional<double> timeout;

  // Execution.
  int threads = 0;  ///< 0: not given
  enum class Mode { latency, throughput };
  Mode mode = Mode::latency;
  int streams = 0;   ///< runs side by side; 0: not given
  bool pin = false;  ///< each stream on a processor of its own
  runtime::Tier tier = runtime::Tier::automatic;
  std::optional<double> budget;
  bool deterministic = false;
  std::string numeric_class = "reassoc";
  std::string cache_dir;
  bool no_cache = false;
  std::vector<std::string> operators;  ///< shared libraries with operators of the user's own

  // Of the command rules.
  std::string rule;                   ///< its name; empty: all are listed
  std::vector<std::string> discover;  ///< models to look for rules in
  bool independent = false;           ///< only those that do not follow from others
  std::vector<std::string> among;     ///< names: nothing but these is looked at then; empty: all
  std::string compare_rules;          ///< folder of another cache

  // Of the command cache.
  enum class CacheAction { list, verify, prune, export_to, import_from };
  CacheAction cache_action = CacheAction::list;
  bool verify_deeply = false;
  std::vector<std::string> cached_models;  ///< whose packed weights are packed again
  std::string cache_file;
  bool prune_all = false;
  std::optional<int64_t> prune_days;
  std::optional<int64_t> prune_mebibytes;

  // Output.
  bool json = false;
  std::string log;  ///< a level; empty: AXRUN_LOG's
  bool quiet = false;
  bool profile = false;
  std::string profile_target = "text";  ///< "text", "json" or a file
  std::string trace;
  std::string metrics;

  bool profiling() const { return profile || !trace.empty(); }
};

/// Throws Error(user) for anything it does not know.
Options parse_options(int argc, const char* const* argv);

/// "--data", ...: for the test of the help text.
std::vector<std::string> known_options();

}  // namespace axrun::cli
