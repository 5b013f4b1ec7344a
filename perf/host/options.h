// The command line that all host programs share; it mirrors the `axrun` command.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "perf/host/inputs.h"

namespace axrun::perf {

struct Options {
  std::string model;
  std::string data;  // folder with input_K.pb, "" to make inputs up
  ShapeChoices choices;
  int threads = 1;
  int runs = 10;                              // timed runs after the first one
  double seconds = 0;                         // instead of runs, when positive
  bool sweep = false;                         // empty the caches before each of them
  std::string save;                           // folder for output_K.pb, "" for none
  std::uint64_t seed = 0;                     // of made-up inputs
  bool serve = false;                         // answer lines on stdin instead of measuring at once
  std::map<std::string, std::string> engine;  // the program's own flags, by name without the dashes
};

/// A flag that only one of the programs has; every one takes a value.
struct EngineFlag {
  std::string name;  // without the dashes
  std::string value_name;
  std::string help;
};

/// Throws HostError for anything it does not know. `--json` is accepted and changes nothing: the output is
/// always JSON.
Options parse_options(int argc, char** argv, const std::vector<EngineFlag>& engine_flags);

/// Where the library of an engine is: what --library says, else the environment variable. Throws HostError
/// when neither does. `file` is what to look for.
std::string library_path(const Options& options, const char* variable, const char* file);

/// True when the arguments ask for help rather than for a measurement.
bool wants_help(int argc, char** argv);

std::string usage(const std::string& program, const std::vector<EngineFlag>& engine_flags);

}  // namespace axrun::perf
