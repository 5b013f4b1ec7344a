// One operator on one set of operands, and its measurement as a benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "perf/kernels/agreement.h"
#include "perf/kernels/interleave.h"
#include "perf/kernels/library.h"
#include "perf/kernels/limit.h"

namespace axrun::perf {

/// Who takes part in a measurement, with how many threads.
struct Team {
  runtime::ThreadPool& pool;
  std::vector<Library*> libraries;  ///< axrun first
};

struct Entrant {
  std::string name;
  Ready ready;
  const float* result = nullptr;  ///< after ready.run and ready.fetch
};

struct Workload {
  double operations = 0;  ///< a multiply-add is two
  /// What a run must read: its operands, one set for each of the copies that the runs use in turn.
  std::vector<std::vector<Span>> reads;
  std::vector<Entrant> entrants;  ///< axrun first; those whose `run` is empty are left out
  int64_t results = 0;            ///< floats
  double tolerance = 0;           ///< how far results may lie apart, relative to the largest of them
  std::vector<std::shared_ptr<const void>> keep;  ///< owners of all operands
};

/// Registers benchmarks: each workload for each number of threads.
class Bench {
 public:
  Bench(std::vector<int> threads, const Schedule& schedule);

  /// Registers `NAME/threads:N`. The workload is made when its turn comes, and freed afterwards.
  void add(const std::string& name, std::function<Workload(Team&)> make);

  const std::vector<std::unique_ptr<Library>>& libraries() const { return libraries_; }
  /// Whether all results so far agreed with axrun's.
  bool agreed() const { return agreed_; }

 private:
  struct Threads {
    int count;
    std::unique_ptr<runtime::ThreadPool> pool;
  };
  std::vector<Threads> threads_;
  std::vector<std::unique_ptr<Library>> libraries_;
  Schedule schedule_;
  bool agreed_ = true;
};

// One for each family, in the file of its name.
void add_matrix_products(Bench& bench);
void add_vector_products(Bench& bench);
void add_convolutions(Bench& bench);
void add_prism_workloads(Bench& bench);

}  // namespace axrun::perf
