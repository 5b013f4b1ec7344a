// Decoding with a cache that grows and is fed back, in axrun and in ONNX Runtime, token by token in turns in
// one process, one thread: processor time around the calls of the engines' own interfaces.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "perf/decoding/axrun_decoder.h"
#include "perf/decoding/ort_decoder.h"
#include "perf/host/json.h"
#include "perf/host/options.h"

namespace axrun::perf {
namespace {

/// The first tokens of a pass do not count.
constexpr std::int64_t warm_tokens = 10;

double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

double timed_us(Decoder& decoder) {
  const double begin = now_us();
  decoder.run();
  return now_us() - begin;
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, largest = 1e-9;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
    most = std::max(most, std::fabs(static_cast<double>(a[k]) - static_cast<double>(b[k])));
    largest = std::max(largest, std::fabs(static_cast<double>(b[k])));
  }
  return a.size() == b.size() ? most / largest : HUGE_VAL;
}

struct Pass {
  std::vector<double> own, theirs, ratios, again;
  double differs = 0;
};

/// The median of at most so many values from there on: of the first tokens that count, and of the last ones.
constexpr std::size_t window = 50;
double median_from(const std::vector<double>& values, std::size_t first) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  const std::size_t count = std::min(window, values.size() - first);
  return quantile({begin, begin + static_cast<std::ptrdiff_t>(count)}, 0.5);
}
double early(const std::vector<double>& values) { return median_from(values, 0); }
double late(const std::vector<double>& values) {
  return median_from(values, values.size() - std::min(window, values.size()));
}

Pass decode(const DecodedModel& model, AxrunDecoder& own, OrtDecoder& theirs, std::int64_t tokens,
            bool repeats) {
  Pass pass;
  own.begin();
  theirs.begin();
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::vector<Tensor> values = model.inputs(token);
    own.take(values);
    theirs.take(values);
    const bool own_first = token % 2 == 0;
    double own_us = own_first ? timed_us(own) : 0;
    const double their_us = timed_us(theirs);
    if (!own_first) own_us = timed_us(own);
    pass.differs = std::max(pass.differs, difference(own.result(), theirs.result()));
    // The same size once more, now that its plan is there.
    const double again_us = repeats ? timed_us(own) : own_us;
    if (token < warm_tokens) continue;
    pass.own.push_back(own_us);
    pass.theirs.push_back(their_us);
    pass.ratios.push_back(own_us / their_us);
    pass.again.push_back(again_us);
  }
  return pass;
}

std::string told(const Pass& pass) {
  return JsonObject()
      .number("axrun_us", quantile(pass.own, 0.5))
      .number("again_us", quantile(pass.again, 0.5))
      .number("onnxruntime_us", quantile(pass.theirs, 0.5))
      .number("ratio", quantile(pass.ratios, 0.5))
      .number("ratio_10", quantile(pass.ratios, 0.1))
      .number("ratio_90", quantile(pass.ratios, 0.9))
      .number("axrun_early_us", early(pass.own))
      .number("axrun_late_us", late(pass.own))
      .number("onnxruntime_early_us", early(pass.theirs))
      .number("onnxruntime_late_us", late(pass.theirs))
      .number("differs", pass.differs)
      .str();
}

double number_in(const Options& options, const char* name, double otherwise) {
  const auto found = options.engine.find(name);
  return found == options.engine.end() ? otherwise : std::atof(found->second.c_str());
}

void measure(const Options& options) {
  const double budget = number_in(options, "budget", 0);
  const auto tokens = static_cast<std::int64_t>(number_in(options, "tokens", 200));
  const int passes = static_cast<int>(number_in(options, "passes", 3));
  if (tokens <= warm_tokens + 1 || passes < 1)
    throw HostError(HostError::user, "--tokens must be more than 11, --passes at least 1");
  // A state moves on with every run.
  const bool has_state = number_in(options, "state", 0) != 0;
  AxrunDecoder own(options.model, budget > 0, has_state ? tokens : 0);
  const DecodedModel model(own.inputs());
  if (std::find(model.is_state.begin(), model.is_state.end(), true) == model.is_state.end())
    throw HostError(HostError::model, "no input has a size named past...: nothing is fed back");
  OrtDecoder theirs(library_path(options, "ORT_LIBRARY", "libonnxruntime.so"), options.model, own.inputs(),
                    own.output_names());
  timespec start{}, current{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  const auto seconds = [&] {
    clock_gettime(CLOCK_MONOTONIC, &current);
    return static_cast<double>(current.tv_sec - start.tv_sec);
  };
  while (budget > 0 && seconds() < budget) decode(model, own, theirs, tokens, !has_state);
  if (budget > 0) own.freeze();
  std::vector<Pass> done;
  for (int k = 0; k < passes; ++k) done.push_back(decode(model, own, theirs, tokens, !has_state));
  std::puts(JsonObject()
                .text("onnxruntime", theirs.version())
                .integer("tokens", tokens)
                .number("optimised_s", budget)
                .integer("state", has_state ? 1 : 0)
                .raw("passes", json_array(done, told))
                .str()
                .c_str());
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  using namespace axrun::perf;
  try {
    measure(parse_options(argc, argv,
                          {{"library", "PATH", "libonnxruntime.so (or ORT_LIBRARY in the environment)"},
                           {"tokens", "N", "how many in a pass (200)"},
                           {"passes", "N", "how many (3): in the first every size is new"},
                           {"state", "0|1", "axrun keeps the states itself, in place (0)"},
                           {"budget", "SECONDS", "the optimiser works for so long before that (0)"}}));
    return 0;
  } catch (const HostError& error) {
    std::fprintf(stderr, "decode_host: %s\n", error.what());
    return error.exit_code;
  }
}
