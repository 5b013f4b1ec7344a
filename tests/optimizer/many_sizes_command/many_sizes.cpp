// Runs small models whose sizes change with every run, with the optimiser at work, and prints what memory
// they take meanwhile: many_sizes [RUNS of each model, 100000] [NAME of one].
#include "tests/optimizer/many_sizes.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "runtime/form_counts.h"

namespace {

using namespace axrun;

/// A line of /proc/self/status in MB.
double status_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::atof(line.c_str() + name.size() + 1) / 1024;
  return 0;
}

void watch(const tests::Workload& workload, int runs) {
  fmt::print("{}\n{:>8} {:>9} {:>8} {:>12} {:>7} {:>6} {:>6} {:>8} {:>8} {:>8} {:>6} {:>6}\n", workload.name,
             "runs", "seconds", "RSS MB", "allocated kB", "forms", "kept", "bound", "unbound", "variants",
             "kernels", "swaps", "trials");
  const auto session = workload.maker.session(tests::one_thread());
  tests::Draw draw(1);
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 1; k <= runs; ++k) {
    workload.run(*session, draw);
    if (k % (runs / 10) != 0) continue;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const runtime::FormCounts forms = session->form_counts();
    const runtime::OptimizerStatus status = session->optimizer_status();
    size_t trials = 0;
    for (const auto& kernel : status.kernels) trials += kernel.trials.size();
    fmt::print("{:8} {:9.1f} {:8.1f} {:12} {:7} {:6} {:6} {:8} {:8} {:8} {:6} {:6}\n", k, took.count(),
               status_mb("VmRSS"), tests::allocated_bytes() / 1024, forms.made, forms.forms.size(),
               forms.bound, forms.unbound, forms.variants, status.kernels.size(), status.swaps.size(),
               trials);
    std::fflush(stdout);
  }
  session->report_metrics([](const runtime::Metric& metric) {
    std::string labels;
    for (const auto& [name, value] : metric.labels) labels += " " + name + "=" + value;
    fmt::print("  {}{} {}\n", metric.name, labels, metric.value);
  });
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 1 ? std::max(10, std::atoi(arguments[1])) : 100000;
  for (const tests::Workload& workload : {tests::five_sizes(), tests::growing_states(), tests::bodies()})
    if (count < 3 || workload.name == arguments[2]) watch(workload, runs);
}
