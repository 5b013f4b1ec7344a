#include "runtime/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ir/error.h"

namespace axrun::cli {
namespace {

constexpr const char* description =
    "Runs an ONNX model: makes up what it is not given, prints outputs and times. Without a MODEL it makes "
    "a\n"
    "small one and runs that.";

constexpr const char* footer = R"(
Values (SPEC), the same for --input and --expect
  @x.npy  @x.npz:KEY  @x.pb     a file that knows its type and shape
  2x3xf32=@x.bin                raw little-endian elements
  2xf32=1,2  i64=5  2x3xf32=0   elements in order; a single one fills the tensor; no sizes: a scalar
  zeros  ones  random           of the shape that the model declares

Examples
  axrun model.onnx                                  made-up inputs, about a second of runs
  axrun model.onnx --data test_data_set_0           inputs and expected outputs of an ONNX test folder
  axrun model.onnx --input ids:1x4xi64=1,2,3,4 --dim batch=1 --json
  axrun model.onnx --shape image:1x3x480x640 --seconds 5 --threads 1
  axrun model.onnx --profile --trace trace.json     time of every step; open the trace in a browser's tracer
  axrun inspect model.onnx                          inputs, outputs, operators, parameters
  axrun knobs                                       environment variables

Exit codes
  0 ok   1 command line, missing file or bad inputs   2 model damaged, invalid or unsupported
  3 an output differs from the expected one   70 internal error   124 --timeout passed
)";

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
  for (std::string_view rest = std::string_view(text).substr(colon + 1); !rest.empty();) {
    const size_t end = std::min(rest.find('x'), rest.size());
    shape.push_back(number_in(rest.substr(0, end), "--shape", text));
    rest.remove_prefix(std::min(end + 1, rest.size()));
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

/// Values as CLI11 fills them in, before they are checked together.
struct Raw {
  std::vector<std::string> shapes, dims;
  std::string tier = "auto";
  bool version = false;
};

void add_value_options(CLI::App& app, Options& options, Raw& raw) {
  const std::string group = "Values";
  app.add_option("--data", options.data,
                 "ONNX test_data_set folder: input_K.pb are fed, output_K.pb compared")
      ->group(group)
      ->type_name("DIR");
  const auto repeated = [&](const char* flag, std::vector<std::string>& values, const char* type,
                            const char* help) {
    app.add_option(flag, values, help)->group(group)->type_name(type)->allow_extra_args(false);
  };
  repeated("--input", options.inputs, "NAME:SPEC", "value of an input (SPEC: below); may be repeated");
  repeated("--expect", options.expects, "NAME:SPEC", "expected value of an output; may be repeated");
  repeated("--shape", raw.shapes, "NAME:1x3x..", "shape of an input; may be repeated");
  repeated("--dim", raw.dims, "NAME=N", "size of a dimension that the model names; may be repeated");
  app.add_option("--tolerance", options.tolerance,
                 "an element may be off by REL times the output's largest magnitude (1e-4); from 0.05 on the "
                 "model counts as quantised, and a few elements may be off by more than half of that")
      ->group(group)
      ->type_name("REL")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "seed of made-up values (0)")->group(group)->type_name("N");
  app.add_option("--save", options.save, "write the outputs of the last run as DIR/output_K.pb")
      ->group(group)
      ->type_name("DIR");
}

void add_execution_options(CLI::App& app, Options& options, Raw& raw) {
  const std::string group = "Execution";
  app.add_option("--threads", options.threads, "threads of one run (AXRUN_THREADS, else every processor)")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--tier", raw.tier,
                 "reference: exact and slow; fallback: precompiled kernels; auto: the best there is (auto)")
      ->group(group)
      ->type_name("reference|fallback|auto")
      ->check(
          [](const std::string& text) { return tiers.count(text) > 0 ? "" : "no tier is called " + text; });
  app.add_option("--runs", options.runs, "timed runs (as many as fit into a second, at most 1000)")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app.add_option("--seconds", options.seconds, "time runs for S seconds instead")
      ->group(group)
      ->type_name("S")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--runs");
  app.add_option("--warmup", options.warmup, "runs before the timed ones (1; 0 for the reference tier)")
      ->group(group)
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--timeout", options.timeout, "give up after S seconds: exit 124")
      ->group(group)
      ->type_name("S")
      ->check(CLI::PositiveNumber);
  app.add_option("--budget", options.budget,
                 "seconds the optimiser may work before the last run, 0: none (no optimiser in this version)")
      ->group(group)
      ->type_name("S")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--cache-dir", options.cache_dir, "folder for what is kept between processes")
      ->group(group)
      ->type_name("DIR");
  app.add_flag("--no-cache", options.no_cache, "keep nothing between processes")->group(group);
}

void add_output_options(CLI::App& app, Options& options, Raw& raw) {
  const std::string group = "Output";
  app.add_flag("--json", options.json, "one JSON object on stdout, text for people on stderr")->group(group);
  app.add_option("--profile", options.profile_target, "time of every step: text (default), json, or a file")
      ->group(group)
      ->type_name("[text|json|FILE]");
  app.add_option("--trace", options.trace, "steps of the last run in Chrome's trace format")
      ->group(group)
      ->type_name("FILE");
  app.add_flag("--quiet", options.quiet, "no text for people; errors are printed")->group(group);
  app.add_flag("--version", raw.version, "print the version")->group(group);
}

void check_numbers(const Options& options) {
  for (const auto& value : {options.seconds, options.timeout, options.budget, options.tolerance}) {
    if (value && !std::isfinite(*value))
      throw Error(Fault::user, "numbers on the command line must be finite");
  }
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options options;
  Raw raw;
  CLI::App app(description, "axrun");
  app.footer(footer);
  app.set_help_flag("--help,-h", "print this text")->group("Output");
  app.get_formatter()->column_width(34);
  app.add_option("MODEL", options.model, "ONNX file")->type_name("");
  add_value_options(app, options, raw);
  add_execution_options(app, options, raw);
  add_output_options(app, options, raw);

  CLI::App* inspect =
      app.add_subcommand("inspect", "show a model's inputs, outputs, operators and parameters");
  inspect->add_option("MODEL", options.model, "ONNX file")->type_name("")->required();
  inspect->add_flag("--json", options.json, "one JSON object");
  CLI::App* knobs = app.add_subcommand("knobs", "list the environment variables that axrun reads");
  knobs->add_flag("--json", options.json, "one JSON object");

  std::vector<std::string> arguments = arguments_of(argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    options.command = Options::Command::help;
    options.help_text = app.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw Error(Fault::user, fmt::format("{} (see axrun --help)", error.what()));
  }
  options.profile = app.count("--profile") > 0;
  for (const std::string& text : raw.shapes) add_shape(text, options.shapes);
  for (const std::string& text : raw.dims) add_dim(text, options.dims);
  options.tier = tiers.at(raw.tier);
  check_numbers(options);
  if (app.got_subcommand(inspect)) options.command = Options::Command::inspect;
  if (app.got_subcommand(knobs)) options.command = Options::Command::knobs;
  if (raw.version) options.command = Options::Command::version;
  return options;
}

}  // namespace axrun::cli
