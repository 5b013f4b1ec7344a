#include "runtime/optimizer/candidate.h"

#include <fmt/format.h>

#include <utility>

#include "ir/error.h"
#include "ir/text.h"
#include "runtime/optimizer/reproducer.h"
#include "verify/gate_sizes.h"

namespace axrun::runtime {

Candidate::Candidate(const StepExpression& expression, SizeValues sizes, search::Sizes ranges,
                     const CandidateTools& tools, WorkerProcess& worker, const StopSignal& stop, size_t rank)
    : expression_(expression),
      sizes_(std::move(sizes)),
      ranges_(std::move(ranges)),
      tools_(tools),
      worker_(worker),
      stop_(stop),
      rank_(rank) {}

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
}

WorkerRequest request_for(const StepExpression& expression, const search::Lowered& lowered,
                          const search::Sizes& ranges, const SizeValues& sizes, const CandidateTools& tools) {
  WorkerRequest request;
  request.program = ir::loop::print(*lowered.program);
  request.expression = expression.text;
  request.lowered = ir::print(lowered.expression);
  verify::SizesToTry wanted = verify::sizes_to_try(expression.program, ranges, sizes);
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
  const WorkerRequest request = request_for(expression_, lowered_, ranges_, sizes_, tools_);
  text_ = request.program;
  asked_ = true;
  worker_.send(request, tools_.answer_seconds, stop_);
}

void Candidate::keep_reproducer() {
  if (tools_.reproducers.empty()) return;
  write_reproducer(tools_.reproducers, request_for(expression_, lowered_, ranges_, sizes_, tools_),
                   name_of(outcome_.lost), outcome_.reason);
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
  outcome_.reason = reply_.refusal;
  if (outcome_.reason.empty()) return;
  outcome_.lost = !reply_.gate.text.empty()                         ? TriedKernel::End::not_passed
                  : reply_.proof.verdict != verify::Verdict::proved ? TriedKernel::End::not_proved
                                                                    : TriedKernel::End::no_code;
  keep_reproducer();
}

void Candidate::compile() {
  // From the text, as in the worker: how values are numbered may show in the code.
  outcome_.code.code = jit::KernelCode::compile(ir::loop::parse(text_), tools_.target);
  const jit::KernelCode& code = *outcome_.code.code;
  if (code.code_bytes() != reply_.code_bytes ||
      hash_of_code(code.code(), code.code_bytes()) != reply_.code_hash) {
    outcome_.reason = "compile: the code made here is not the code that was tested";
    outcome_.lost = TriedKernel::End::no_code;
    keep_reproducer();
  }
}

}  // namespace axrun::runtime
