// A fault in search/ costs the candidate that meets it, and nothing else: lowering happens in the helper
// process.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "ir/text.h"
#include "runtime/host_target.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/reproducer.h"
#include "runtime/optimizer/schedule_kind.h"
#include "tests/optimizer/bench.h"
#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

using End = CandidateOutcome::End;

WorkerOptions faulty() {
  WorkerOptions options;
  options.program = AXRUN_FAULTY_SEARCH;
  return options;
}

/// y = `function`(x).
StepExpression function_of(const std::string& function) {
  std::string reason;
  const auto expression =
      express(ir::parse("program P(x: f32[100]) -> (y) {\n  y: f32[100] = map (i: 100) { " + function +
                        "(x[i]) }\n}"),
              {false}, reason);
  EXPECT_TRUE(expression.has_value()) << reason;
  return *expression;
}

CandidateTools tools() {
  CandidateTools all;
  all.target = host_target();
  all.processor_seconds = 1;  // an endless loop is ended soon
  return all;
}

struct Tried {
  CandidateOutcome outcome;
  TriedKernel trial;
};
Tried tried(const StepExpression& expression, WorkerProcess& worker, const StopSignal& stop,
            const CandidateTools& all = tools()) {
  Candidate candidate(expression, {}, {}, all, worker, stop);
  candidate.begin();
  CandidateOutcome outcome = candidate.finish();
  TriedKernel trial = candidate.trial(outcome);
  return {std::move(outcome), std::move(trial)};
}

struct PlantedFault {
  const char* what;
  TriedKernel::End lost;
  const char* reason;
};
const PlantedFault planted_faults[] = {
    {"segmentation fault", TriedKernel::End::worker_failed, "Segmentation fault) while lowering"},
    {"assertion", TriedKernel::End::worker_failed, "Aborted) while lowering"},
    {"exception", TriedKernel::End::no_schedule, "vector::at"},
    {"endless loop", TriedKernel::End::worker_failed, "CPU time limit exceeded) while lowering"},
};

TEST(FaultInLowering, CostsTheCandidateThatMeetsIt) {
  const StopSignal stop;
  for (const PlantedFault& fault : planted_faults) {
    const Knobs knobs{{"FAULT_IN_LOWERING", fault.what}, {"FAULTY_STAGE", "tanh"}};
    WorkerProcess worker(faulty());
    for (int repetition = 0; repetition < 2; ++repetition) {
      const Tried failed = tried(function_of("tanh"), worker, stop);
      EXPECT_EQ(failed.outcome.end, End::refused) << fault.what;
      EXPECT_EQ(failed.outcome.lost, fault.lost) << fault.what << ": " << failed.outcome.reason;
      EXPECT_NE(failed.outcome.reason.find(fault.reason), std::string::npos) << failed.outcome.reason;
      EXPECT_EQ(failed.trial.reason, failed.outcome.reason);
      const Tried next = tried(function_of("exp"), worker, stop);
      EXPECT_EQ(next.outcome.end, End::verified) << fault.what << ": " << next.outcome.reason;
      EXPECT_EQ(next.trial.kind, "map");
    }
  }
}

TEST(FaultInLowering, IsAReasonWhereOnlyTheKindOfScheduleIsWanted) {
  const StopSignal stop;
  for (const PlantedFault& fault : planted_faults) {
    const Knobs knobs{{"FAULT_IN_LOWERING", fault.what}, {"FAULTY_STAGE", "tanh"}};
    WorkerProcess worker(faulty());
    const ScheduleKind failed = kind_of_schedule(function_of("tanh"), {}, tools(), worker, stop);
    EXPECT_EQ(failed.kind, "") << fault.what;
    EXPECT_EQ(failed.lost, fault.lost) << fault.what;
    EXPECT_NE(failed.reason.find(fault.reason), std::string::npos) << failed.reason;
    EXPECT_EQ(kind_of_schedule(function_of("exp"), {}, tools(), worker, stop).kind, "map") << fault.what;
  }
}

/// What crashed the helper can be asked again, where it was lowered and where it was not.
TEST(FaultInLowering, IsKeptForWhoeverWantsToRepeatIt) {
  const StopSignal stop;
  WorkerProcess worker(faulty());
  std::string folder = (std::filesystem::temp_directory_path() / "axrun_faults_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  CandidateTools all = tools();
  all.reproducers = folder;
  const Knobs knobs{{"FAULT_IN_LOWERING", "segmentation fault"}, {"FAULTY_STAGE", "tanh"}};
  tried(function_of("tanh"), worker, stop, all);
  const std::filesystem::directory_iterator kept(folder);
  ASSERT_NE(kept, std::filesystem::directory_iterator());
  const WorkerRequest request = read_reproducer(kept->path());
  EXPECT_EQ(request.program, "");
  EXPECT_EQ(worker.ask(request, 60, stop).failure, WorkerFailure::crashed);
  WorkerProcess sound{WorkerOptions{}};
  const WorkerAnswer answer = sound.ask(request, 60, stop);
  EXPECT_EQ(answer.failure, WorkerFailure::none) << answer.reason;
  EXPECT_EQ(answer.reply.refusal, "");
  std::filesystem::remove_all(folder);
}

/// Nothing is known of a kernel whose helper somebody else has ended.
TEST(FaultInLowering, AnEndFromOutsideBlamesNobody) {
  const StopSignal stop;
  WorkerProcess worker(faulty());
  const Knobs knobs{{"FAULT_IN_LOWERING", "killed"}, {"FAULTY_STAGE", "tanh"}};
  const Tried killed = tried(function_of("tanh"), worker, stop);
  EXPECT_EQ(killed.outcome.end, End::worker_killed);
  EXPECT_EQ(killed.outcome.lost, TriedKernel::End::not_tried);
  EXPECT_NE(killed.outcome.reason.find("ended from outside"), std::string::npos) << killed.outcome.reason;
  EXPECT_EQ(kind_of_schedule(function_of("tanh"), {}, tools(), worker, stop).outcome, End::worker_killed);
}

/// The first one that computes this operator, alone or with others.
const OptimizedKernel* kernel_for(const OptimizerStatus& status, const std::string& op) {
  for (const OptimizedKernel& kernel : status.kernels)
    if (kernel.ops.find(op) != std::string::npos) return &kernel;
  return nullptr;
}

/// The whole of it: the model is served all the while, and its other steps get their kernels.
TEST(FaultInLowering, LeavesTheSessionAndItsOtherKernels) {
  for (const char* fault : {"segmentation fault", "assertion", "exception"}) {
    const Knobs knobs{{"FAULT_IN_LOWERING", fault}, {"FAULTY_STAGE", "exp("}};  // Softmax
    Bench bench(four_steps(), 1, {}, "", [](OptimizerSettings& settings) { settings.worker = faulty(); });
    for (int k = 0; k < 20; ++k) bench.run();
    ASSERT_TRUE(bench.optimizer().wait(patience)) << fault;
    bench.run();
    const OptimizerStatus status = bench.optimizer().status();
    EXPECT_NE(status.state, OptimizerStatus::State::stopped) << status.reason;
    const OptimizedKernel* const softmax = kernel_for(status, "Softmax");
    ASSERT_NE(softmax, nullptr) << fault;
    EXPECT_EQ(softmax->state, OptimizedKernel::State::refused) << fault;
    EXPECT_FALSE(softmax->reason.empty());
    const OptimizedKernel* const trilu = kernel_for(status, "Trilu");
    ASSERT_NE(trilu, nullptr) << fault;
    EXPECT_TRUE(trilu->proof.starts_with("proved")) << fault << ": " << trilu->reason;
  }
}

TEST(FaultInLowering, ACandidateWhoseHelperWasKilledIsTriedAgain) {
  const std::string count =
      (std::filesystem::temp_directory_path() / ("axrun_kills_" + std::to_string(getpid()))).string();
  std::filesystem::remove(count);
  const Knobs knobs{
      {"FAULT_IN_LOWERING", "killed twice"}, {"FAULTY_STAGE", ""}, {"FAULT_COUNT", count.c_str()}};
  Bench bench(slow_at_first(), 1, {}, "", [](OptimizerSettings& settings) { settings.worker = faulty(); });
  for (int k = 0; k < 20; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  const OptimizerStatus status = bench.optimizer().status();
  ASSERT_EQ(status.kernels.size(), 1u);
  EXPECT_TRUE(status.kernels[0].proof.starts_with("proved")) << status.kernels[0].reason;
  EXPECT_GE(std::filesystem::file_size(count), 3u);
  std::filesystem::remove(count);
}

}  // namespace
}  // namespace axrun::tests
