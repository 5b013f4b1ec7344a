#include "jit/calibrate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "jit/huge_pages.h"
#include "jit/measuring_loops.h"

namespace axrun::jit {
namespace {

constexpr int sweeps = 4;
constexpr int64_t most_bytes = int64_t{32} << 20;
constexpr int64_t memory_bytes = int64_t{4} << 20;  // flushed before it is read: any size would do

using Clock = std::chrono::steady_clock;

template <class Run>
double seconds_of(Run run) {
  const Clock::time_point start = Clock::now();
  run();
  // Never 0, whatever the clock's resolution.
  return std::max(1e-9, std::chrono::duration<double>(Clock::now() - start).count());
}

/// Calls take some ten microseconds each. `best` in amounts per second.
template <class Run>
void improve(double& best, double amount, Run run) {
  best = std::max(best, amount / seconds_of(run));
}

/// Of one core. A chain that waits for itself shows the latency, many side by side the throughput: their
/// ratio is latency times ports, whatever the frequency.
struct Arithmetic {
  explicit Arithmetic(const Target& target)
      : has_fma(target.has("fma")),
        many(target, MultiplyAddLoop::most_chains),
        few(target, has_fma ? 1 : 2) {}

  void sweep() {
    constexpr int64_t rounds = 8000;
    constexpr int calls = 30;
    // Frequencies settle first: wide vectors lower them.
    for (int k = 0; k < 2 * calls; ++k) many.run(rounds);
    for (int k = 0; k < calls; ++k) {
      improve(throughput, many.flops() * rounds, [&] { many.run(rounds); });
      improve(chain_rate, few.flops() * rounds, [&] { few.run(rounds); });
    }
  }

  /// Multiply-adds take four cycles on most processors, five on some: 4 or 5 for one port, 8 or 10 for two.
  /// The bounds are as low as that allows, because noise lowers the throughput rather than the rate of a
  /// chain.
  int fma_ports() const {
    if (!has_fma) return 0;
    const double ratio = throughput / chain_rate;
    return 1 + (ratio > 5.5) + (ratio > 11);
  }

  bool has_fma;
  MultiplyAddLoop many, few;
  double throughput = 0;  ///< flops per second
  double chain_rate = 0;
};

/// One cache level, or memory, read in both orders.
struct Reads {
  Reads(const Target& target, HugePages& pages, int64_t part, bool flushed)
      : pages(pages), bytes(static_cast<size_t>(part)), flushed(flushed) {
    for (const ReadOrder order : {ReadOrder::one_stream, ReadOrder::four_streams})
      loops.emplace_back(target, order);
  }

  void sweep() {
    constexpr size_t least_bytes = size_t{4} << 20;  // of one call
    const auto passes = flushed ? 1 : static_cast<int64_t>(std::max<size_t>(least_bytes / bytes, 1));
    const int calls = flushed ? 2 : passes > 1 ? 16 : 4;
    const double amount = static_cast<double>(bytes) * static_cast<double>(passes);
    for (const ReadLoop& loop : loops) {
      for (int call = 0; call < calls; ++call) {
        if (flushed) flush.run(pages.data(), bytes);
        improve(best, amount, [&] { loop.run(pages.data(), bytes, passes); });
      }
    }
  }

  HugePages& pages;
  size_t bytes;
  bool flushed;
  std::vector<ReadLoop> loops;
  FlushLoop flush;
  double best = 0;  ///< bytes per second
};

}  // namespace

std::vector<int64_t> measured_bytes(const Target& target) {
  constexpr auto unit = static_cast<int64_t>(ReadLoop::unit);
  std::vector<int64_t> parts;
  double nearer = 0;
  for (const CacheLevel& cache : target.caches) {
    const auto level = static_cast<double>(cache.bytes);
    double part = 0.75 * level;
    if (nearer > 0) part = std::max(1.5 * nearer, std::sqrt(nearer * level / cache.shared_by));
    const bool is_told_apart = part <= 0.75 * level && 1.5 * nearer <= static_cast<double>(most_bytes);
    part = std::min(part, static_cast<double>(most_bytes));
    parts.push_back(is_told_apart ? std::max(static_cast<int64_t>(part) / unit, int64_t{1}) * unit : 0);
    nearer = level;
  }
  parts.push_back(memory_bytes);
  return parts;
}

Target calibrated(const Target& target) {
  require_runnable(target);
  const std::vector<int64_t> parts = measured_bytes(target);
  HugePages pages(static_cast<size_t>(*std::max_element(parts.begin(), parts.end())));
  pages.touch();
  Arithmetic arithmetic(target);
  std::vector<Reads> levels;
  for (size_t k = 0; k < parts.size(); ++k)
    levels.emplace_back(target, pages, parts[k], k == target.caches.size());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (Reads& level : levels)
      if (level.bytes > 0) level.sweep();
    // Last: the frequency stays low for a while after so much arithmetic.
    arithmetic.sweep();
  }
  Target result = target;
  result.flops_per_second = arithmetic.throughput;
  result.fma_ports = arithmetic.fma_ports();
  for (size_t k = 0; k < target.caches.size(); ++k) result.caches[k].bytes_per_second = levels[k].best;
  result.memory_bytes_per_second = levels.back().best;
  return result;
}

}  // namespace axrun::jit
