#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/cli/record.h"

namespace axrun::cli {

using runtime::StepProfile;

namespace {

constexpr size_t widest_column = 56;

/// Thousand millions per second; "-" where nothing is counted.
std::string rate(double amount, double microseconds) {
  if (amount <= 0 || microseconds <= 0) return "-";
  return fmt::format("{:.2f}", amount / microseconds * 1e-3);
}

std::string shortened(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

struct OperatorSum {
  double us = 0;
  int64_t steps = 0;
};

}  // namespace

std::string profile_text(const std::vector<StepProfile>& steps, size_t runs) {
  const auto count = static_cast<double>(std::max<size_t>(runs, 1));
  std::vector<const StepProfile*> order;
  std::map<std::string, OperatorSum> by_operator;
  double total = 0;
  for (const StepProfile& step : steps) {
    if (step.runs == 0) continue;
    order.push_back(&step);
    total += step.own_us();
    by_operator[step.op].us += step.own_us();
    by_operator[step.op].steps += 1;
  }
  if (order.empty()) return "profile: no step was executed\n";
  const auto share = [&](double us) { return total > 0 ? us / total * 100 : 0; };
  std::stable_sort(order.begin(), order.end(),
                   [](const StepProfile* a, const StepProfile* b) { return a->own_us() > b->own_us(); });

  size_t operators_width = 9;
  size_t kernel_width = 6;
  size_t result_width = 6;
  for (const StepProfile* step : order) {
    operators_width = std::max(operators_width, std::min(step->op.size(), widest_column));
    kernel_width = std::max(kernel_width, std::min(step->kernel.size(), widest_column));
    result_width = std::max(result_width, std::min(step->shape.size(), widest_column));
  }
  std::string text = fmt::format("\n{:>10} {:>6} {:>9} {:>8}  {:<{}}  {:<{}}  {:<{}}  {}\n", "us per run",
                                 "share", "GFLOP/s", "GB/s", "operators", operators_width, "kernel",
                                 kernel_width, "result", result_width, "node");
  for (const StepProfile* step : order) {
    const double us_per_call = step->own_us() / static_cast<double>(step->runs);
    text += fmt::format("{:>10.2f} {:>5.1f}% {:>9} {:>8}  {:<{}}  {:<{}}  {:<{}}  {}\n",
                        step->own_us() / count, share(step->own_us()), rate(step->flops, us_per_call),
                        rate(step->bytes, us_per_call), shortened(step->op, widest_column), operators_width,
                        shortened(step->kernel, widest_column), kernel_width,
                        shortened(step->shape, widest_column), result_width, step->name);
  }
  std::vector<std::pair<std::string, OperatorSum>> sums(by_operator.begin(), by_operator.end());
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  text += fmt::format("\n{:>10} {:>6} {:>9}  {}\n", "us per run", "share", "steps", "operators");
  for (const auto& [op, sum] : sums) {
    text += fmt::format("{:>10.2f} {:>5.1f}% {:>9}  {}\n", sum.us / count, share(sum.us), sum.steps, op);
  }
  double generated_us = 0;
  int64_t generated = 0;
  for (const StepProfile* step : order) {
    if (step->proof.empty()) continue;
    generated_us += step->own_us();
    ++generated;
  }
  if (generated > 0) {
    text += fmt::format("{:>10.2f} {:>5.1f}% {:>9}  in generated kernels\n", generated_us / count,
                        share(generated_us), generated);
  }
  text +=
      fmt::format("{:>10.2f} 100.0% {:>9}  all steps, mean of {} runs\n", total / count, order.size(), runs);
  return text;
}

}  // namespace axrun::cli
