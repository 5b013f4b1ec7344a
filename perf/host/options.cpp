#include "perf/host/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace axrun::perf {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw HostError(HostError::user, text); }

template <class Number>
Number parse_number(const std::string& flag, std::string_view text, Number least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least)) {
    refuse(flag + ": '" + std::string(text) + "' is not a valid number");
  }
  return value;
}

/// Splits NAME<separator>VALUE at the last separator: names of inputs may contain it, sizes never do.
std::pair<std::string, std::string_view> split_name(const std::string& flag, const std::string& text,
                                                    char separator) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string::npos || at == 0) {
    refuse(flag + ": '" + text + "' is not of the form NAME" + separator + "SIZE");
  }
  return {text.substr(0, at), std::string_view(text).substr(at + 1)};
}

std::vector<std::int64_t> parse_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('x'), text.size());
    shape.push_back(parse_number<std::int64_t>("--shape", text.substr(0, end), 0));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

}  // namespace

Options parse_options(int argc, char** argv, const std::vector<EngineFlag>& engine_flags) {
  Options options;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string& flag = arguments[k];
    const auto value = [&]() -> const std::string& {
      if (++k == arguments.size()) refuse(flag + " needs a value");
      return arguments[k];
    };
    const auto engine_flag = std::find_if(engine_flags.begin(), engine_flags.end(),
                                          [&](const EngineFlag& known) { return flag == "--" + known.name; });
    if (engine_flag != engine_flags.end()) {
      options.engine[engine_flag->name] = value();
    } else if (flag == "--data") {
      options.data = value();
    } else if (flag == "--shape") {
      const auto [name, size] = split_name(flag, value(), ':');
      options.choices.shapes[name] = parse_shape(size);
    } else if (flag == "--dim") {
      const auto [name, size] = split_name(flag, value(), '=');
      options.choices.dims[name] = parse_number<std::int64_t>(flag, size, 0);
    } else if (flag == "--threads") {
      options.threads = parse_number(flag, value(), 1);
    } else if (flag == "--runs") {
      options.runs = parse_number(flag, value(), 1);
    } else if (flag == "--seconds") {
      options.seconds = parse_number(flag, value(), 0.0);
    } else if (flag == "--sweep") {
      options.sweep = true;
    } else if (flag == "--save") {
      options.save = value();
    } else if (flag == "--seed") {
      options.seed = parse_number<std::uint64_t>(flag, value(), 0);
    } else if (flag == "--serve") {
      options.serve = true;
    } else if (flag == "--json") {
      // The only output there is.
    } else if (flag.starts_with("-")) {
      refuse("unknown flag '" + flag + "'");
    } else if (options.model.empty()) {
      options.model = flag;
    } else {
      refuse("two models given: '" + options.model + "' and '" + flag + "'");
    }
  }
  if (options.model.empty()) refuse("no model given");
  if (!std::isfinite(options.seconds)) refuse("--seconds must be finite");
  return options;
}

std::string library_path(const Options& options, const char* variable, const char* file) {
  const auto flag = options.engine.find("library");
  if (flag != options.engine.end()) return flag->second;
  if (const char* path = std::getenv(variable)) return path;
  throw HostError(HostError::user,
                  std::string("neither --library nor ") + variable + " says where " + file + " is");
}

bool wants_help(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* argument) {
    return std::string_view(argument) == "--help" || std::string_view(argument) == "-h";
  });
}

std::string usage(const std::string& program, const std::vector<EngineFlag>& engine_flags) {
  std::string text = "usage: " + program + " MODEL.onnx [flags]\n\n";
  for (const EngineFlag& flag : engine_flags) {
    text += "  --" + flag.name + " " + flag.value_name + "\n      " + flag.help + "\n";
  }
  return text +
         "  --data DIR          inputs from DIR/input_K.pb; without it they are made up\n"
         "  --shape NAME:1x3x.. shape of a made-up input\n"
         "  --dim NAME=N        size of an open dim of made-up inputs (1 otherwise)\n"
         "  --seed N            seed of made-up inputs (0)\n"
         "  --threads N         threads of one run (1)\n"
         "  --runs N            timed runs after the first (10)\n"
         "  --seconds S         repeat for S seconds instead\n"
         "  --sweep             empty the caches before each of these runs, as they are before a first one\n"
         "  --save DIR          write tensor outputs of the last run as DIR/output_K.pb\n"
         "  --serve             answer lines on stdin until `quit`; perf/README.md has the protocol\n"
         "  --json              accepted for symmetry with axrun: the output always is one JSON object a "
         "line\n";
}

}  // namespace axrun::perf
