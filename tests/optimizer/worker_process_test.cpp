#include "runtime/optimizer/worker_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "runtime/optimizer/worker_location.h"

namespace axrun::tests {
namespace {

using namespace runtime;

constexpr double worker_patience = 60;

WorkerRequest request(const std::string& behaviour) {
  WorkerRequest asked;
  asked.program = "loops " + behaviour + "() {}";
  return asked;
}

WorkerOptions rogue() {
  WorkerOptions options;
  options.program = AXRUN_ROGUE_WORKER;
  return options;
}

struct Case {
  const char* behaviour;
  WorkerFailure failure;
  const char* reason;  ///< part of it
};

TEST(WorkerProcess, EveryMisbehaviourIsAReasonAndTheNextCandidateIsServed) {
  const Case cases[] = {
      {"null", WorkerFailure::crashed, "Segmentation fault"},
      {"illegal", WorkerFailure::crashed, "Illegal instruction"},
      {"bounds", WorkerFailure::crashed, "Segmentation fault"},
      {"aborts", WorkerFailure::crashed, "Aborted"},
      {"killed", WorkerFailure::killed, "Killed) while testing"},
      {"terminated", WorkerFailure::killed, "Terminated) while testing"},
      {"asks", WorkerFailure::garbage, "no message"},
      {"notes", WorkerFailure::garbage, "no message"},
      {"leave", WorkerFailure::exited, "status 0 while testing"},
      {"leave_with_7", WorkerFailure::exited, "status 7 while testing"},
      {"raw", WorkerFailure::garbage, "no message"},
      {"endless", WorkerFailure::garbage, "no message"},
      {"half", WorkerFailure::exited, "status 0"},
      {"no_json", WorkerFailure::garbage, "no JSON"},
      {"deep", WorkerFailure::garbage, "no JSON"},
      {"wrong_types", WorkerFailure::garbage, "'refusal' is no text"},
      {"wrong_stage", WorkerFailure::garbage, "no stage"},
      {"infinite", WorkerFailure::garbage, ""},
      {"stages", WorkerFailure::garbage, "no message"},
      {"unproved", WorkerFailure::garbage, "without evidence"},
  };
  StopSignal stop;
  WorkerProcess worker(rogue());
  for (const Case& one : cases) {
    const WorkerAnswer answer = worker.ask(request(one.behaviour), worker_patience, stop);
    EXPECT_EQ(name_of(answer.failure), name_of(one.failure)) << one.behaviour << ": " << answer.reason;
    EXPECT_NE(answer.reason.find(one.reason), std::string::npos) << one.behaviour << ": " << answer.reason;
    EXPECT_FALSE(worker.running()) << one.behaviour;
    const WorkerAnswer next = worker.ask(request("good"), worker_patience, stop);
    ASSERT_EQ(next.failure, WorkerFailure::none) << "after " << one.behaviour << ": " << next.reason;
    EXPECT_TRUE(next.reply.refusal.empty());
    EXPECT_EQ(next.reply.gate.verdict, verify::Verdict::tested);
  }
  EXPECT_EQ(worker.failed_starts(), 0);
}

TEST(WorkerProcess, WorksWhileItsHostDoesSomethingElse) {
  StopSignal stop;
  WorkerProcess worker(rogue());
  for (const char* behaviour : {"good", "null", "good", "leave_with_7", "good"}) {
    worker.send(request(behaviour), worker_patience, stop);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const WorkerAnswer answer = worker.answer(worker_patience, stop);
    EXPECT_EQ(answer.failure == WorkerFailure::none, std::string(behaviour) == "good") << answer.reason;
  }
  WorkerOptions options;
  options.program = "/no/such/program";
  WorkerProcess none(options);
  none.send(request("good"), worker_patience, stop);
  EXPECT_EQ(none.answer(worker_patience, stop).failure, WorkerFailure::cannot_start);
}

TEST(WorkerProcess, HangingOnesAreEnded) {
  StopSignal stop;
  WorkerProcess worker(rogue());
  const WorkerAnswer answer = worker.ask(request("hang"), 0.3, stop);
  EXPECT_EQ(answer.failure, WorkerFailure::timed_out) << answer.reason;
  EXPECT_NE(answer.reason.find("while testing"), std::string::npos) << answer.reason;
  EXPECT_FALSE(worker.running());
}

TEST(WorkerProcess, ASuspendedOneIsNotToBlame) {
  StopSignal stop;
  WorkerProcess worker(rogue());
  const WorkerAnswer answer = worker.ask(request("suspended"), 0.3, stop);
  EXPECT_EQ(answer.failure, WorkerFailure::killed) << answer.reason;
  EXPECT_NE(answer.reason.find("suspended by a signal"), std::string::npos) << answer.reason;
  EXPECT_FALSE(worker.running());
  EXPECT_EQ(worker.ask(request("good"), worker_patience, stop).failure, WorkerFailure::none);
}

TEST(WorkerProcess, ProcessorTimeIsLimited) {
  StopSignal stop;
  WorkerProcess worker(rogue());
  WorkerRequest asked = request("spin");
  asked.processor_seconds = 0.1;  // the system counts in seconds
  // The time of the clock does not matter while it has work.
  const WorkerAnswer answer = worker.ask(asked, 1, stop);
  EXPECT_EQ(answer.failure, WorkerFailure::timed_out) << answer.reason;
  EXPECT_NE(answer.reason.find("CPU time"), std::string::npos) << answer.reason;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(WorkerProcess, MemoryIsLimited) {
  StopSignal stop;
  WorkerOptions options = rogue();
  options.memory_bytes = int64_t{512} << 20;
  WorkerProcess worker(options);
  const WorkerAnswer answer = worker.ask(request("memory"), worker_patience, stop);
  EXPECT_EQ(answer.failure, WorkerFailure::none) << answer.reason;
  EXPECT_EQ(answer.reply.refusal, "out of memory");
}
#endif

TEST(WorkerProcess, RefusalsAndErrorsAreAnswers) {
  StopSignal stop;
  WorkerProcess worker(rogue());
  EXPECT_EQ(worker.ask(request("refuse"), worker_patience, stop).reply.refusal, "not today");
  const pid_t first = worker.process();
  EXPECT_EQ(worker.ask(request("throw"), worker_patience, stop).reply.refusal, "thrown");
  EXPECT_LT(worker.ask(request("long"), worker_patience, stop).reply.gate.text.size(), 10'000u);
  EXPECT_EQ(worker.process(), first);
}

TEST(WorkerProcess, WhatCannotBeStartedIsSaid) {
  StopSignal stop;
  const std::pair<const char*, WorkerFailure> programs[] = {
      {"/nonexistent/axrun-worker", WorkerFailure::cannot_start},
      {"/proc/self/status", WorkerFailure::cannot_start},  // not executable
      {"/bin/false", WorkerFailure::exited},
      {"/bin/echo", WorkerFailure::exited},
  };
  for (const auto& [program, failure] : programs) {
    WorkerOptions options;
    options.program = program;
    WorkerProcess worker(options);
    for (int attempt = 1; attempt <= 3; ++attempt) {
      const WorkerAnswer answer = worker.ask(request("good"), worker_patience, stop);
      EXPECT_EQ(name_of(answer.failure), name_of(failure)) << answer.reason;
      EXPECT_NE(answer.reason.find(program), std::string::npos) << answer.reason;
      EXPECT_EQ(worker.failed_starts(), attempt);
    }
  }
  // A program that waits for its input, and never says hello.
  WorkerOptions options;
  options.program = "/bin/cat";
  options.start_seconds = 0.2;
  WorkerProcess worker(options);
  EXPECT_NE(worker.ask(request("good"), worker_patience, stop).failure, WorkerFailure::none);
  EXPECT_EQ(worker.failed_starts(), 1);
}

TEST(WorkerProcess, AStopEndsTheWaitAtOnce) {
  StopSignal stop;
  WorkerProcess worker(rogue());
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request();
  });
  const WorkerAnswer answer = worker.ask(request("hang"), worker_patience, stop);
  stopper.join();
  EXPECT_EQ(answer.failure, WorkerFailure::stopped);
  EXPECT_FALSE(worker.running());
}

TEST(WorkerProcess, TheHostsDescriptorsStayWithTheHost) {
  StopSignal stop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // not marked close-on-exec
  WorkerProcess worker(rogue());
  ASSERT_EQ(worker.ask(request("good"), worker_patience, stop).failure, WorkerFailure::none);
  const std::string opened = "/proc/" + std::to_string(worker.process()) + "/fd/";
  char target[64];
  for (const int end : ends) {
    EXPECT_LT(readlink((opened + std::to_string(end)).c_str(), target, sizeof(target)), 0);
    close(end);
  }
}

TEST(WorkerProcess, AHostThatIgnoresItsChildrenIsServed) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  StopSignal stop;
  {
    WorkerProcess worker(rogue());
    EXPECT_EQ(worker.ask(request("good"), worker_patience, stop).failure, WorkerFailure::none);
    EXPECT_EQ(worker.ask(request("null"), worker_patience, stop).failure, WorkerFailure::exited);
    EXPECT_EQ(worker.ask(request("hang"), 0.2, stop).failure, WorkerFailure::timed_out);
    EXPECT_EQ(worker.ask(request("good"), worker_patience, stop).failure, WorkerFailure::none);
  }
  signal(SIGCHLD, before);
}

TEST(WorkerProcess, AForkedChildLeavesItsParentsWorkerAlone) {
  StopSignal stop;
  WorkerProcess worker(rogue());
  ASSERT_EQ(worker.ask(request("good"), worker_patience, stop).failure, WorkerFailure::none);
  const pid_t serving = worker.process();
  const pid_t child = fork();
  if (child == 0) {
    worker.~WorkerProcess();
    stop.request();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(stop.requested());
  EXPECT_EQ(worker.ask(request("good"), worker_patience, stop).failure, WorkerFailure::none);
  EXPECT_EQ(worker.process(), serving);
}

TEST(WorkerPlaces, TheBuildHasItBesideTheLibrary) {
  ASSERT_FALSE(worker_places().empty());
  for (const std::string& place : worker_places()) EXPECT_TRUE(place.starts_with('/'));
  EXPECT_NE(find_worker(), "");
}

}  // namespace
}  // namespace axrun::tests
