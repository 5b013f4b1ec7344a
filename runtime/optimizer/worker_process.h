#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/optimizer/message.h"
#include "runtime/optimizer/worker_protocol.h"
#include "search/schedule_store.h"

namespace axrun::runtime {

/// Why there is no answer of a worker.
enum class WorkerFailure : uint8_t {
  none,
  cannot_start,   ///< there is no such program, or the system does not start it
  wrong_program,  ///< what was started is not this version's worker
  crashed,        ///< ended by a signal of its own making
  killed,         ///< ended from outside: that says nothing of what it was doing
  exited,
  timed_out,
  garbage,  ///< it answered with something else
  stopped,  ///< the optimiser was told to stop
};
std::string_view name_of(WorkerFailure failure);

struct WorkerAnswer {
  WorkerFailure failure = WorkerFailure::none;
  std::string reason;  ///< in words, where it failed
  WorkerReply reply;   ///< where it did not
  /// Where it has lowered something, also where it failed later.
  std::optional<WorkerLowering> lowering = {};
  /// What a search has found; without it, and without a failure, the reply says why it was refused.
  std::optional<std::string> found = {};
};

/// What is asked of the host while the worker searches, and told. None: it goes on, and nobody listens.
struct SearchListener {
  std::function<bool()> may_go_on = {};
  std::function<void(std::string_view)> note = {};
};

struct WorkerOptions {
  std::string program;                                         ///< empty: find_worker()
  double start_seconds = 20;                                   ///< from its start to its hello
  int64_t memory_bytes = int64_t{6} << 30;                     ///< of address space; 0: no limit
  std::shared_ptr<search::ScheduleStore> schedules = nullptr;  ///< that are kept between processes
};

/// The process in which expressions are lowered, proofs run, and candidates are executed for the first time:
/// whatever happens to it costs nothing but its time. Started when first needed and again after it failed.
///
/// For one thread, which must be the one that destroys it, too: the worker dies with the thread that started
/// it. The host is not forked, its descriptors stay with it, and it gets no signal but SIGCHLD, which nobody
/// notices who did not ask for it.
class WorkerProcess {
 public:
  explicit WorkerProcess(WorkerOptions options) : options_(std::move(options)) {}
  ~WorkerProcess() { end(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Waits for the answer: `seconds`, and longer while the worker has work and only lacks a processor (how
  /// much it may use is limited by itself). A worker that failed in any way is ended.
  WorkerAnswer ask(const WorkerRequest& request, double seconds, const StopSignal& stop,
                   const SearchListener& listener = {});
  /// The same in two: the worker works while its host does something else. Every `send` needs its `answer`
  /// before the next one; what fails while sending is told there.
  void send(const WorkerRequest& request, double seconds, const StopSignal& stop);
  WorkerAnswer answer(double seconds, const StopSignal& stop, const SearchListener& listener = {});

  /// Of one processor, that it may use for requests sent from now on; they are given as much more time.
  void set_share(double share) { share_ = share; }
  /// Where its standing is higher: it gets the processor time that nobody else wants, from now on.
  void become_idle();

  bool running() const { return process_ > 0; }
  pid_t process() const { return process_; }
  int64_t starts() const { return starts_; }
  /// Starts in a row that failed.
  int failed_starts() const { return failed_starts_; }
  /// After so many another attempt is not worth its time.
  bool is_given_up() const { return failed_starts_ >= 3; }

 private:
  WorkerAnswer start(const StopSignal& stop);
  Transfer receive(std::string& text, size_t limit, double seconds, const StopSignal& stop);
  WorkerAnswer failed(Transfer transfer, const std::string& during, double seconds);
  /// Does what the worker asks of the schedules that are kept.
  Transfer serve(const ScheduleMessage& message, double seconds, const StopSignal& stop);
  /// Tells the listener what the worker says while it searches; `found`: all that it has found.
  Transfer hear(SearchMessage message, double seconds, const StopSignal& stop, const SearchListener& listener,
                std::optional<std::string>& found);
  /// Kills and forgets it; the status it ended with, where that was before and the system tells.
  int end();

  WorkerOptions options_;
  pid_t process_ = 0;
  pid_t owner_ = 0;  ///< the process that started it: a fork of that must leave it alone
  int socket_ = -1;
  int64_t starts_ = 0;
  int failed_starts_ = 0;
  double share_ = 1;
  double sent_share_ = 1;  ///< of the request that is to be answered
  bool searches_ = false;  ///< that one asks for a search
  std::optional<WorkerAnswer> failed_to_send_;
};

}  // namespace axrun::runtime
