#include "runtime/aside.h"

#include <pthread.h>

#include <set>
#include <system_error>
#include <utility>

#include "runtime/log.h"

namespace axrun::runtime {

/// Registered once per process.
struct AsideForks {
  struct Registry {
    std::mutex mutex;
    std::set<Aside*> all;
  };
  static Registry& registry() {
    static auto* const one = new Registry;  // never destroyed: a fork may come at any time
    return *one;
  }

  static void prepare() {
    registry().mutex.lock();
    for (Aside* one : registry().all) one->wait();
  }
  static void release() { registry().mutex.unlock(); }
  static void install() {
    keep_log_across_forks();
    static const int installed = pthread_atfork(prepare, release, release);
    static_cast<void>(installed);
  }
};

Aside::Aside(std::function<void()> work) {
  AsideForks::install();
  // No fork comes between the thread's start and its being known.
  const std::lock_guard lock(AsideForks::registry().mutex);
  AsideForks::registry().all.insert(this);
  auto of_model = [model = LogModel::current(), work = std::move(work)] {
    const LogModel scope(model);
    work();
  };
  try {
    thread_ = std::thread([of_model] {
      pthread_setname_np(pthread_self(), "axrun-load");
      of_model();
    });
  } catch (const std::system_error&) {
    of_model();
    done_ = true;
  }
}

Aside::~Aside() {
  wait();
  const std::lock_guard lock(AsideForks::registry().mutex);
  AsideForks::registry().all.erase(this);
}

void Aside::join() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) thread_.join();
  done_.store(true, std::memory_order_release);
}

}  // namespace axrun::runtime
