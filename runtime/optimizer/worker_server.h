#pragma once

#include <functional>

#include "runtime/optimizer/worker_lowering.h"
#include "runtime/optimizer/worker_protocol.h"

namespace axrun::runtime {

/// What a judge tells the host before it has an answer.
struct JudgeReports {
  std::function<void(WorkerStage)> entering;  ///< before each of its stages
  std::function<void(const WorkerLowering&)> lowered;
  /// Of a search, now and then: whether the host wants it to go on. From then on it has its processor time
  /// anew.
  std::function<bool()> may_go_on;
  /// What the host shall know even if the search does not end.
  std::function<void(const std::string&)> note;
};

/// Answers one request.
using Judge = std::function<WorkerReply(const WorkerRequest& request, const JudgeReports& reports)>;

/// The socket to the host.
inline constexpr int host_socket = 0;

/// The worker program: limits itself, says hello on its standard input (a socket to the process that started
/// it), and answers requests until the other side is gone. `arguments`: its command line. Answers the exit
/// status.
///
/// It dies with the thread that started it, writes no core and no large file, and may use only so much memory
/// and processor time.
int serve_requests(int argument_count, char** arguments, const Judge& judge);

/// Lowers what is to be lowered, proves, compiles, tests and times; or proves an identity; or searches.
WorkerReply judge_candidate(const WorkerRequest& request, const JudgeReports& reports,
                            const LowerFunction& lower);

/// The answer to a question about search/ (search_questions.h). Throws whatever search/ throws.
std::string answer_of_search(const WorkerRequest& request, const JudgeReports& reports);

}  // namespace axrun::runtime
