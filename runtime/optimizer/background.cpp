#include "runtime/optimizer/background.h"

#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "ir/error.h"
#include "runtime/forks.h"
#include "runtime/knobs.h"
#include "runtime/log.h"
#include "runtime/machine.h"

namespace axrun::runtime {
namespace {

/// Every Background of the process, for the handlers of fork.
struct Registry {
  std::mutex mutex;
  std::vector<Background*> all;
};
Registry& registry() {
  static auto* const one = new Registry;  // never destroyed: a fork may come at any time
  return *one;
}

bool uses_tbb() {
  const char* wanted = knob_value(KnobName::parallel);
  return wanted == nullptr || std::string_view(wanted) != "threads";
}

/// Plain threads whose bodies run inside of the arena.
class ReservedPool final : public ThreadPool {
 public:
  /// Must be made on the thread that works: the others get its priority.
  explicit ReservedPool(int threads)
      : ThreadPool(threads), threads_pool_(ThreadPool::make(threads, ParallelBackend::threads)) {
    if (uses_tbb() && tbb_is_whole()) arena_.emplace(threads, static_cast<unsigned>(threads));
  }

  void enter(FunctionRef<void()> body) {
    if (!arena_) return body();
    arena_->execute([&] { body(); });
  }

 private:
  void spread(int64_t count, int64_t grain, RangeBody body) override {
    threads_pool_->parallel_for(count, grain,
                                [&](int64_t begin, int64_t end) { enter([&] { body(begin, end); }); });
  }

  std::unique_ptr<ThreadPool> threads_pool_;
  std::optional<tbb::task_arena> arena_;
};

}  // namespace

struct Background::Crew {
  StopSignal stop;
  std::thread thread;
};

/// Registered once per process.
struct ForkHandlers {
  static void prepare() {
    registry().mutex.lock();
    for (Background* one : registry().all) one->lock_for_fork();
  }
  static void parent() { release(false); }
  static void child() { release(true); }
  static void release(bool child) {
    for (Background* one : registry().all) one->unlock_after_fork(child);
    registry().mutex.unlock();
  }
  static void install() {
    keep_log_across_forks();  // first: a piece of work tells things, so its end is waited for before the
                              // log's
    static const int installed = pthread_atfork(prepare, parent, child);
    static_cast<void>(installed);
  }
};

Background::Background(Options options, Work work)
    : options_(std::move(options)), work_(std::move(work)), model_(LogModel::current()) {
  ForkHandlers::install();
  const std::lock_guard lock(registry().mutex);
  registry().all.push_back(this);
}

Background::~Background() {
  stop();
  const std::lock_guard lock(registry().mutex);
  auto& all = registry().all;
  all.erase(std::find(all.begin(), all.end(), this));
}

void Background::start() {
  const std::lock_guard lock(crew_mutex_);
  lost_.store(false, std::memory_order_relaxed);
  if (crew_) return;
  auto crew = std::make_unique<Crew>();
  const StopSignal& signal = crew->stop;
  try {
    crew->thread = std::thread([this, &signal] {
      pthread_setname_np(pthread_self(), "axrun-optimizer");
      const LogModel of_model(model_);
      const bool alone = options_.threads <= 1;
      assured_ = options_.standing == Standing::assured && alone;
      std::string priority = take_standing(
          options_.standing == Standing::assured && !alone ? Standing::idle : options_.standing);
      {
        const std::lock_guard crew_lock(crew_mutex_);
        priority_ = std::move(priority);
      }
      // Here, not on the way to the first answer: the answer is in files of the system.
      pace_ = std::make_unique<Pace>(options_.share);
      stop_ = &signal;
      ReservedPool pool(std::clamp(options_.threads, 1, available_processors()));
      pool.enter([&] { work_({signal, pool, *this}); });
    });
  } catch (const std::system_error& error) {
    throw Error(Fault::unsupported, std::string("no thread for the optimiser: ") + error.what());
  }
  crew_ = std::move(crew);
}

void Background::stop() {
  std::unique_ptr<Crew> crew;
  {
    const std::lock_guard lock(crew_mutex_);
    crew = std::move(crew_);
  }
  if (!crew) return;
  crew->stop.request();
  if (crew->thread.joinable()) crew->thread.join();
}

void Background::become_idle() {
  if (!std::exchange(assured_, false)) return;
  std::string priority = runtime::become_idle();
  const std::lock_guard lock(crew_mutex_);
  priority_ = std::move(priority);
}

std::string Background::priority() const {
  const std::lock_guard lock(crew_mutex_);
  return priority_;
}

std::mutex& Background::paced_gate() {
  if (pace_) pace_->wait(*stop_);
  return gate_;
}

void Background::lock_for_fork() {
  gate_.lock();
  crew_mutex_.lock();
  for (std::mutex* mutex : options_.locks) mutex->lock();
}

void Background::unlock_after_fork(bool child) {
  if (child && crew_) {
    // Its threads are not there: nothing of it can be joined or destroyed.
    static_cast<void>(crew_.release());
    lost_.store(true, std::memory_order_relaxed);
  }
  for (auto mutex = options_.locks.rbegin(); mutex != options_.locks.rend(); ++mutex) (*mutex)->unlock();
  crew_mutex_.unlock();
  gate_.unlock();
}

}  // namespace axrun::runtime
