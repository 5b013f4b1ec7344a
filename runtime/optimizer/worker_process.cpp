#include "runtime/optimizer/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "ir/error.h"
#include "runtime/optimizer/standing.h"
#include "runtime/optimizer/worker_location.h"

namespace axrun::runtime {
namespace {

constexpr int unknown_status = -1;

// Sanitizers reserve terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false;
#else
constexpr bool limits_memory = true;
#endif

Deadline after(double seconds) {
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                std::chrono::duration<double>(seconds));
}

/// Starts the program with `socket` as its standard input and nothing else open. 0, or the system's error.
int spawn(const std::string& program, int socket, int64_t memory_bytes, pid_t& process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (const int error = posix_spawn_file_actions_init(&actions)) return error;
  if (const int error = posix_spawnattr_init(&attributes)) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  // Signals as in a fresh process; a group of its own, so that the terminal's Ctrl-C is the host's business.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string parent = std::to_string(getpid());
  std::string memory = std::to_string(memory_bytes);
  std::string name = program;
  char* const arguments[] = {name.data(), parent.data(), memory.data(), nullptr};
  const int error = posix_spawn(&process, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

constexpr const char* taking = "taking the request";

/// What a program does to itself; every other signal comes from outside, or from a system that lacks memory.
WorkerFailure failure_of(int signal) {
  switch (signal) {
    case SIGXCPU:
      return WorkerFailure::timed_out;
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGTRAP:
    case SIGSYS:
    case SIGXFSZ:
    case SIGALRM:
    case SIGPIPE:
      return WorkerFailure::crashed;
    default:
      return WorkerFailure::killed;
  }
}

/// As the system shows it; 0 where nobody knows.
char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // the name may hold anything
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '\0';
}

/// It runs, or would if it got a processor: it does not wait for anything.
bool has_work(pid_t process) { return state_of(process) == 'R'; }

}  // namespace

std::string_view name_of(WorkerFailure failure) {
  constexpr std::array<std::string_view, 9> names = {
      "none",   "cannot start", "wrong program", "crashed", "was ended from outside",
      "exited", "timed out",    "garbage",       "stopped"};
  return names[static_cast<size_t>(failure)];
}

int WorkerProcess::end() {
  if (process_ <= 0) return unknown_status;
  const pid_t process = process_;
  process_ = 0;
  close(socket_);
  socket_ = -1;
  if (owner_ != getpid()) return unknown_status;
  int status = unknown_status;
  const pid_t ended = waitpid(process, &status, WNOHANG);
  // One that has ended by itself keeps its own status. A host that ignores SIGCHLD, or collects every child
  // itself, leaves nothing to learn.
  if (ended != 0) return ended == process ? status : unknown_status;
  kill(process, SIGKILL);
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return unknown_status;
}

void WorkerProcess::become_idle() {
  if (running() && owner_ == getpid()) runtime::become_idle(process_);
}

WorkerAnswer WorkerProcess::failed(Transfer transfer, const std::string& during, double seconds) {
  WorkerAnswer answer;
  if (transfer == Transfer::closed) {
    // The socket closes a moment before the process can be waited for.
    siginfo_t info{};
    for (int wait = 0; wait < 200; ++wait) {
      if (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOWAIT | WNOHANG) != 0) break;
      if (info.si_pid != 0) break;
      usleep(10'000);
    }
  }
  const bool suspended = transfer == Transfer::timed_out && state_of(process_) == 'T';
  const int status = end();
  switch (transfer) {
    case Transfer::done:
      break;
    case Transfer::timed_out:
      answer = suspended
                   ? WorkerAnswer{WorkerFailure::killed,
                                  fmt::format("suspended by a signal for {:.0f} s while {}", seconds, during),
                                  {}}
                   : WorkerAnswer{WorkerFailure::timed_out,
                                  fmt::format("no end after {:.0f} s while {}", seconds, during),
                                  {}};
      break;
    case Transfer::stopped:
      answer = {WorkerFailure::stopped, "the optimiser was stopped", {}};
      break;
    case Transfer::malformed:
      answer = {WorkerFailure::garbage, fmt::format("what it sent while {} is no message", during), {}};
      break;
    case Transfer::closed:
      if (status != unknown_status && WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        answer = {failure_of(signal),
                  fmt::format("ended by signal {} ({}) while {}", signal, strsignal(signal), during),
                  {}};
      } else if (status != unknown_status) {
        answer = {WorkerFailure::exited,
                  fmt::format("it exited with status {} while {}", WEXITSTATUS(status), during),
                  {}};
      } else {
        answer = {WorkerFailure::exited, fmt::format("it was gone while {}", during), {}};
      }
      break;
  }
  return answer;
}

Transfer WorkerProcess::receive(std::string& text, size_t limit, double seconds, const StopSignal& stop) {
  constexpr int most_extensions = 30;
  Transfer waited = Transfer::timed_out;
  for (int k = 0; k <= most_extensions && waited == Transfer::timed_out; ++k) {
    waited = await_message(socket_, after(seconds), &stop);
    if (waited == Transfer::timed_out && !has_work(process_)) break;
  }
  return waited == Transfer::done ? receive_message(socket_, text, limit, after(seconds), &stop) : waited;
}

WorkerAnswer WorkerProcess::start(const StopSignal& stop) {
  const auto cannot = [&](const std::string& why) {
    ++failed_starts_;
    return WorkerAnswer{WorkerFailure::cannot_start, why, {}};
  };
  const std::string program = options_.program.empty() ? find_worker() : options_.program;
  if (program.empty()) {
    const std::vector<std::string> places = worker_places();
    return cannot(fmt::format("the worker program is not there (looked for {})",
                              places.empty() ? "it nowhere" : places.front()));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return cannot(fmt::format("no socket for the worker: {}", std::strerror(errno)));
  }
  pid_t process = 0;
  const int error = spawn(program, ends[1], limits_memory ? options_.memory_bytes : 0, process);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    // The program is there: it was looked for. What it is given as its output may not be.
    const char* const where = access("/dev/null", W_OK) == 0 ? "" : " (/dev/null cannot be opened)";
    return cannot(fmt::format("the worker {} cannot be started: {}{}", program, std::strerror(error), where));
  }
  process_ = process;
  ++starts_;
  owner_ = getpid();
  socket_ = ends[0];
  std::string hello;
  constexpr size_t longest_hello = 4096;
  const Transfer got = receive(hello, longest_hello, options_.start_seconds, stop);
  if (got != Transfer::done) {
    WorkerAnswer answer = failed(got, "starting", options_.start_seconds);
    if (got == Transfer::malformed) answer.failure = WorkerFailure::wrong_program;
    if (got != Transfer::stopped) ++failed_starts_;
    answer.reason = fmt::format("the worker {}: {}", program, answer.reason);
    return answer;
  }
  if (const std::string mistake = mistake_in_hello(hello); !mistake.empty()) {
    end();
    ++failed_starts_;
    return {WorkerFailure::wrong_program, fmt::format("the worker {}: {}", program, mistake), {}};
  }
  failed_starts_ = 0;
  return {};
}

WorkerAnswer WorkerProcess::ask(const WorkerRequest& request, double seconds, const StopSignal& stop,
                                const SearchListener& listener) {
  send(request, seconds, stop);
  return answer(seconds, stop, listener);
}

void WorkerProcess::send(const WorkerRequest& request, double seconds, const StopSignal& stop) {
  failed_to_send_.reset();
  if (!running()) {
    WorkerAnswer started = start(stop);
    if (started.failure != WorkerFailure::none) {
      failed_to_send_ = std::move(started);
      return;
    }
  }
  WorkerRequest paced = request;
  paced.keeps_schedules = options_.schedules != nullptr;
  paced.processor_share = sent_share_ = share_;
  paced.proof_seconds /= share_;
  paced.solver_milliseconds = static_cast<unsigned>(paced.solver_milliseconds / share_);
  const std::string text = to_text(paced);
  searches_ = request.search.has_value();
  if (std::max(text.size(), request.question.size()) > longest_request) {
    failed_to_send_.emplace().reply.refusal = "the candidate is too large to be sent to the worker";
    return;
  }
  Transfer sent = send_message(socket_, text, after(seconds), &stop);
  if (sent == Transfer::done && searches_)
    sent = send_message(socket_, request.question, after(seconds), &stop);
  if (sent != Transfer::done) failed_to_send_ = failed(sent, taking, seconds);
}

Transfer WorkerProcess::serve(const ScheduleMessage& message, double seconds, const StopSignal& stop) {
  using Kind = ScheduleMessage::Kind;
  search::ScheduleStore* const store = options_.schedules.get();
  if (store == nullptr) return Transfer::malformed;  // nobody has said that it may ask
  if (message.kind == Kind::load) {
    const std::optional<std::string> known = store->load(message.key);
    return send_message(socket_, known ? "1" + *known : "0", after(seconds), &stop);
  }
  std::string bytes;
  if (message.kind == Kind::save) {
    const Transfer got = receive(bytes, longest_reply, seconds, stop);
    if (got != Transfer::done) return got;
    store->save(message.key, bytes);
  } else {
    store->reject(message.key);
  }
  return Transfer::done;
}

Transfer WorkerProcess::hear(SearchMessage message, double seconds, const StopSignal& stop,
                             const SearchListener& listener, std::optional<std::string>& found) {
  if (!searches_) return Transfer::malformed;
  if (message == SearchMessage::may_go_on) {
    const bool goes_on = !listener.may_go_on || listener.may_go_on();
    return send_message(socket_, goes_on ? "1" : "0", after(seconds), &stop);
  }
  std::string bytes;
  const Transfer got = receive(bytes, longest_reply, seconds, stop);
  if (got != Transfer::done) return got;
  if (message == SearchMessage::found) {
    found = std::move(bytes);
  } else if (listener.note) {
    listener.note(bytes);
  }
  return Transfer::done;
}

WorkerAnswer WorkerProcess::answer(double seconds, const StopSignal& stop, const SearchListener& listener) {
  if (failed_to_send_) return *std::exchange(failed_to_send_, std::nullopt);
  AXRUN_ASSERT(running());
  seconds /= sent_share_;
  std::string during = taking;
  std::optional<WorkerLowering> lowering;
  std::optional<std::string> found;
  const auto end_with = [&](WorkerAnswer answer) {
    answer.lowering = std::move(lowering);
    if (answer.failure == WorkerFailure::none) answer.found = std::move(found);
    return answer;
  };
  // A few stages, the schedules of a product's tiles, then the answer: more is no worker. A search says
  // something of every part of a model, and may be told to stop.
  int stages_left = searches_ ? 1 << 24 : 16, schedules_left = 4096;
  while (stages_left > 0 && schedules_left > 0) {
    std::string bytes;
    Transfer got = receive(bytes, longest_reply, seconds, stop);
    if (got != Transfer::done) return end_with(failed(got, during, seconds));
    try {
      WorkerMessage message = message_from(bytes);
      if (message.stage) during = name_of(*message.stage);
      if (message.lowering) lowering = std::move(message.lowering);
      if (message.reply) return end_with({WorkerFailure::none, "", std::move(*message.reply)});
      (message.schedules ? schedules_left : stages_left) -= 1;
      if (message.schedules) got = serve(*message.schedules, seconds, stop);
      if (message.search) got = hear(*message.search, seconds, stop, listener, found);
      if (got != Transfer::done) return end_with(failed(got, during, seconds));
    } catch (const Error& error) {
      end();
      return end_with(
          {WorkerFailure::garbage, fmt::format("its message while {}: {}", during, error.what()), {}});
    }
  }
  return end_with(failed(Transfer::malformed, during, seconds));
}

}  // namespace axrun::runtime
