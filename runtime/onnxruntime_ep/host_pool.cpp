#include "runtime/onnxruntime_ep/host_pool.h"

#include <atomic>
#include <exception>
#include <utility>

#include "runtime/chunks.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace axrun::ort {
namespace {

// ThreadSanitizer does not see how the runtime's threads wait for one another: their code is not
// instrumented.
#ifdef __SANITIZE_THREAD__
void now_sees(void* what) { __tsan_acquire(what); }
void may_be_seen(void* what) { __tsan_release(what); }
#else
void now_sees(void*) {}
void may_be_seen(void*) {}
#endif

/// Null on the session's worker threads: work within spread work stays where it is.
thread_local const KernelContext* current = nullptr;

struct Spread {
  runtime::RangeBody body;
  runtime::Chunks chunks;
  std::atomic<bool> failed{false};
  std::exception_ptr failure = nullptr;  ///< written by whoever sets `failed`, read when all are done
};

void run_chunk(void* state, std::size_t chunk) {
  Spread& spread = *static_cast<Spread*>(state);
  now_sees(state);
  if (spread.failed.load(std::memory_order_relaxed)) return;
  const RunScope none(nullptr);
  try {
    const auto index = static_cast<std::int64_t>(chunk);
    spread.body(spread.chunks.begin(index), spread.chunks.end(index));
  } catch (...) {
    if (!spread.failed.exchange(true)) spread.failure = std::current_exception();
  }
  may_be_seen(state);
}

class HostPool final : public runtime::ThreadPool {
 public:
  HostPool(const Host& host, int threads) : ThreadPool(threads < 1 ? 1 : threads), host_(host) {}

 private:
  void spread(std::int64_t count, std::int64_t grain, runtime::RangeBody body) override {
    if (current == nullptr) return body(0, count);
    Spread work{body, runtime::Chunks(count, grain, threads())};
    const auto chunks = static_cast<std::size_t>(work.chunks.number);
    may_be_seen(&work);
    host_.call(context_parallel_for, current, &run_chunk, chunks, chunks, static_cast<void*>(&work));
    now_sees(&work);
    if (work.failure) std::rethrow_exception(work.failure);
  }

  const Host& host_;
};

}  // namespace

std::unique_ptr<runtime::ThreadPool> make_host_pool(const Host& host, int threads) {
  return std::make_unique<HostPool>(host, threads);
}

RunScope::RunScope(const KernelContext* context) : before_(std::exchange(current, context)) {}
RunScope::~RunScope() { current = before_; }

}  // namespace axrun::ort
