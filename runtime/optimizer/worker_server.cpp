#include "runtime/optimizer/worker_server.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>

#include "ir/error.h"
#include "runtime/optimizer/message.h"
#include "runtime/optimizer/worker_pace.h"

namespace axrun::runtime {
namespace {

void limit(int resource, rlim_t value) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  // Never above what was there; the hard limit stays, so that the processor time can be raised again.
  now.rlim_cur = now.rlim_max == RLIM_INFINITY ? value : std::min<rlim_t>(value, now.rlim_max);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

/// Of this process since its start.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The limit counts from the start of the process: what was used so far is added.
void limit_processor_time(double seconds) {
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::min(std::ceil(processor_seconds() + seconds) + 1, 1e9)));
}

Deadline far() { return std::chrono::steady_clock::now() + std::chrono::hours(24); }

bool answered(const std::string& text) {
  return send_message(host_socket, text, far(), nullptr) == Transfer::done;
}

WorkerReply refusal(const std::string& why) {
  WorkerReply reply;
  reply.refusal = why;
  return reply;
}

/// A host that is gone does not want it to go on.
bool is_wanted_on() {
  std::string answer;
  return answered(to_text(SearchMessage::may_go_on)) &&
         receive_message(host_socket, answer, 1, far(), nullptr) == Transfer::done && answer == "1";
}

void tell(SearchMessage message, const std::string& bytes) {
  if (answered(to_text(message))) answered(bytes);
}

WorkerReply reply_to(const std::string& text, const Judge& judge) {
  try {
    WorkerRequest request = request_from(text);
    if (request.search &&
        receive_message(host_socket, request.question, longest_request, far(), nullptr) != Transfer::done)
      return refusal("the question is missing");
    const double before = processor_seconds();
    limit_processor_time(request.processor_seconds);
    keep_to_share(request.processor_share);
    WorkerReply reply = judge(request, {[](WorkerStage stage) { answered(to_text(stage)); },
                                        [](const WorkerLowering& lowering) { answered(to_text(lowering)); },
                                        [seconds = request.processor_seconds] {
                                          limit_processor_time(seconds);
                                          return is_wanted_on();
                                        },
                                        [](const std::string& note) { tell(SearchMessage::note, note); }});
    if (reply.found) tell(SearchMessage::found, *reply.found);
    reply.processor_seconds = processor_seconds() - before;
    return reply;
  } catch (const std::bad_alloc&) {
    return refusal("out of memory");
  } catch (const std::exception& error) {
    return refusal(error.what());
  }
}

}  // namespace

int serve_requests(int argument_count, char** arguments, const Judge& judge) {
  if (argument_count != 3) return 2;
  const long parent = std::atol(arguments[1]);
  const long long memory = std::atoll(arguments[2]);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return 3;  // it died before the line above
  // Where memory runs out, this process is the one to go.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, rlim_t{64} << 20);  // memory for machine code counts as a file
  if (memory > 0) limit(RLIMIT_AS, static_cast<rlim_t>(memory));
  if (!answered(hello_text())) return 0;
  for (std::string text;;) {
    if (receive_message(host_socket, text, longest_request, far(), nullptr) != Transfer::done) return 0;
    if (!answered(to_text(reply_to(text, judge)))) return 0;
  }
}

}  // namespace axrun::runtime
