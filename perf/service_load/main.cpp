// What perf/service starts: the clients of a service, and a neutral process. `service_load --help`.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string_view>

#include "perf/host/json.h"
#include "perf/service_load/load.h"
#include "perf/service_load/neutral.h"

namespace axrun::perf {
namespace {

constexpr const char* usage =
    "service_load load --port P --path /v2/models/NAME/infer --body FILE --requests N [--json-bytes N]\n"
    "                  [--rate R] [--connections N]\n"
    "  Prints one line of JSON: the times of all requests in microseconds. Without --rate every connection "
    "asks "
    "as soon as it has its answer.\n"
    "service_load neutral [--share S] [--assured-seconds S] [--memory BYTES]\n"
    "  Is as busy as an optimiser until its standard input ends, and goes around in so much memory.\n";

using Flags = std::map<std::string, std::string, std::less<>>;

Flags parse(int argc, char** argv) {
  static constexpr std::string_view known[] = {
      "--port", "--path",        "--body",  "--requests",        "--json-bytes",
      "--rate", "--connections", "--share", "--assured-seconds", "--memory"};
  Flags flags;
  for (int k = 2; k < argc; k += 2) {
    if (std::find(std::begin(known), std::end(known), argv[k]) == std::end(known) || k + 1 == argc)
      throw std::invalid_argument(fmt::format("{}: unknown, or without a value", argv[k]));
    flags[argv[k]] = argv[k + 1];
  }
  return flags;
}

double number(const Flags& flags, std::string_view name, double standard, double least, double most) {
  const auto found = flags.find(name);
  if (found == flags.end()) return standard;
  const std::string& text = found->second;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
    throw std::invalid_argument(fmt::format("{} takes a number from {} to {}", name, least, most));
  return value;
}

int load(const Flags& flags) {
  Load load;
  load.port = static_cast<int>(number(flags, "--port", 0, 1, 65535));
  load.requests = static_cast<int>(number(flags, "--requests", 0, 1, 1e8));
  load.json_bytes = static_cast<size_t>(number(flags, "--json-bytes", 0, 0, 1e9));
  load.rate = number(flags, "--rate", 0, 0, 1e7);
  load.connections = static_cast<int>(number(flags, "--connections", 1, 1, 1024));
  if (!flags.contains("--path") || !flags.contains("--body") || load.port == 0 || load.requests == 0)
    throw std::invalid_argument("--port, --path, --body and --requests must be given");
  load.path = flags.at("--path");
  std::ifstream file(flags.at("--body"), std::ios::binary);
  if (!file) throw std::invalid_argument("cannot read " + flags.at("--body"));
  load.body.assign(std::istreambuf_iterator<char>(file), {});
  const LoadResult result = put_under_load(load);
  JsonObject json;
  json.number("seconds", result.seconds).integer("failed", result.failed).text("failure", result.failure);
  json.raw("microseconds",
           json_array(result.microseconds, [](double us) { return fmt::format("{:.1f}", us); }));
  fmt::print("{}\n", json.str());
  return 0;
}

int run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--help") {
    fmt::print("{}", usage);
    return 0;
  }
  if (what == "load") return load(parse(argc, argv));
  if (what != "neutral") throw std::invalid_argument("it takes load or neutral; --help says more");
  const Flags flags = parse(argc, argv);
  be_busy({number(flags, "--share", 1, 0, 1), number(flags, "--assured-seconds", 0, 0, 1e6),
           static_cast<size_t>(number(flags, "--memory", 0, 0, 1e9))});
  return 0;
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  try {
    return axrun::perf::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "service_load: {}\n", error.what());
    return 1;
  }
}
