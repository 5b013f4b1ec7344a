#include "perf/kernels/table.h"

#include <fmt/format.h>

#include <cmath>

namespace axrun::perf {
namespace {

constexpr int name_width = 78;

/// "1.07 [1.05, 1.10]", or "-" where it was not measured.
std::string ratio_text(const benchmark::UserCounters& counters, const std::string& name, double unit,
                       const char* format) {
  const auto value = counters.find(name);
  if (value == counters.end()) return "-";
  const auto text = [&](double number) { return fmt::format(fmt::runtime(format), number * unit); };
  return text(value->second.value) + " [" + text(counters.at(name + "_low").value) + ", " +
         text(counters.at(name + "_high").value) + "]";
}

/// "gemm, threads:1" of "gemm/bert_base/scores/threads:1".
std::string family_of(const std::string& name) {
  return name.substr(0, name.find('/')) + ", " + name.substr(name.rfind('/') + 1);
}

}  // namespace

void TableReporter::Column::add(double value, bool is_worse, const std::string& row) {
  log_sum += std::log(value);
  if (rows++ == 0 || is_worse) worst = value, worst_row = row;
}

bool TableReporter::ReportContext(const Context& context) {
  PrintBasicContext(&GetErrorStream(), context);
  std::string head = fmt::format("{:<{}}{:>10} {:>8} {:>7} {:>16}  {:<18}", "", name_width, "axrun us",
                                 "GFLOP/s", "GB/s", "limit", "% of limit");
  for (const std::string& peer : peers_) head += fmt::format("{:<22}", "axrun/" + peer);
  GetOutputStream() << head << std::endl;
  return true;
}

void TableReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    // The benchmark library appends what it was told about iterations and the clock.
    const std::string name = run.run_name.function_name;
    if (run.error_occurred) {
      GetOutputStream() << fmt::format("{:<{}} {}", name, name_width, run.error_message) << std::endl;
      continue;
    }
    const auto& counters = run.counters;
    const bool by_memory = run.report_label == "memory";
    const double limit = counters.at(by_memory ? "read_GBps" : "peak_GFLOPS").value;
    std::string row =
        fmt::format("{:<{}}{:>10.1f} {:>8.1f} {:>7.1f} {:>8.1f} {:<7}  {:<18}", name, name_width,
                    counters.at("axrun_us").value, counters.at("GFLOPS").value, counters.at("GBps").value,
                    limit, by_memory ? "GB/s" : "GFLOP/s", ratio_text(counters, "of_limit", 100, "{:.0f}"));
    Family& family = families_[family_of(name)];
    const double share = counters.at("of_limit").value;
    family.of_limit.add(share, share < family.of_limit.worst, name);
    for (const std::string& peer : peers_) {
      row += fmt::format("{:<22}", ratio_text(counters, "axrun/" + peer, 1, "{:.2f}"));
      const auto ratio = counters.find("axrun/" + peer);
      if (ratio == counters.end()) continue;
      Column& column = family.ratios[peer];
      column.add(ratio->second.value, ratio->second.value > column.worst, name);
    }
    GetOutputStream() << row << std::endl;
  }
}

void TableReporter::Finalize() {
  auto& out = GetOutputStream();
  out << "\nGeometric means (below 1: axrun is faster), and the worst row\n";
  for (const auto& [name, family] : families_) {
    const auto line = [&, &name = name](const std::string& what, const Column& column) {
      out << fmt::format("{:<22} {:<16} {:>6.2f} of {:>2} rows; worst {:>6.2f} {}\n", name, what,
                         std::exp(column.log_sum / column.rows), column.rows, column.worst, column.worst_row);
    };
    line("share of limit", family.of_limit);
    for (const auto& [peer, column] : family.ratios) line("axrun/" + peer, column);
  }
  out.flush();
}

}  // namespace axrun::perf
