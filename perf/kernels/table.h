// The measurements as a table for people; --benchmark_format=json and csv stay the benchmark library's.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace axrun::perf {

/// A row for each benchmark when it is done; at the end, for each family and number of threads, geometric
/// means and where axrun is worst.
class TableReporter final : public benchmark::BenchmarkReporter {
 public:
  /// `peers`: the libraries that axrun is compared with.
  explicit TableReporter(std::vector<std::string> peers) : peers_(std::move(peers)) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  /// A column's values over the rows of a family.
  struct Column {
    double log_sum = 0;
    int rows = 0;
    double worst = 0;
    std::string worst_row;
    void add(double value, bool is_worse, const std::string& row);
  };
  struct Family {
    Column of_limit;
    std::map<std::string, Column> ratios;  ///< by peer
  };

  std::vector<std::string> peers_;
  std::map<std::string, Family> families_;  ///< by "gemm, threads:1"
};

}  // namespace axrun::perf
