#include "perf/kernels/limit.h"

#include <algorithm>
#include <utility>

#include "perf/limits/fma_peak.h"
#include "perf/limits/read_sweep.h"

namespace axrun::perf {
namespace {

using runtime::ThreadPool;

constexpr int64_t loops_of_a_thread = 64;  // some hundred microseconds: starting the threads does not count

const PeakLoop& peak_loop() {
  static const PeakLoop loop = f32_peak(runtime::best_isa_level());
  return loop;
}

/// The part of the spans that one of several threads reads: as much of each.
void read_part(const std::vector<Span>& spans, int64_t part, int64_t parts) {
  for (const Span& span : spans) {
    const auto edge = [&](int64_t k) {
      constexpr size_t line = 64;
      return span.bytes * static_cast<size_t>(k) / static_cast<size_t>(parts) / line * line;
    };
    const size_t begin = edge(part), end = part + 1 == parts ? span.bytes : edge(part + 1);
    read_sweep(static_cast<const char*>(span.data) + begin, end - begin);
  }
}

}  // namespace

double fma_limit_operations(int threads) {
  return peak_loop().operations * static_cast<double>(loops_of_a_thread * threads);
}

Contestant fma_limit(ThreadPool& pool) {
  return {"fma", [loop = peak_loop(), &pool] {
            pool.parallel_for(pool.threads(), 1, [&](int64_t begin, int64_t end) {
              for (int64_t i = begin * loops_of_a_thread; i < end * loops_of_a_thread; ++i) loop.run();
            });
          }};
}

Contestant read_limit(std::vector<std::vector<Span>> sets, ThreadPool& pool) {
  return {"read", [sets = std::move(sets), next = size_t{0}, &pool]() mutable {
            const std::vector<Span>& spans = sets[next++ % sets.size()];
            const int64_t parts = pool.threads();
            pool.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
              for (int64_t part = begin; part < end; ++part) read_part(spans, part, parts);
            });
          }};
}

}  // namespace axrun::perf
