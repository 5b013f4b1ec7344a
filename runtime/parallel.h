#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace axrun::runtime {

template <class Signature>
class FunctionRef;

/// A callable borrowed for the length of a call: two words, never allocates, never owns.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable, class = std::enable_if_t<!std::is_same_v<std::decay_t<Callable>, FunctionRef>>>
  FunctionRef(Callable&& callable)  // NOLINT: implicit, so that a lambda can be passed where one is expected
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

using RangeBody = FunctionRef<void(int64_t begin, int64_t end)>;
/// See runtime/phases.h.
struct Phases;
using PhaseBody = FunctionRef<void(int64_t worker, int64_t step, int64_t phase, int64_t part)>;

/// What runs the ranges: TBB, or plain threads (ThreadSanitizer cannot follow the system's uninstrumented
/// TBB).
enum class ParallelBackend { tbb, threads };

/// The one seam through which work is spread over threads.
///
/// One pool may be used by several request threads at once. The calling thread always takes part, so a pool
/// of one thread owns none.
class ThreadPool {
 public:
  /// `threads` < 1 counts as 1. The environment variable AXRUN_PARALLEL=threads forces the twin.
  static std::unique_ptr<ThreadPool> make(int threads);
  static std::unique_ptr<ThreadPool> make(int threads, ParallelBackend backend);

  virtual ~ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls `body` on disjoint, non-empty ranges that cover [0, count), each of at least `grain` indices (the
  /// last one may be shorter), and returns when all are done. Runs inline, as one range, when the pool has
  /// one thread or count <= grain. The first exception thrown by a body is rethrown here; ranges not started
  /// by then may be skipped. A body may call parallel_for again.
  void parallel_for(int64_t count, int64_t grain, RangeBody body) {
    if (count <= 0) return;
    if (threads_ == 1 || count <= grain) {
      body(0, count);
      return;
    }
    spread(count, grain < 1 ? 1 : grain, body);
  }

  /// Calls `body(worker, begin, end)` like parallel_for, but ranges that run at the same time have different
  /// `worker` numbers in [0, threads()): the index of a piece of scratch memory.
  using WorkerBody = FunctionRef<void(int64_t worker, int64_t begin, int64_t end)>;
  virtual void parallel_for_workers(int64_t count, int64_t grain, WorkerBody body);

 protected:
  explicit ThreadPool(int threads) : threads_(threads) {}
  friend void run_phases(ThreadPool& pool, int64_t workers, const Phases& phases, PhaseBody body);
  /// With two workers at least, and no more than there are parts.
  virtual void spread_phases(int64_t workers, const Phases& phases, PhaseBody body);
  virtual void spread(int64_t count, int64_t grain, RangeBody body) = 0;

 private:
  int threads_;
};

}  // namespace axrun::runtime
