// What is kept of a candidate that something was wrong with, and that it says the same when it is asked
// again.
#include "runtime/optimizer/reproducer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ir/error.h"
#include "ir/text.h"
#include "runtime/host_target.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/stop_signal.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;
using namespace runtime;

class Reproducer : public testing::Test {
 protected:
  Reproducer() {
    std::string pattern = (fs::temp_directory_path() / "axrun_reproducer_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Reproducer() override { fs::remove_all(folder_); }

  std::vector<fs::path> kept() const {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(folder_)) folders.push_back(entry.path());
    return folders;
  }

  fs::path folder_;
};

/// y = x + `what`.
ir::Program sum(const std::string& what) {
  return ir::parse("program P(x: f32[100]) -> (y) {\n  y: f32[100] = map (i: 100) { x[i] + " + what +
                   ":f32 }\n}");
}

/// Lowers something else than it is asked to, and says it did not.
search::Lowered lying(const ir::Program& expression, const search::Sizes& sizes,
                      const std::vector<bool>& constant, const jit::Target& target, size_t rank) {
  search::Lowered lowered = search::lower(sum("2"), sizes, constant, target, rank);
  lowered.expression = search::lower(expression, sizes, constant, target, rank).expression;
  return lowered;
}

CandidateOutcome tried(const LowerFunction& lower, const std::string& reproducers, WorkerProcess& worker,
                       const StopSignal& stop) {
  std::string reason;
  const auto expression = express(sum("1"), {false}, reason);
  EXPECT_TRUE(expression.has_value()) << reason;
  CandidateTools tools;
  tools.lower = lower;
  tools.target = host_target();
  tools.reproducers = reproducers;
  Candidate candidate(*expression, {}, {}, tools, worker, stop);
  candidate.begin();
  return candidate.finish();
}

TEST_F(Reproducer, ARefutedProofIsKeptOnceAndIsRefutedAgain) {
  const StopSignal stop;
  WorkerProcess worker({});
  for (int repetition = 0; repetition < 2; ++repetition) {
    const CandidateOutcome outcome = tried(lying, folder_, worker, stop);
    EXPECT_EQ(outcome.end, CandidateOutcome::End::refused);
    EXPECT_EQ(outcome.lost, TriedKernel::End::not_proved) << outcome.reason;
  }
  ASSERT_EQ(kept().size(), 1u);
  const fs::path folder = kept()[0];
  EXPECT_TRUE(folder.filename().string().starts_with("not-proved-")) << folder;
  for (const char* file : {"README", "expression", "program", "request"})
    EXPECT_GT(fs::file_size(folder / file), 0u) << file;
  const WorkerAnswer answer = worker.ask(read_reproducer(folder), 60, stop);
  ASSERT_EQ(answer.failure, WorkerFailure::none) << answer.reason;
  EXPECT_NE(answer.reply.proof.verdict, verify::Verdict::proved);
  EXPECT_FALSE(answer.reply.refusal.empty());
}

TEST_F(Reproducer, NothingIsKeptOfWhatIsRight) {
  const StopSignal stop;
  WorkerProcess worker({});
  const CandidateOutcome outcome = tried({}, folder_, worker, stop);
  EXPECT_EQ(outcome.end, CandidateOutcome::End::verified) << outcome.reason;
  EXPECT_TRUE(kept().empty());
}

TEST_F(Reproducer, ThereAreNeverMoreThanAFewDozen) {
  WorkerRequest request;
  request.program = "loops p() {}";
  request.target = host_target();
  for (uint64_t seed = 0; seed < 100; ++seed) {
    request.seed = seed;
    write_reproducer(folder_, request, "crashed / twice", "why");
  }
  EXPECT_GT(kept().size(), 8u);
  EXPECT_LE(kept().size(), 64u);
  for (const fs::path& folder : kept()) EXPECT_NO_THROW(read_reproducer(folder));
}

TEST_F(Reproducer, WhereNothingCanBeWrittenNothingHappens) {
  WorkerRequest request;
  EXPECT_EQ(write_reproducer("", request, "crashed", "why"), "");
  std::ofstream(folder_ / "file") << "no folder";
  EXPECT_EQ(write_reproducer(folder_ / "file", request, "crashed", "why"), "");
  EXPECT_EQ(kept().size(), 1u);
}

TEST_F(Reproducer, DamagedOnesAreRefused) {
  EXPECT_THROW(read_reproducer(folder_), Error);
  for (const char* content : {"", "{", "{\"program\": 4}", "\xff\xff\xff"}) {
    std::ofstream(folder_ / "request", std::ios::binary) << content;
    EXPECT_THROW(read_reproducer(folder_), Error) << content;
  }
}

}  // namespace
}  // namespace axrun::tests
