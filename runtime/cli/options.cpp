#include "runtime/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ir/error.h"
#include "runtime/cli/option_mistakes.h"

namespace axrun::cli {
namespace {

const std::map<std::string, runtime::Tier> tiers = {{"reference", runtime::Tier::reference},
                                                    {"fallback", runtime::Tier::fallback},
                                                    {"auto", runtime::Tier::automatic}};

int64_t number_in(std::string_view text, const std::string& flag, const std::string& whole) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw Error(Fault::user, fmt::format("{} {}: '{}' is no size", flag, whole, text));
  }
  return value;
}

/// NAME:1x3x224x224. Sizes hold no colon, names may; nothing after the colon is a scalar.
void add_shape(const std::string& text, std::map<std::string, ir::Shape>& shapes) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw Error(Fault::user, fmt::format("--shape {}: it is written NAME:1x3x224x224", text));
  }
  ir::Shape shape;
  const std::string_view sizes = std::string_view(text).substr(colon + 1);
  for (size_t start = 0; !sizes.empty() && start <= sizes.size();) {
    const size_t end = std::min(sizes.find('x', start), sizes.size());
    shape.push_back(number_in(sizes.substr(start, end - start), "--shape", text));
    start = end + 1;
  }
  shapes[text.substr(0, colon)] = std::move(shape);
}

void add_dim(const std::string& text, std::map<std::string, int64_t>& dims) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(Fault::user, fmt::format("--dim {}: it is written NAME=N", text));
  }
  dims[text.substr(0, equals)] = number_in(std::string_view(text).substr(equals + 1), "--dim", text);
}

/// `--profile` takes a value only where one follows that cannot be the model: text, json or FILE.json. Any
/// other file needs `--profile=FILE`.
std::vector<std::string> arguments_of(int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (size_t k = 0; k < arguments.size(); ++k) {
    if (arguments[k] != "--profile") continue;
    const std::string next = k + 1 < arguments.size() ? arguments[k + 1] : "";
    const bool takes = next == "text" || next == "json" || next.ends_with(".json");
    arguments[k] += "=" + (takes ? next : "text");
    if (takes) arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(k) + 1);
  }
  return arguments;
}

/// What CLI11 says of its own ranges ends with all digits of the largest double.
std::string at_least_0(const std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) && value >= 0
             ? ""
             : fmt::format("'{}' is no number of 0 or more", text);
}
std::string above_0(const std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) && value > 0 ? ""
                                                             : fmt::format("'{}' is no number above 0", text);
}

/// Values as CLI11 fills them in, before they are checked together.
struct Raw {
  std::vector<std::string> shapes, dims;
  std::string tier = "auto", mode = "latency";
  bool version = false;
};

/// What the model is run on, and by what.
void add_run_options(CLI::App& app, Options& options, Raw& raw) {
  // Without this an option that may be repeated would swallow the model's name after it.
  const auto repeated = [&](const char* flag, std::vector<std::string>& values) {
    app.add_option(flag, values)->allow_extra_args(false);
  };
  app.add_option("--data", options.data);
  repeated("--input", options.inputs);
  repeated("--shape", raw.shapes);
  repeated("--dim", raw.dims);
  app.add_option("--seed", options.seed)->check(at_least_0);
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 4096));
  app.add_option("--budget", options.budget)->check(at_least_0);
  app.add_flag("--deterministic", options.deterministic);
  app.add_option("--fp", options.numeric_class)->check(CLI::IsMember({"strict", "reassoc", "bilinear"}));
  app.add_option("--cache-dir", options.cache_dir);
  app.add_flag("--no-cache", options.no_cache);
  repeated("--operators", options.operators);
  app.add_option("--timeout", options.timeout)->check(above_0);
  app.add_flag("--json", options.json);
  app.add_flag("--quiet", options.quiet);
  app.add_option("--log", options.log)->check(CLI::IsMember({"off", "error", "warn", "info", "debug"}));
}

void add_options(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("MODEL", options.model);
  add_run_options(app, options, raw);
  app.add_option("--expect", options.expects)->allow_extra_args(false);
  app.add_option("--save", options.save);
  app.add_option("--tolerance", options.tolerance)->check(at_least_0);

  CLI::Option* runs = app.add_option("--runs", options.runs)->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app.add_option("--seconds", options.seconds)->check(at_least_0)->excludes(runs);
  app.add_option("--warmup", options.warmup)->check(at_least_0);
  app.add_option("--tier", raw.tier)->check([](const std::string& text) {
    return tiers.count(text) > 0 ? "" : "it is reference, fallback or auto";
  });

  app.add_option("--mode", raw.mode)->check(CLI::IsMember({"latency", "throughput"}));
  app.add_option("--streams", options.streams)->check(CLI::Range(1, 4096));
  app.add_flag("--pin", options.pin);

  app.add_option("--profile", options.profile_target);
  app.add_option("--trace", options.trace);
  app.add_option("--metrics", options.metrics);
  app.add_flag("--version", raw.version);
}

/// axrun cache list|verify [--deep [--model FILE]...]|prune|export FILE|import FILE
CLI::App* add_cache_commands(CLI::App& app, Options& options) {
  using Action = Options::CacheAction;
  CLI::App* cache = app.add_subcommand("cache");
  cache->set_help_flag("--help,-h");
  cache->require_subcommand(1);
  const auto add = [&](const char* name, Action action) {
    CLI::App* command = cache->add_subcommand(name);
    command->set_help_flag("--help,-h");
    command->add_option("--cache-dir", options.cache_dir);
    command->add_flag("--json", options.json);
    command->callback([&options, action] { options.cache_action = action; });
    return command;
  };
  add("list", Action::list);
  CLI::App* verify = add("verify", Action::verify);
  CLI::Option* deep = verify->add_flag("--deep", options.verify_deeply);
  verify->add_option("--model", options.cached_models)->needs(deep)->allow_extra_args(false);
  verify->add_option("--threads", options.threads)->needs(deep)->check(CLI::Range(1, 4096));
  CLI::App* prune = add("prune", Action::prune);
  prune->add_flag("--all", options.prune_all);
  prune->add_option("--days", options.prune_days)->check(CLI::Range(int64_t{0}, int64_t{1} << 20));
  prune->add_option("--limit", options.prune_mebibytes)->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  add("export", Action::export_to)->add_option("FILE", options.cache_file)->required();
  add("import", Action::import_from)->add_option("FILE", options.cache_file)->required();
  return cache;
}

/// axrun rules [NAME] [--discover MODEL...] [--independent [--among NAME...]] [--compare DIR]
CLI::App* add_rules_command(CLI::App& app, Options& options) {
  CLI::App* rules = app.add_subcommand("rules");
  rules->set_help_flag("--help,-h");
  CLI::Option* name = rules->add_option("NAME", options.rule);
  rules->add_option("--discover", options.discover)->excludes(name);
  CLI::Option* independent = rules->add_flag("--independent", options.independent)->excludes(name);
  rules->add_option("--among", options.among)->needs(independent);
  rules->add_option("--compare", options.compare_rules)->excludes(name)->excludes(independent);
  rules->add_option("--cache-dir", options.cache_dir);
  rules->add_flag("--json", options.json);
  return rules;
}

void check_numbers(const Options& options) {
  for (const auto& value : {options.seconds, options.timeout, options.budget, options.tolerance}) {
    if (value && !std::isfinite(*value)) {
      throw Error(Fault::user, "numbers on the command line must be finite");
    }
  }
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options options;
  Raw raw;
  CLI::App app("", "axrun");
  app.set_help_flag("--help,-h");
  add_options(app, options, raw);
  CLI::App* cache = add_cache_commands(app, options);
  CLI::App* rules = add_rules_command(app, options);
  CLI::App* inspect = app.add_subcommand("inspect");
  inspect->set_help_flag("--help,-h");
  inspect->add_option("MODEL", options.model)->required();
  inspect->add_flag("--json", options.json);
  inspect->add_option("--operators", options.operators)->allow_extra_args(false);
  CLI::App* optimize = app.add_subcommand("optimize");
  optimize->set_help_flag("--help,-h");
  optimize->add_option("MODEL", options.model)->required();
  add_run_options(*optimize, options, raw);
  CLI::App* explain = app.add_subcommand("explain");
  explain->set_help_flag("--help,-h");
  explain->add_option("MODEL", options.model)->required();
  explain->add_option("NODE", options.nodes);
  explain->add_option("--html", options.html);
  add_run_options(*explain, options, raw);
  CLI::App* reproduce = app.add_subcommand("reproduce");
  reproduce->set_help_flag("--help,-h");
  reproduce->add_option("FOLDER", options.model)->required();
  reproduce->add_flag("--json", options.json);
  CLI::App* knobs = app.add_subcommand("knobs");
  knobs->set_help_flag("--help,-h");
  knobs->add_flag("--json", options.json);
  CLI::App* operators = app.add_subcommand("operators");
  operators->set_help_flag("--help,-h");
  operators->add_flag("--json", options.json);
  CLI::App* target = app.add_subcommand("target");
  target->set_help_flag("--help,-h");
  target->add_flag("--calibrate", options.calibrate);
  target->add_flag("--json", options.json);
  // As other programs have them; what follows "help" is not looked at.
  app.add_subcommand("help");
  CLI::App* version = app.add_subcommand("version");

  const std::vector<std::string> arguments = arguments_of(argc, argv);
  check_command(app, arguments);
  if (!arguments.empty() && arguments.front() == "help") {
    options.command = Options::Command::help;
    return options;
  }
  try {
    app.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    options.command = Options::Command::help;
    return options;
  } catch (const CLI::ParseError& error) {
    throw Error(Fault::user, fmt::format("{} (axrun --help lists commands and options)",
                                         text_of_mistake(app, error, arguments)));
  }
  options.profile = app.count("--profile") > 0;
  for (const std::string& text : raw.shapes) add_shape(text, options.shapes);
  for (const std::string& text : raw.dims) add_dim(text, options.dims);
  options.tier = tiers.at(raw.tier);
  if (raw.mode == "throughput") options.mode = Options::Mode::throughput;
  if (options.streams > 0 && options.mode != Options::Mode::throughput) {
    throw Error(Fault::user, "--streams belongs to --mode throughput");
  }
  if (options.deterministic && app.count("--fp") > 0 && options.numeric_class != "strict")
    throw Error(Fault::user, "--deterministic is --fp strict, and no other class");
  if (options.deterministic) options.numeric_class = "strict";
  options.deterministic = options.numeric_class == "strict";
  check_numbers(options);
  if (app.got_subcommand(cache)) options.command = Options::Command::cache;
  if (app.got_subcommand(rules)) options.command = Options::Command::rules;
  if (app.got_subcommand(inspect)) options.command = Options::Command::inspect;
  if (app.got_subcommand(optimize)) options.command = Options::Command::optimize;
  if (app.got_subcommand(explain)) options.command = Options::Command::explain;
  if (app.got_subcommand(reproduce)) options.command = Options::Command::reproduce;
  if (app.got_subcommand(knobs)) options.command = Options::Command::knobs;
  if (app.got_subcommand(operators)) options.command = Options::Command::operators;
  if (app.got_subcommand(target)) options.command = Options::Command::target;
  if (raw.version || app.got_subcommand(version)) options.command = Options::Command::version;
  return options;
}

std::vector<std::string> known_options() {
  Options options;
  Raw raw;
  CLI::App app;
  add_options(app, options, raw);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace axrun::cli
