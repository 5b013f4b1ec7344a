#include "runtime/optimizer/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
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
  if (tools_.lower) guarded("lower", &Candidate::lower);
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
  trial.kind = lowering_.kind;
  trial.schedule = lowering_.schedule;
  trial.end = outcome.lost;
  trial.reason = outcome.reason;
  trial.expected_us = lowering_.expected_us;
  trial.proof = record_.proof;
  trial.gate = record_.gate;
  return trial;
}

void Candidate::lower() {
  lowering_ =
      sent_form(tools_.lower(expression_.program, ranges_, expression_.constant, tools_.target, rank_));
  note_lowering();
}

void Candidate::note_lowering() {
  record_.kind = outcome_.code.kind = lowering_.kind;
  record_.alternatives = lowering_.alternatives;
  record_.rank = static_cast<int>(outcome_.code.rank = rank_);
  outcome_.code.inputs = lowering_.inputs;
  if (known_ && !lowering_.expression.empty()) {
    // Of the schedule only the simplified expression is wanted.
    if (lowering_.inputs != known_->inputs) outcome_.reason = "lower: another schedule is made for it now";
    lowering_.program = ir::loop::print(known_->code->program());
  }
  if (!lowering_.program.empty()) return;
  outcome_.reason = fmt::format("no schedule: {}", lowering_.reason);
  outcome_.lost = TriedKernel::End::no_schedule;
}

WorkerRequest request_for(const StepExpression& expression, const WorkerLowering& lowering,
                          const search::Sizes& ranges, const SizeValues& sizes, const CandidateTools& tools,
                          const verify::TestedSizes& tested) {
  WorkerRequest request;
  request.program = lowering.program;
  request.expression = expression.text;
  request.lowered = lowering.expression;
  request.ranges = ranges;
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
  WorkerLowering given = lowering_;
  if (known_) given.program = ir::loop::print(known_->code->program());
  request_ = request_for(expression_, given, ranges_, sizes_, tools_,
                         known_ ? known_->tested : verify::TestedSizes());
  request_.rank = rank_;
  asked_ = true;
  worker_.send(request_, tools_.answer_seconds, stop_);
}

void Candidate::keep_reproducer() {
  if (tools_.reproducers.empty()) return;
  WorkerRequest request = request_;
  if (!lowering_.program.empty()) {
    request.program = lowering_.program;
    request.lowered = lowering_.expression;
  }
  write_reproducer(tools_.reproducers, request, name_of(outcome_.lost), outcome_.reason);
}

/// Whether there is a reply. Otherwise the outcome says why not.
bool Candidate::is_answered(const WorkerAnswer& answer) {
  if (answer.failure == WorkerFailure::none) return true;
  if (answer.failure == WorkerFailure::stopped) {
    outcome_.reason = "stopped";
    return false;
  }
  outcome_.reason = fmt::format("the helper process {}: {}", name_of(answer.failure), answer.reason);
  // What crashes while it is lowered has not been executed.
  wrong_ = answer.failure == WorkerFailure::crashed && !lowering_.expression.empty();
  if (answer.failure == WorkerFailure::killed) {
    outcome_.end = CandidateOutcome::End::worker_killed;
  } else if (worker_.failed_starts() > 0) {
    outcome_.end = CandidateOutcome::End::worker_trouble;
  }
  const bool blames_nobody = outcome_.end != CandidateOutcome::End::refused;
  outcome_.lost = blames_nobody ? TriedKernel::End::not_tried : TriedKernel::End::worker_failed;
  if (!blames_nobody) keep_reproducer();
  return false;
}

void Candidate::judge() {
  const WorkerAnswer answer = worker_.answer(tools_.answer_seconds, stop_);
  if (answer.lowering) {
    lowering_ = *answer.lowering;
    note_lowering();
  }
  if (!outcome_.reason.empty() && answer.failure == WorkerFailure::none) return;
  if (!is_answered(answer)) return;
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
  outcome_.lost = lowering_.program.empty()                         ? TriedKernel::End::no_schedule
                  : !reply_.gate.text.empty()                       ? TriedKernel::End::not_passed
                  : reply_.proof.verdict != verify::Verdict::proved ? TriedKernel::End::not_proved
                                                                    : TriedKernel::End::no_code;
  keep_reproducer();
}

namespace {

bool is_for(const ir::loop::LoopProgram& program, const search::Sizes& ranges) {
  const auto same = [](const ir::loop::Size& a, const ir::loop::Size& b) {
    return a.name == b.name && a.low == b.low && a.high == b.high && a.divisor == b.divisor;
  };
  return std::equal(program.sizes.begin(), program.sizes.end(), ranges.begin(), ranges.end(), same);
}

/// What a loop program from another process must be for its buffers to be an expression's operands and
/// outputs; that it computes them is proved there.
bool has_buffers_of(const ir::loop::LoopProgram& program, const ir::Program& expression,
                    const std::vector<int>& inputs) {
  // A size of a single value may stand as a number in one of them.
  std::map<std::string, ir::Dim> fixed;
  for (const ir::loop::Size& size : program.sizes) {
    if (size.low == size.high) fixed.emplace(size.name, ir::Dim(size.low));
  }
  const auto count = [&](const ir::Dims& dims) { return ir::product(dims).substitute(fixed); };
  std::vector<ir::TensorId> tensors;
  for (const int input : inputs) {
    if (input < 0 || static_cast<size_t>(input) >= expression.operands.size()) return false;
    tensors.push_back(expression.operands[static_cast<size_t>(input)]);
  }
  tensors.insert(tensors.end(), expression.outputs.begin(), expression.outputs.end());
  size_t next = 0;
  for (const ir::loop::Buffer& buffer : program.buffers) {
    if (buffer.role == ir::loop::Role::scratch) continue;
    if (next == tensors.size() || tensors[next] == ir::none) return false;
    const bool output = next >= inputs.size();
    const ir::TensorDecl& tensor = expression.tensors[static_cast<size_t>(tensors[next++])];
    if (output != (buffer.role == ir::loop::Role::output) || buffer.type != tensor.type ||
        count(buffer.dims) != count(tensor.dims))
      return false;
  }
  return next == tensors.size();
}

}  // namespace

void Candidate::compile() {
  // From the text, as in the worker: how values are numbered may show in the code.
  const ir::loop::LoopProgram program = ir::loop::parse(lowering_.program);
  const bool own = is_for(program, ranges_) && has_buffers_of(program, expression_.program, lowering_.inputs);
  if (!known_ && !own) {
    outcome_.reason = "compile: the loop program is of another expression";
    outcome_.lost = TriedKernel::End::worker_failed;
    return keep_reproducer();
  }
  if (known_) {
    outcome_.code = *known_;
  } else {
    outcome_.code.code = jit::KernelCode::compile(program, tools_.target);
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
