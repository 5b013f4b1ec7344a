#pragma once

#include <functional>

#include "runtime/optimizer/worker_protocol.h"

namespace axrun::runtime {

/// Answers one request. Calls `entering` before each of its stages.
using Judge = std::function<WorkerReply(const WorkerRequest& request,
                                        const std::function<void(WorkerStage)>& entering)>;

/// The worker program: limits itself, says hello on its standard input (a socket to the process that started
/// it), and answers requests until the other side is gone. `arguments`: its command line. Answers the exit
/// status.
///
/// It dies with the thread that started it, writes no core and no large file, and may use only so much memory
/// and processor time.
int serve_requests(int argument_count, char** arguments, const Judge& judge);

/// Proves, compiles, tests and times; or proves an identity.
WorkerReply judge_candidate(const WorkerRequest& request, const std::function<void(WorkerStage)>& entering);

}  // namespace axrun::runtime
