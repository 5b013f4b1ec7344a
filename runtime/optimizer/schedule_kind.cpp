#include "runtime/optimizer/schedule_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "runtime/optimizer/reproducer.h"

namespace axrun::runtime {
namespace {

/// Most expressions take milliseconds, the largest ones a second.
constexpr double most_processor_seconds = 60;

ScheduleKind kind_in(const WorkerLowering& lowering) {
  ScheduleKind found;
  if (!lowering.program.empty()) found.kind = lowering.kind;
  found.reason = lowering.reason;
  return found;
}

ScheduleKind failed(const WorkerAnswer& answer, const WorkerRequest& request, const CandidateTools& tools,
                    bool started) {
  using End = CandidateOutcome::End;
  ScheduleKind found;
  found.reason = fmt::format("the helper process {}: {}", name_of(answer.failure), answer.reason);
  found.lost = TriedKernel::End::not_tried;
  if (answer.failure == WorkerFailure::stopped) {
    found.reason = "stopped";
  } else if (answer.failure == WorkerFailure::killed) {
    found.outcome = End::worker_killed;
  } else if (!started) {
    found.outcome = End::worker_trouble;
  } else {
    found.lost = TriedKernel::End::worker_failed;
    write_reproducer(tools.reproducers, request, name_of(found.lost), found.reason);
  }
  return found;
}

}  // namespace

ScheduleKind kind_of_schedule(const StepExpression& expression, const search::Sizes& ranges,
                              const CandidateTools& tools, WorkerProcess& worker,
                              const StopSignal& stop) try {
  if (tools.lower)
    return kind_in(sent_form(tools.lower(expression.program, ranges, expression.constant, tools.target, 0)));
  WorkerRequest request;
  request.expression = expression.text;
  request.ranges = ranges;
  request.constant = expression.constant;
  request.target = tools.target;
  request.lower_only = true;
  request.processor_seconds = std::min(most_processor_seconds, tools.processor_seconds);
  const WorkerAnswer answer = worker.ask(request, tools.answer_seconds, stop);
  if (answer.failure != WorkerFailure::none)
    return failed(answer, request, tools, worker.failed_starts() == 0);
  if (answer.lowering) return kind_in(*answer.lowering);
  ScheduleKind found;
  found.reason = answer.reply.refusal;
  return found;
} catch (const Error& error) {
  ScheduleKind found;
  found.reason = error.what();
  return found;
}

}  // namespace axrun::runtime
