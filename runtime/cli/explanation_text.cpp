#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/cli/explanation.h"
#include "runtime/cli/forms_report.h"

namespace axrun::cli {

using runtime::OptimizedKernel;
using runtime::TriedKernel;

namespace {

std::string microseconds_text(double us) {
  if (us <= 0) return "-";
  if (us >= 1e5) return fmt::format("{:.0f} ms", us / 1e3);
  return us >= 1e3 ? fmt::format("{:.2f} ms", us / 1e3) : fmt::format("{:.2f} us", us);
}

std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.2f} x", ratio) : "-"; }

std::string share_of_limit(const ExplainedStep& step) {
  return step.limit.us > 0 && step.us > 0 ? fmt::format("{:.0f}%", 100 * step.limit.us / step.us) : "-";
}

/// Columns as wide as their contents.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : widths_(heads.size()) { row(std::move(heads)); }
  void row(std::vector<std::string> cells) {
    for (size_t k = 0; k < cells.size(); ++k) widths_[k] = std::max(widths_[k], cells[k].size());
    rows_.push_back(std::move(cells));
  }
  std::string text(const char* before = "") const {
    std::string text;
    for (const auto& row : rows_) {
      std::string line = before;
      for (size_t k = 0; k < row.size(); ++k) line += fmt::format("{:<{}}  ", row[k], widths_[k]);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

/// Why a step runs what it runs, in one word.
std::string standing(const ExplainedStep& step) {
  if (!step.profile.proof.empty()) return step.profile.proof;
  // The reference interpreter is no kernel: it may take hundreds of times as long as one.
  const char* now = step.profile.kernel.starts_with("interpreter ") ? "interpreted" : "precompiled";
  if (step.kernels.empty()) return fmt::format("{}; not looked at", now);
  const OptimizedKernel& kernel = step.kernels.front();
  if (!kernel.trials.empty() && kernel.trials.front().end != TriedKernel::End::in_force)
    return fmt::format("{}; {}", now, runtime::name_of(kernel.trials.front().end));
  return fmt::format("{}; {}", now, runtime::name_of(kernel.state));
}

std::string trials_text(const std::vector<TriedKernel>& trials) {
  Table table({"number", "schedule", "expected", "took", "in its place", "ratio", "rounds", "end"});
  for (const TriedKernel& trial : trials) {
    const std::string what = trial.kind.empty() ? "-" : fmt::format("{}: {}", trial.kind, trial.schedule);
    table.row(
        {fmt::format("{}", trial.rank), what, microseconds_text(trial.expected_us),
         microseconds_text(trial.own_us), microseconds_text(trial.present_us), ratio_text(trial.speedup),
         trial.rounds > 0 ? fmt::format("{}", trial.rounds) : "-",
         fmt::format("{}{}{}", runtime::name_of(trial.end), trial.reason.empty() ? "" : ": ", trial.reason)});
  }
  return table.text("      ");
}

std::string kernel_text(const OptimizedKernel& kernel) {
  std::string text =
      fmt::format("    {}{}{}: {}{}{}\n", kernel.ops, kernel.sizes.empty() ? "" : " for ", kernel.sizes,
                  runtime::name_of(kernel.state), kernel.reason.empty() ? "" : ": ", kernel.reason);
  if (!kernel.served.empty())
    text += fmt::format("      serves {}; tested at {}\n", kernel.served, kernel.tested);
  const char* const source = kernel.from_cache ? "as this cache says, " : "";
  if (!kernel.proof.empty()) text += fmt::format("      proof  {}{}\n", source, kernel.proof);
  if (!kernel.gate.empty()) text += fmt::format("      test   {}{}\n", source, kernel.gate);
  if (!kernel.trials.empty()) text += trials_text(kernel.trials);
  if (kernel.alternatives > kernel.alternatives_tried) {
    text += fmt::format("      {} more schedules are known of and were not tried\n",
                        kernel.alternatives - kernel.alternatives_tried);
  }
  return text;
}

std::string details_of(const ExplainedStep& step) {
  const runtime::StepProfile& profile = step.profile;
  const double us_per_call = profile.own_us() / static_cast<double>(std::max<int64_t>(profile.runs, 1));
  std::string text = fmt::format("\n'{}'  {} -> {}\n", profile.name, profile.op, profile.shape);
  text += fmt::format("  kernel  {}\n", profile.kernel);
  text += fmt::format("  time    {}, {:.1f}% of a run", microseconds_text(step.us), 100 * step.share);
  if (profile.flops > 0 && us_per_call > 0)
    text += fmt::format(", {:.1f} GFLOP/s", profile.flops / us_per_call * 1e-3);
  if (profile.bytes > 0 && us_per_call > 0)
    text += fmt::format(", {:.1f} GB/s of operands and results", profile.bytes / us_per_call * 1e-3);
  text += "\n";
  if (step.limit.us > 0) {
    text += fmt::format("  limit   {} by {}: the kernel works at {} of it\n",
                        microseconds_text(step.limit.us), step.limit.by, share_of_limit(step));
  }
  if (step.kernels.empty()) text += "  tried   nothing yet\n";
  if (!step.kernels.empty()) text += "  tried\n";
  for (const OptimizedKernel& kernel : step.kernels) text += kernel_text(kernel);
  if (!step.lost_joints.empty()) text += "  tried together with later steps, and left apart\n";
  for (const OptimizedKernel& kernel : step.lost_joints) text += kernel_text(kernel);
  return text;
}

/// What was computed in another way, by which rules, on whose word, and what came of it.
std::string algebra_text(const runtime::AlgebraReport& report, bool details) {
  if (report.outcome.empty()) return "";
  std::string text = fmt::format("algebra: {}{}; {} proved rules, {} windows looked at\n", report.outcome,
                                 report.speedup > 0 ? ", " + ratio_text(report.speedup) : "", report.rules,
                                 report.looked_at);
  if (!report.trouble.empty()) text += fmt::format("  {}\n", report.trouble);
  for (const runtime::AlgebraReport::Window& window : report.windows) {
    text += fmt::format("  {}:\n", fmt::join(window.values, ", "));
    for (const runtime::AlgebraReport::Rule& rule : window.rules)
      text += fmt::format("    {}{}: {}; equality {}, safety {}\n", rule.name,
                          rule.forward ? "" : " (right to left)", rule.equation, rule.equality, rule.safety);
    if (details) text += window.steps;
  }
  return text;
}

/// What may be worked out part by part: attention's kernels that carry a maximum and a sum from tile to tile
/// do.
std::string splits_text(const std::vector<ExplainedSplit>& splits, bool details) {
  std::string text;
  for (const ExplainedSplit& split : splits) {
    text += fmt::format("by parts: {} at {}: {}, {}\n", split.of,
                        details || split.places.size() == 1
                            ? fmt::format("{}", fmt::join(split.places, ", "))
                            : fmt::format("{} and {} more", split.places[0], split.places.size() - 1),
                        split.name, split.standing);
    for (const std::string& component : split.state) text += fmt::format("    joined: {}\n", component);
  }
  return text;
}

}  // namespace

std::string explanation_text(const Explanation& explanation, bool details) {
  const Record& record = explanation.record;
  const Optimisation& optimisation = record.measurement.optimisation;
  const runtime::OptimizerStatus& status = optimisation.status;
  std::string text = fmt::format(
      "{}: {} a run, {} with every step's clock read; {} steps at {:.0f}% of their limits; {} thread{}\n",
      record.model, microseconds_text(record.latency.p50 * 1e3), microseconds_text(explanation.run_us),
      explanation.steps.size(), explanation.run_us > 0 ? 100 * explanation.limit_us / explanation.run_us : 0,
      record.threads, record.threads == 1 ? "" : "s");
  text += fmt::format("limits of {}, one core: {:.1f} GFLOP/s (f32), {:.1f} GB/s from memory\n",
                      explanation.target.name, explanation.target.flops_per_second * 1e-9,
                      explanation.target.memory_bytes_per_second * 1e-9);
  if (optimisation.asked) {
    text += fmt::format("optimiser: {:.1f} s, {} candidates tried, {} left, {} plans put in force; {}\n",
                        optimisation.seconds, status.tried, status.left, status.swaps.size(),
                        gain_text(optimisation));
    for (const runtime::PlanSwap& swap : status.swaps) {
      text += fmt::format("  {:>7.2f} s  {}: {} generated kernels, {}\n", swap.seconds, swap.what,
                          swap.generated, ratio_text(swap.speedup));
    }
    text += algebra_text(status.algebra, details);
  }
  text += forms_text(record.forms, details);
  text += splits_text(explanation.splits, details);
  for (const std::string& note : record.notes) text += fmt::format("note: {}\n", note);
  std::vector<const ExplainedStep*> order;
  for (const ExplainedStep& step : explanation.steps) order.push_back(&step);
  std::stable_sort(order.begin(), order.end(),
                   [](const ExplainedStep* a, const ExplainedStep* b) { return a->us > b->us; });
  Table table({"time", "share", "of limit", "bound by", "evidence", "operators", "node"});
  for (const ExplainedStep* step : order) {
    table.row({microseconds_text(step->us), fmt::format("{:.1f}%", 100 * step->share), share_of_limit(*step),
               step->limit.by.empty() ? "-" : step->limit.by, standing(*step), step->profile.op,
               step->profile.name});
  }
  text += "\n" + table.text();
  if (details) {
    for (const ExplainedStep* step : order) text += details_of(*step);
  }
  return text;
}

}  // namespace axrun::cli
