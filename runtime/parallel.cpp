#include "runtime/parallel.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/chunks.h"
#include "runtime/forks.h"
#include "runtime/knobs.h"

namespace axrun::runtime {
namespace {

std::atomic<unsigned> fork_count{0};
std::atomic<bool> tbb_was_used{false};
/// In the child, of its parent.
std::atomic<bool> tbb_is_lost{false};

/// When the program or library is loaded, not with the first pool: a fork that has begun by then would pass
/// by.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] {
  ++fork_count;
  tbb_is_lost = tbb_is_lost || tbb_was_used;
});

/// Everything in one mutex, so that ThreadSanitizer and a reader can follow it.
class Crew {
 public:
  explicit Crew(int threads) : threads_(threads) {
    workers_.reserve(static_cast<size_t>(threads - 1));
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }

  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void spread(int64_t count, int64_t grain, RangeBody body) {
    Job job{body, Chunks(count, grain, threads_)};
    std::unique_lock lock(mutex_);
    job.next_job = jobs_;
    jobs_ = &job;
    wake_.notify_all();
    while (run_one_chunk(job, lock)) {
    }
    done_.wait(lock, [&] { return job.running == 0; });
    if (job.failure) std::rethrow_exception(job.failure);
  }

 private:
  /// One parallel_for in progress; lives on its caller's stack, linked into jobs_ while it has chunks to
  /// give.
  struct Job {
    RangeBody body;
    Chunks chunks;
    int64_t next_chunk = 0;
    int running = 0;
    std::exception_ptr failure = nullptr;
    Job* next_job = nullptr;
  };

  /// Takes and runs one chunk with the lock released meanwhile; false if none was left. Unlinks an exhausted
  /// job.
  bool run_one_chunk(Job& job, std::unique_lock<std::mutex>& lock) {
    if (job.next_chunk == job.chunks.number) return false;
    const int64_t chunk = job.next_chunk++;
    if (job.next_chunk == job.chunks.number) unlink(job);
    ++job.running;
    lock.unlock();
    std::exception_ptr failure = nullptr;
    try {
      job.body(job.chunks.begin(chunk), job.chunks.end(chunk));
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --job.running;
    if (failure && !job.failure) {
      job.failure = failure;
      if (job.next_chunk != job.chunks.number) {
        job.next_chunk = job.chunks.number;
        unlink(job);
      }
    }
    if (job.running == 0) done_.notify_all();
    return true;
  }

  void unlink(Job& job) {
    Job** link = &jobs_;
    while (*link != &job) link = &(*link)->next_job;
    *link = job.next_job;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || jobs_ != nullptr; });
      if (stopping_) return;
      run_one_chunk(*jobs_, lock);
    }
  }

  const int threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* jobs_ = nullptr;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

/// The twin of oneTBB's pool. A forked child starts a crew of its own: the one it has inherited has no
/// threads, and may be locked by one of them for good.
class StandardThreadPool final : public ThreadPool {
 public:
  explicit StandardThreadPool(int threads) : ThreadPool(threads), crew_(new Crew(threads)) {}
  ~StandardThreadPool() override {
    if (forks_ == fork_count) delete crew_.load();
  }

 private:
  void spread(int64_t count, int64_t grain, RangeBody body) override {
    if (forks_.load(std::memory_order_acquire) != fork_count.load(std::memory_order_relaxed)) renew();
    crew_.load(std::memory_order_relaxed)->spread(count, grain, body);
  }
  void renew() {
    const std::lock_guard lock(renewal_);
    if (forks_ == fork_count) return;
    crew_ = new Crew(threads());
    forks_.store(fork_count, std::memory_order_release);
  }

  std::atomic<Crew*> crew_;
  std::atomic<unsigned> forks_{fork_count.load()};
  std::mutex renewal_;
};

class TbbPool final : public ThreadPool {
 public:
  explicit TbbPool(int threads) : ThreadPool(threads), arena_(std::make_unique<Arena>(threads)) {
    tbb_was_used = true;
  }
  ~TbbPool() override {
    if (is_forked()) static_cast<void>(arena_.release());  // to end it takes threads that are not there
  }

 private:
  bool is_forked() const { return forks_ != fork_count.load(std::memory_order_relaxed); }

  void spread(int64_t count, int64_t grain, RangeBody body) override {
    if (is_forked()) {
      std::call_once(forked_once_, [&] { after_fork_ = std::make_unique<StandardThreadPool>(threads()); });
      return after_fork_->parallel_for(count, grain, body);
    }
    const Chunks chunks(count, grain, threads());
    // Isolated: a thread that waits for its own ranges must not pick up another request's, which may be long
    // or need a lock that this thread holds.
    arena_->arena.execute([&] {
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(
            tbb::blocked_range<int64_t>(0, chunks.number, 1),
            [&](const tbb::blocked_range<int64_t>& range) {
              for (int64_t chunk = range.begin(); chunk != range.end(); ++chunk) {
                body(chunks.begin(chunk), chunks.end(chunk));
              }
            },
            tbb::simple_partitioner());
      });
    });
  }

  /// TBB warns on standard error of an arena larger than the machine, unless the process's limit allows it.
  /// Of several limits the lowest counts: this one is in nobody's way. It stays, since a pool may go when the
  /// process has ended so far that TBB's list of limits is gone. (Volatile: nobody reads the pointer, and
  /// without it leak checkers find the limit lost.)
  static void raise_process_limit() {
    static const auto* const volatile limit =
        new tbb::global_control(tbb::global_control::max_allowed_parallelism, 1024);
    static_cast<void>(limit);
  }
  struct Arena {
    explicit Arena(int threads) : arena(threads) { raise_process_limit(); }
    tbb::task_arena arena;
  };
  std::unique_ptr<Arena> arena_;
  const unsigned forks_ = fork_count;
  std::once_flag forked_once_;
  std::unique_ptr<StandardThreadPool> after_fork_;
};

}  // namespace

std::unique_ptr<ThreadPool> ThreadPool::make(int threads) {
  const char* wanted = knob_value(KnobName::parallel);
  const bool twin = wanted != nullptr && std::string_view(wanted) == "threads";
  return make(threads, twin ? ParallelBackend::threads : ParallelBackend::tbb);
}

bool tbb_is_whole() { return !tbb_is_lost; }

std::unique_ptr<ThreadPool> ThreadPool::make(int threads, ParallelBackend backend) {
  threads = std::max(threads, 1);
  if (backend == ParallelBackend::threads || tbb_is_lost)
    return std::make_unique<StandardThreadPool>(threads);
  return std::make_unique<TbbPool>(threads);
}

void ThreadPool::parallel_for_workers(int64_t count, int64_t grain, WorkerBody body) {
  if (count <= 0) return;
  if (threads_ == 1 || count <= grain) {
    body(0, 0, count);
    return;
  }
  const Chunks chunks(count, std::max<int64_t>(grain, 1), threads_);
  const int64_t workers = std::min<int64_t>(threads_, chunks.number);
  // Neighbouring chunks are one worker's first of all, the same ones in every call: what it wrote last time,
  // and what the step before wrote, is in its core's cache. Whoever has done its own share helps with the
  // next one's.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  constexpr int64_t most_shares = 64;
  Share shares[most_shares];
  const int64_t number = std::min(workers, most_shares);
  for (int64_t k = 0; k < number; ++k) {
    shares[k].next.store(chunks.number * k / number, std::memory_order_relaxed);
    shares[k].end = chunks.number * (k + 1) / number;
  }
  parallel_for(workers, 1, [&](int64_t first_worker, int64_t last_worker) {
    for (int64_t worker = first_worker; worker < last_worker; ++worker) {
      for (int64_t k = 0; k < number; ++k) {
        Share& share = shares[(worker + k) % number];
        for (int64_t chunk = share.next.fetch_add(1, std::memory_order_relaxed); chunk < share.end;
             chunk = share.next.fetch_add(1, std::memory_order_relaxed)) {
          body(worker, chunks.begin(chunk), chunks.end(chunk));
        }
      }
    }
  });
}

}  // namespace axrun::runtime
