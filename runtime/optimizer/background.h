#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/optimizer/pace.h"
#include "runtime/optimizer/standing.h"
#include "runtime/optimizer/stop_signal.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

/// Where background work runs: on threads of its own that get the processor time nobody else wants
/// (SCHED_IDLE, or niceness 19 where that is refused), or a little more at the start, inside a TBB arena
/// whose every slot is reserved for them: threads of normal priority never join in.
///
/// Survives a fork of the process. The fork waits for the end of the piece of work at hand, so that the child
/// finds every lock free; the threads are missing there until start() is called again.
class Background {
 public:
  struct Options {
    int threads = 1;  ///< never more than the processors that this process may use
    /// More than one thread have none that is assured: then they are idle.
    Standing standing = Standing::idle;
    std::vector<std::mutex*> locks;  ///< which the work shares with other threads: free in a forked child
    double share = 1;                ///< of a processor that its thread takes at most, in the long run
  };
  /// What its thread sees while it works.
  struct Place {
    const StopSignal& stop;
    ThreadPool& pool;  ///< its threads, the working one included
    Background& background;
  };
  /// Must return soon after a stop is requested. Must not throw.
  using Work = std::function<void(const Place& place)>;

  Background(Options options, Work work);
  /// Requests a stop and waits for the threads.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Starts the work where it does not run: for the first time, or in a forked child. Throws Error
  /// (unsupported) where the system gives no thread.
  void start();
  /// The process was forked and the work has not been started again. Cheap.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  void stop();

  /// What a fork of the process has to wait for. Everything that takes a lock is done within one; what takes
  /// long, such as waiting for another process, is not. Begins with a rest where the thread is ahead of its
  /// part of a quota of processor time.
  class Piece {
   public:
    explicit Piece(Background& background) : lock_(background.paced_gate()) {}

   private:
    std::lock_guard<std::mutex> lock_;
  };

  int threads() const { return options_.threads; }
  /// From its thread: whether its standing is higher than idle, and for the start only.
  bool is_assured() const { return assured_; }
  /// From its thread: what it may use of a quota of processor time.
  Pace& pace() { return *pace_; }
  /// From its thread: idle from now on.
  void become_idle();
  /// "SCHED_IDLE", "niceness 19 (SCHED_IDLE is refused)", ...; known soon after the start.
  std::string priority() const;

 private:
  struct Crew;
  friend struct ForkHandlers;
  std::mutex& paced_gate();
  void lock_for_fork();
  void unlock_after_fork(bool child);

  Options options_;
  Work work_;
  const std::string model_;  ///< for the log
  std::mutex gate_;
  mutable std::mutex crew_mutex_;
  std::unique_ptr<Crew> crew_;
  std::string priority_;
  bool assured_ = false;
  std::unique_ptr<Pace> pace_;        ///< made by its thread, for itself
  const StopSignal* stop_ = nullptr;  ///< the same
  std::atomic<bool> lost_{false};
};

}  // namespace axrun::runtime
