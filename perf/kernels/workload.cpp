#include "perf/kernels/workload.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace axrun::perf {
namespace {

std::optional<std::string> any_disagreement(const Workload& workload) {
  std::vector<float> wanted;
  for (const Entrant& entrant : workload.entrants) {
    entrant.ready.run();
    if (entrant.ready.fetch) entrant.ready.fetch();
    if (wanted.empty()) wanted.assign(entrant.result, entrant.result + workload.results);
    if (auto reason = disagreement(entrant.name, entrant.result, wanted, workload.tolerance)) return reason;
  }
  return std::nullopt;
}

void report(benchmark::State& state, const std::string& name, const Ratio& ratio) {
  state.counters[name] = ratio.median;
  state.counters[name + "_low"] = ratio.low;
  state.counters[name + "_high"] = ratio.high;
}

/// Seconds per round that the machine needs at least: its arithmetic, or its memory.
struct Floor {
  std::vector<double> seconds;
  bool by_memory = false;
};
Floor floor_of(const Workload& workload, int threads, const std::vector<double>& fma,
               const std::vector<double>& read) {
  Floor floor;
  const double runs = workload.operations / fma_limit_operations(threads);
  for (size_t i = 0; i < fma.size(); ++i) floor.seconds.push_back(std::max(fma[i] * runs, read[i]));
  floor.by_memory = median(read) > median(fma) * runs;
  return floor;
}

double bytes_of(const Workload& workload) {
  const std::vector<Span>& spans = workload.reads.at(0);
  return std::accumulate(spans.begin(), spans.end(), 0.0,
                         [](double sum, const Span& span) { return sum + static_cast<double>(span.bytes); });
}

void measure(benchmark::State& state, const Workload& workload, runtime::ThreadPool& pool,
             Schedule schedule) {
  std::vector<Contestant> contestants;
  for (const Entrant& entrant : workload.entrants) contestants.push_back({entrant.name, entrant.ready.run});
  contestants.push_back(fma_limit(pool));
  contestants.push_back(read_limit(workload.reads, pool));
  constexpr double spinning_seconds = 1e-3;  // longer than main lets the libraries' threads spin
  schedule.pause_seconds = pool.threads() > 1 ? spinning_seconds : 0;

  const auto seconds = interleave(contestants, schedule, steady_clock());
  const size_t count = workload.entrants.size();
  const std::vector<double>& axrun = seconds[0];
  const Floor floor = floor_of(workload, pool.threads(), seconds[count], seconds[count + 1]);
  const double time = median(axrun), bytes = bytes_of(workload);
  state.SetIterationTime(time);
  state.SetLabel(floor.by_memory ? "memory" : "arithmetic");
  state.counters["axrun_us"] = time * 1e6;
  state.counters["GFLOPS"] = workload.operations / time * 1e-9;
  state.counters["GBps"] = bytes / time * 1e-9;
  state.counters["peak_GFLOPS"] = fma_limit_operations(pool.threads()) / median(seconds[count]) * 1e-9;
  state.counters["read_GBps"] = bytes / median(seconds[count + 1]) * 1e-9;
  state.counters["rounds"] = static_cast<double>(axrun.size());
  report(state, "of_limit", paired_ratio(floor.seconds, axrun));
  for (size_t k = 1; k < count; ++k) {
    const std::string& name = workload.entrants[k].name;
    state.counters[name + "_us"] = median(seconds[k]) * 1e6;
    report(state, "axrun/" + name, paired_ratio(axrun, seconds[k]));
  }
}

}  // namespace

Bench::Bench(std::vector<int> threads, const Schedule& schedule)
    : libraries_(make_libraries()), schedule_(schedule) {
  for (int count : threads) threads_.push_back({count, runtime::ThreadPool::make(count)});
}

void Bench::add(const std::string& name, std::function<Workload(Team&)> make) {
  for (const Threads& threads : threads_) {
    const auto run = [this, make, &pool = *threads.pool](benchmark::State& state) {
      Team team{pool, {}};
      for (const auto& library : libraries_) {
        library->set_threads(pool.threads());
        team.libraries.push_back(library.get());
      }
      Workload workload = make(team);
      std::erase_if(workload.entrants, [](const Entrant& entrant) { return !entrant.ready.run; });
      for (auto _ : state) {
        if (const auto reason = any_disagreement(workload)) {
          agreed_ = false;
          state.SkipWithError(reason->c_str());
          break;
        }
        measure(state, workload, pool, schedule_);
      }
    };
    benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads.count)).c_str(), run)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace axrun::perf
