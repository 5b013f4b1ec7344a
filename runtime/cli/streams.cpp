#include "runtime/cli/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>

#include "ir/error.h"
#include "jit/processors.h"
#include "runtime/cli/compare.h"
#include "runtime/cli/runner.h"
#include "runtime/machine.h"

namespace axrun::cli {

using runtime::RuntimeValue;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Between looks at the clock, and at whether all is done.
constexpr double longest_nap_s = 0.05;

struct Stream {
  std::vector<double> times_ms;
  Clock::time_point end;
  bool bound = false;
  std::vector<RuntimeValue> outputs;
};

/// What the streams share.
struct Race {
  explicit Race(int streams) : ready(streams + 1) {}

  std::latch ready;  ///< every stream has run once
  std::atomic<bool> stop{false};
  std::atomic<int64_t> started{0};
  std::atomic<int> finished{0};
  std::mutex mutex;
  std::exception_ptr failure;

  void fail() {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    stop = true;
  }
};

/// Times runs until somebody says stop, or so many have begun.
void repeat(Runner& runner, const Until& until, Race& race, Stream& stream) {
  while (!race.stop.load(std::memory_order_relaxed)) {
    if (until.runs && race.started.fetch_add(1) >= *until.runs) break;
    stream.times_ms.push_back(runner.timed_ms());
  }
  stream.end = Clock::now();
}

void run_stream(runtime::Session& session, const std::vector<RuntimeValue>& inputs,
                std::optional<int> processor, const Until& until, Race& race, Stream& stream) {
  bool waited = false;
  try {
    if (processor && !jit::bind_this_thread(*processor)) {
      throw Error(Fault::user,
                  fmt::format("--pin: the system does not bind threads to processor {}", *processor));
    }
    Runner runner(session, inputs);
    runner.first();
    runner.bind();
    waited = true;
    race.ready.arrive_and_wait();
    repeat(runner, until, race, stream);
    stream.bound = runner.bound();
    stream.outputs = runner.take_outputs();
  } catch (...) {
    race.fail();
    if (!waited) race.ready.count_down();
  }
  ++race.finished;
}

/// Empty where all streams' last results are the first one's.
std::string difference(const runtime::Session& session, const std::vector<Stream>& streams) {
  for (size_t k = 1; k < streams.size(); ++k) {
    for (size_t output = 0; output < streams[0].outputs.size(); ++output) {
      const Comparison comparison =
          compare(streams[0].outputs[output], streams[k].outputs[output], Tolerance{.relative = 0});
      if (comparison.ok) continue;
      return fmt::format("stream {}, output '{}': {}", k + 1, session.outputs()[output].name, comparison.why);
    }
  }
  return {};
}

/// The processors that so many streams are bound to.
std::vector<int> processors_for(int streams) {
  const std::vector<jit::Processor> usable = jit::processors_to_use();
  if (static_cast<size_t>(streams) > usable.size()) {
    throw Error(Fault::user, fmt::format("--pin: {} streams, and {} processor{} that this process may use",
                                         streams, usable.size(), usable.size() == 1 ? "" : "s"));
  }
  std::vector<int> processors;
  for (int k = 0; k < streams; ++k) processors.push_back(usable[static_cast<size_t>(k)].id);
  return processors;
}

}  // namespace

Spread spread_of(const Options& options) {
  Spread spread;
  const bool throughput = options.mode == Options::Mode::throughput;
  spread.threads = throughput && options.threads == 0 ? 1 : options.threads;
  if (throughput) {
    spread.streams =
        options.streams > 0 ? options.streams : std::max(1, runtime::available_processors() / spread.threads);
  }
  if (options.pin && (spread.threads == 0 ? runtime::default_threads() : spread.threads) != 1) {
    throw Error(Fault::user, "--pin binds runs of one thread: give --threads 1");
  }
  if (options.pin) spread.processors = processors_for(spread.streams);
  if (throughput && options.profiling()) {
    throw Error(Fault::user,
                "--profile and --trace show runs one after another: leave out --mode throughput");
  }
  return spread;
}

StreamRuns run_streams(runtime::Session& session, const std::vector<RuntimeValue>& inputs,
                       const Spread& spread, const Until& until, Progress& progress) {
  StreamRuns result;
  std::vector<Stream> streams(static_cast<size_t>(spread.streams));
  Race race(spread.streams);
  Clock::time_point start;
  {
    std::vector<std::jthread> threads;
    try {
      for (size_t k = 0; k < streams.size(); ++k) {
        const std::optional<int> processor =
            spread.processors.empty() ? std::nullopt : std::optional<int>(spread.processors[k]);
        threads.emplace_back(
            [&, k, processor] { run_stream(session, inputs, processor, until, race, streams[k]); });
      }
    } catch (...) {
      // Those that have begun wait for the others.
      race.fail();
      race.ready.count_down(spread.streams + 1 - static_cast<std::ptrdiff_t>(threads.size()));
      threads.clear();
      std::rethrow_exception(race.failure);
    }
    race.ready.arrive_and_wait();
    start = Clock::now();
    while (race.finished < spread.streams) {
      const double passed = seconds_between(start, Clock::now());
      const double left = until.runs ? longest_nap_s : until.seconds - passed;
      if (left <= 0) break;
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, longest_nap_s)));
      if (progress.due()) progress.show(fmt::format("{} streams for {:.1f} s", spread.streams, passed));
    }
    if (!until.runs) race.stop = true;
  }
  if (race.failure) std::rethrow_exception(race.failure);
  result.bound = true;
  for (const Stream& stream : streams) {
    result.times_ms.insert(result.times_ms.end(), stream.times_ms.begin(), stream.times_ms.end());
    result.seconds = std::max(result.seconds, seconds_between(start, stream.end));
    result.bound = result.bound && stream.bound;
  }
  result.differs = difference(session, streams);
  result.outputs = std::move(streams[0].outputs);
  return result;
}

}  // namespace axrun::cli
