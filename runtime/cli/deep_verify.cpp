#include "runtime/cli/deep_verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <map>

#include "runtime/cli/options.h"
#include "runtime/host_target.h"
#include "runtime/warm/origin.h"
#include "runtime/warm/recheck.h"
#include "runtime/warm/warm_keys.h"

namespace axrun::cli {
namespace {

using Json = nlohmann::ordered_json;
using runtime::Recheck;
using runtime::RecheckedEntry;
using runtime::RecheckedKernel;

int exit_code_of(Recheck outcome) {
  switch (outcome) {
    case Recheck::right:
    case Recheck::not_checkable:
      return exit_ok;
    case Recheck::damaged:
      return exit_model;
    case Recheck::unknown:
      return exit_unknown;
    case Recheck::wrong:
      return exit_mismatch;
    case Recheck::refuted:
      break;
  }
  return exit_refuted;
}

Json json_of(const RecheckedEntry& entry) {
  Json kernels = Json::array();
  for (const RecheckedKernel& one : entry.kernels)
    kernels.push_back({{"ops", one.ops},
                       {"kind", one.kind},
                       {"sizes", one.sizes},
                       {"outcome", name_of(one.outcome)},
                       {"reason", one.reason},
                       {"proof", one.proof},
                       {"gate", one.gate}});
  Json windows = Json::array();
  for (const runtime::RecheckedWindow& one : entry.windows)
    windows.push_back({{"values", one.values},
                       {"rules", one.rules},
                       {"outcome", name_of(one.outcome)},
                       {"reason", one.reason}});
  return {{"where", entry.where},
          {"what", entry.what},
          {"outcome", name_of(entry.outcome)},
          {"reason", entry.reason},
          {"kernels", std::move(kernels)},
          {"windows", std::move(windows)}};
}

std::string text_of(const RecheckedEntry& entry) {
  std::string text;
  for (const RecheckedKernel& one : entry.kernels) {
    if (one.outcome == Recheck::right) continue;
    text += fmt::format("  {}: {} [{}]{}{} in {}: {}\n", name_of(one.outcome), one.ops, one.kind,
                        one.sizes.empty() ? "" : " ", one.sizes, entry.where, one.reason);
  }
  for (const runtime::RecheckedWindow& one : entry.windows)
    if (one.outcome != Recheck::right)
      text += fmt::format("  {}: {} rewritten by {} in {}: {}\n", name_of(one.outcome),
                          fmt::join(one.values, ", "), fmt::join(one.rules, ", "), entry.where, one.reason);
  if (text.empty())
    text = fmt::format("  {}: {} in {}: {}\n", name_of(entry.outcome), entry.what, entry.where, entry.reason);
  return text;
}

}  // namespace

DeepReport verify_deeply(const cache::Settings& settings, bool progress) {
  runtime::Rechecker rechecker(runtime::generator_text(), runtime::machine_text(), runtime::host_target(),
                               {});
  std::map<Recheck, int> kernels, windows;
  std::map<std::string, int> not_checked;
  Json entries = Json::array();
  std::string text;
  Recheck worst = Recheck::right;
  int count = 0;
  const auto check = [&](const cache::StoredEntry& stored) {
    const RecheckedEntry entry = rechecker.check(stored);
    if (!entry.is_of_kernels) return;
    ++count;
    worst = std::max(worst, entry.outcome);
    entries.push_back(json_of(entry));
    for (const RecheckedKernel& one : entry.kernels) ++kernels[one.outcome];
    for (const runtime::RecheckedWindow& one : entry.windows) ++windows[one.outcome];
    if (entry.kernels.empty() && entry.windows.empty() && entry.outcome == Recheck::not_checkable) {
      ++not_checked[entry.reason];
    } else if (entry.outcome != Recheck::right) {
      text += text_of(entry);
    }
    if (progress)
      fmt::print(stderr, "{}: {}, {} kernels\n", entry.where, name_of(entry.outcome), entry.kernels.size());
  };
  cache::for_entries(settings, cache::Part::code, check);
  cache::for_files(settings, runtime::prefix_of_plans, check);
  DeepReport report;
  report.exit_code = exit_code_of(worst);
  Json counts = Json::object();
  for (const auto& [outcome, times] : kernels) {
    counts[std::string(name_of(outcome))] = times;
    text += outcome == Recheck::right
                ? fmt::format("{} kernels proved and tested again, their machine code made again: the same\n",
                              times)
                : fmt::format("{} kernels {}\n", times, name_of(outcome));
  }
  Json window_counts = Json::object();
  for (const auto& [outcome, times] : windows) {
    window_counts[std::string(name_of(outcome))] = times;
    text +=
        outcome == Recheck::right
            ? fmt::format("{} windows of graphs rewritten by rules that were proved again, and lead there\n",
                          times)
            : fmt::format("{} windows of graphs {}\n", times, name_of(outcome));
  }
  for (const auto& [reason, times] : not_checked)
    text += fmt::format("{} entries not checkable: {}\n", times, reason);
  text += count == 0
              ? "no kernels are stored\n"
              : "which steps of a model a kernel serves is bound to the model: not checkable without it\n";
  report.json = {{"worst", name_of(worst)},
                 {"kernels", std::move(counts)},
                 {"windows", std::move(window_counts)},
                 {"entries", std::move(entries)}};
  report.text = std::move(text);
  return report;
}

}  // namespace axrun::cli
