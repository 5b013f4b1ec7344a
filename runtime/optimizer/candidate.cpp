#include "runtime/optimizer/candidate.h"

#include <fmt/format.h>

#include <utility>

#include "ir/error.h"
#include "ir/text.h"
#include "runtime/optimizer/reproducer.h"

namespace axrun::runtime {

Candidate::Candidate(const StepExpression& expression, SizeValues sizes, search::Sizes ranges,
                     const CandidateTools& tools, WorkerProcess& worker, const StopSignal& stop, size_t rank,
                     std::optional<GeneratedCode> known)
    : expression_(expression),
      sizes_(std::move(sizes)),
      ranges_(std::move(ranges)),
      tools_(tools),
      worker_(worker),
      stop_(stop),
      rank_(rank),
      known_(std::move(known)) {}

/// Stages leave in the members what the next one needs, or a reason.
void Candidate::guarded(const char* stage, void (Candidate::*run)()) {
  try {
    if (stop_.requested() && !asked_) outcome_.reason = "stopped";
    if (outcome_.reason.empty()) (this->*run)();
  } catch (const Error& error) {
    outcome_.reason = fmt::format("{}: {}", stage, error.what());
    outcome_.lost = asked_ ? TriedKernel::End::no_code : TriedKernel::End::no_schedule;
  }
}

void Candidate::begin() {
  guarded("lower", &Candidate::lower);
  guarded("prove and test", &Candidate::ask);
}

CandidateOutcome Candidate::finish() {
  guarded("prove and test", &Candidate::judge);
  guarded("compile", &Candidate::compile);
  if (outcome_.reason.empty()) outcome_.end = CandidateOutcome::End::verified;
  return std::move(outcome_);
}

TriedKernel Candidate::trial(const CandidateOutcome& outcome) const {
  TriedKernel trial;
  trial.rank = static_cast<int>(rank_);
  trial.kind = lowered_.kind;
  trial.schedule = lowered_.schedule.text;
  trial.end = outcome.lost;
  trial.reason = outcome.reason;
  trial.expected_us = lowered_.schedule.expected / 1e3;
  trial.proof = record_.proof;
  trial.gate = record_.gate;
  return trial;
}

void Candidate::lower() {
  lowered_ = tools_.lower(expression_.program, ranges_, expression_.constant, tools_.target, rank_);
  record_.kind = outcome_.code.kind = lowered_.kind;
  record_.alternatives = static_cast<int>(lowered_.alternatives);
  record_.rank = static_cast<int>(outcome_.code.rank = rank_);
  if (!lowered_.program) {
    outcome_.reason = fmt::format("no schedule: {}", lowered_.reason);
    outcome_.lost = TriedKernel::End::no_schedule;
    return;
  }
  for (size_t k = 0; k < lowered_.expression.operands.size(); ++k) {
    if (lowered_.expression.operands[k] != ir::none) outcome_.code.inputs.push_back(static_cast<int>(k));
  }
  if (!known_) return;
  // Of the schedule only the simplified expression is wanted.
  if (outcome_.code.inputs != known_->inputs) {
    outcome_.reason = "lower: another schedule is made for it now";
    return;
  }
  lowered_.program = known_->code->program();
}

WorkerRequest request_for(const StepExpression& expression, const search::Lowered& lowered,
                          const search::Sizes& ranges, const SizeValues& sizes, const CandidateTools& tools,
                          const verify::TestedSizes& tested) {
  WorkerRequest request;
  request.program = ir::loop::print(*lowered.program);
  request.expression = expression.text;
  request.lowered = ir::print(lowered.expression);
  verify::SizesToTry wanted = verify::sizes_to_try(expression.program, ranges, sizes, tested);
  request.sizes = std::move(wanted.sizes);
  request.thorough = wanted.thorough;
  request.constant = expression.constant;
  request.target = tools.target;
  request.seed = tools.seed;
  request.proof_seconds = tools.proof_seconds;
  request.processor_seconds = tools.processor_seconds;
  return request;
}

void Candidate::ask() {
  request_ = request_for(expression_, lowered_, ranges_, sizes_, tools_,
                         known_ ? known_->tested : verify::TestedSizes());
  asked_ = true;
  worker_.send(request_, tools_.answer_seconds, stop_);
}

void Candidate::keep_reproducer() {
  if (tools_.reproducers.empty()) return;
  write_reproducer(tools_.reproducers, request_, name_of(outcome_.lost), outcome_.reason);
}

void Candidate::judge() {
  const WorkerAnswer answer = worker_.answer(tools_.answer_seconds, stop_);
  if (answer.failure == WorkerFailure::stopped) {
    outcome_.reason = "stopped";
    return;
  }
  if (answer.failure != WorkerFailure::none) {
    if (worker_.failed_starts() > 0) outcome_.end = CandidateOutcome::End::worker_trouble;
    outcome_.lost = TriedKernel::End::worker_failed;
    outcome_.reason = fmt::format("the helper process {}: {}", name_of(answer.failure), answer.reason);
    wrong_ = answer.failure == WorkerFailure::crashed;
    if (outcome_.end != CandidateOutcome::End::worker_trouble) keep_reproducer();
    return;
  }
  reply_ = answer.reply;
  if (!reply_.proof.text.empty()) {
    record_.proof = fmt::format("{}: {}", verify::name_of(reply_.proof.verdict), reply_.proof.text);
    record_.proof_seconds = reply_.proof.seconds;
  }
  if (!reply_.gate.text.empty()) {
    record_.gate = fmt::format("{}: {}", verify::name_of(reply_.gate.verdict), reply_.gate.text);
    record_.gate_seconds = reply_.gate.seconds;
  }
  record_.compile_seconds = reply_.compile_seconds;
  wrong_ = reply_.gate.verdict == verify::Verdict::refuted;
  outcome_.reason = reply_.refusal;
  if (outcome_.reason.empty()) return;
  outcome_.lost = !reply_.gate.text.empty()                         ? TriedKernel::End::not_passed
                  : reply_.proof.verdict != verify::Verdict::proved ? TriedKernel::End::not_proved
                                                                    : TriedKernel::End::no_code;
  keep_reproducer();
}

void Candidate::compile() {
  // From the text, as in the worker: how values are numbered may show in the code.
  if (known_) {
    outcome_.code = *known_;
  } else {
    outcome_.code.code = jit::KernelCode::compile(ir::loop::parse(request_.program), tools_.target);
  }
  for (const SizeValues& sizes : request_.sizes) outcome_.code.tested.add(sizes);
  const jit::KernelCode& code = *outcome_.code.code;
  if (code.code_bytes() != reply_.code_bytes ||
      hash_of_code(code.code(), code.code_bytes()) != reply_.code_hash) {
    outcome_.reason = "compile: the code made here is not the code that was tested";
    outcome_.lost = TriedKernel::End::no_code;
    keep_reproducer();
  }
}

}  // namespace axrun::runtime
