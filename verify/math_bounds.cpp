// math_bounds: the accuracy of the vector math (ir/lane/math) over all floats, by measurement.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ir/error.h"
#include "ir/lane/math/math.h"
#include "verify/ulp_bounds.h"
#include "verify/ulp_store.h"

namespace {

using axrun::Error;
using axrun::Fault;
using axrun::ir::lane::MathFunction;

constexpr std::string_view usage =
    "usage: math_bounds [--threads N] [--stride N] [--store FOLDER] [FUNCTION...]\n"
    "Measures each function over all 2^32 floats against f64 and MPFR, and compares with what it claims.\n"
    "  --threads N      threads to use (default: all cores)\n"
    "  --stride N       only every N-th float; such results are not stored\n"
    "  --store FOLDER   keep results there, by hash of the program, and show those already there\n"
    "Exit codes: 0 all as claimed, 1 command line, 3 a function is less accurate than it claims, 70 "
    "internal.\n";

struct Settings {
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  uint32_t stride = 1;
  std::string store;
  std::vector<const MathFunction*> functions;
  bool help = false;
};

uint32_t number(std::string_view option, std::string_view text, uint32_t most) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) {
    throw Error(Fault::user, fmt::format("{} takes a number in 1..{}, not '{}'", option, most, text));
  }
  return value;
}

Settings read(const std::vector<std::string_view>& words) {
  Settings settings;
  for (size_t k = 0; k < words.size(); ++k) {
    const std::string_view word = words[k];
    auto operand = [&] {
      if (k + 1 == words.size()) throw Error(Fault::user, fmt::format("{} takes a value", word));
      return words[++k];
    };
    if (word == "--help") {
      settings.help = true;
    } else if (word == "--threads") {
      settings.threads = static_cast<int>(number(word, operand(), 1024));
    } else if (word == "--stride") {
      settings.stride = number(word, operand(), UINT32_MAX);
    } else if (word == "--store") {
      settings.store = operand();
    } else if (const MathFunction* function = axrun::ir::lane::find_math_function(word)) {
      settings.functions.push_back(function);
    } else {
      throw Error(Fault::user, fmt::format("there is no function or option '{}'", word));
    }
  }
  if (settings.functions.empty()) {
    for (const MathFunction& function : axrun::ir::lane::math_functions()) {
      settings.functions.push_back(&function);
    }
  }
  return settings;
}

/// Measures, or finds in the store, and prints a line. True when the function keeps its claim.
bool check(const MathFunction& function, const Settings& settings) {
  const axrun::ir::lane::Program program = function.make();
  const axrun::verify::MathReference* reference = axrun::verify::find_math_reference(function.name);
  AXRUN_ASSERT(reference != nullptr);
  const bool keep = !settings.store.empty() && settings.stride == 1;
  const axrun::verify::UlpStore store(settings.store);
  std::optional<axrun::verify::UlpReport> report;
  if (keep) report = store.load(program);
  std::string source = "stored";
  if (!report) {
    const auto start = std::chrono::steady_clock::now();
    report = axrun::verify::measure_ulp(program, *reference, settings.stride, settings.threads);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    source = fmt::format("{:.1f} s", seconds.count());
    if (keep) store.save(program, *report);
  }
  const bool right = report->within(function.most_ulp);
  fmt::print(
      "{:8} max {:.4f} ulp at {:.9g} (0x{:08x})  mean {:.4f}  claimed {}  special values {}  {} inputs  "
      "{}{}\n",
      function.name, report->most_ulp, std::bit_cast<float>(report->worst), report->worst, report->mean_ulp,
      function.most_ulp,
      report->first_wrong
          ? fmt::format("WRONG at {} inputs, first 0x{:08x}", report->special_wrong, *report->first_wrong)
          : "ok",
      report->inputs, source, right ? "" : "  NOT AS CLAIMED");
  std::fflush(stdout);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = read({argv + 1, argv + argc});
    if (settings.help) {
      fmt::print("{}", usage);
      return 0;
    }
    bool right = true;
    for (const MathFunction* function : settings.functions) right = check(*function, settings) && right;
    return right ? 0 : 3;
  } catch (const Error& error) {
    fmt::print(stderr, "math_bounds: {}\n", error.what());
    if (error.fault() != Fault::user) return 70;
    fmt::print(stderr, "{}", usage);
    return 1;
  }
}
