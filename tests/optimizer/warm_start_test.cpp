// Sessions that start from what earlier ones have found.
#include "runtime/warm/warm_start.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/cache/survey.h"
#include "runtime/plan/joints.h"
#include "runtime/warm/library_image.h"
#include "runtime/warm/warm_keys.h"
#include "tests/optimizer/bench.h"
#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;

/// Products and what follows them, weights that kernels pack.
ModelMaker layers(uint64_t seed, const ir::Dim& rows = 64) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {rows, 96});
  ir::ValueId a = m.node("MatMul", {x, m.weights({96, 80}, seed)});
  a = m.node("Add", {a, m.weights({80}, 7)});
  a = m.node("Softmax", {a}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
  m.output(m.node("MatMul", {a, m.weights({80, 48}, 9)}));
  return m;
}

class WarmStarts : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / ("axrun_warm_" + test + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  struct Outcome {
    ir::Tensor result;
    OptimizerStatus status;
    int generated = 0;  ///< kernels that have machine code
  };
  SessionOptions options() const {
    SessionOptions options;
    options.threads = 1;
    options.cache_dir = folder_.string();
    return options;
  }
  static RuntimeValue input(int64_t rows) { return RuntimeValue(ModelMaker::random({rows, 96}, 3)); }
  static Outcome outcome(Session& session, int64_t rows) {
    Outcome outcome;
    outcome.result = session.run({input(rows)})[0].tensor;
    outcome.status = session.optimizer_status();
    for (const OptimizedKernel& kernel : outcome.status.kernels)
      outcome.generated += kernel.state == OptimizedKernel::State::accepted && kernel.code_bytes > 0 ? 1 : 0;
    return outcome;
  }
  /// Runs until the optimiser has nothing left to do.
  static Outcome optimised(const ModelMaker& model, const SessionOptions& how, int64_t rows = 64) {
    const auto session = model.session(how);
    for (int k = 0; k < 40; ++k) session->run({input(rows)});
    EXPECT_TRUE(session->wait_for_optimizer(patience));
    session->freeze();
    return outcome(*session, rows);
  }
  /// The first answer.
  static Outcome first(const ModelMaker& model, const SessionOptions& how, int64_t rows = 64) {
    return outcome(*model.session(how), rows);
  }
  static bool same_bits(const Outcome& a, const Outcome& b) {
    return a.result.bytes() == b.result.bytes() &&
           std::memcmp(a.result.data(), b.result.data(), a.result.bytes()) == 0;
  }
  static void expect_close(const Outcome& a, const Outcome& b) {
    ASSERT_EQ(a.result.size(), b.result.size());
    for (int64_t k = 0; k < a.result.size(); ++k)
      ASSERT_NEAR(a.result.get_real(k), b.result.get_real(k), 1e-5) << k;
  }
  static void expect_cold(const Outcome& one) {
    EXPECT_FALSE(one.status.cache.found);
    EXPECT_EQ(one.generated, 0);
  }

  const Knobs knobs_{};
  fs::path folder_;
};

TEST_F(WarmStarts, TheFirstAnswerIsThatOfTheOptimisedPlan) {
  const Outcome before = optimised(layers(1), options());
  ASSERT_GT(before.generated, 0);
  EXPECT_FALSE(before.status.cache.found);
  EXPECT_GT(before.status.cache.bytes_written, 0);
  const Outcome after = first(layers(1), options());
  EXPECT_TRUE(after.status.cache.found);
  EXPECT_TRUE(after.status.cache.settled);
  EXPECT_TRUE(same_bits(before, after));
  EXPECT_EQ(after.status.worker_starts, 0);
  EXPECT_GT(after.generated, 0);
  for (const OptimizedKernel& kernel : after.status.kernels) {
    if (kernel.code_bytes == 0) continue;
    EXPECT_TRUE(kernel.from_cache);
    EXPECT_TRUE(kernel.proof.starts_with("proved")) << kernel.proof;
    EXPECT_TRUE(kernel.gate.starts_with("tested")) << kernel.gate;
  }
}

TEST_F(WarmStarts, ThePlanIsThereBeforeTheFirstRun) {
  const ModelMaker model = layers(1, ir::Dim::symbol("rows"));
  const Outcome before = optimised(model, options());
  const auto session = model.session(options());
  const auto plan = session->current_plan({{64, 96}});
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->frames(), 1U);
  EXPECT_GT(generated_steps(*plan), 0);
  EXPECT_TRUE(same_bits(before, outcome(*session, 64)));
  EXPECT_EQ(session->current_plan({{64, 96}}), plan);
  SessionOptions cold = options();
  cold.use_cache = false;
  EXPECT_EQ(model.session(cold)->current_plan({{64, 96}}), nullptr);
}

TEST_F(WarmStarts, WhereShapesVaryThePlanIsBuiltForThoseThatCome) {
  const ModelMaker model = layers(1, ir::Dim::symbol("rows"));
  {
    const auto session = model.session(options());
    for (const int64_t rows : {64, 32}) {
      for (int k = 0; k < 40; ++k) session->run({input(rows)});
      EXPECT_TRUE(session->wait_for_optimizer(patience));
    }
    session->freeze();
  }
  // One that meets a single shape changes nothing.
  for (const int64_t rows : {32, 64}) {
    const auto session = model.session(options());
    EXPECT_TRUE(session->optimizer_status().cache.found);
    for (const int64_t other : {32, 64}) EXPECT_EQ(session->current_plan({{other, 96}}), nullptr) << other;
    EXPECT_GT(outcome(*session, rows).generated, 0);
  }
}

TEST_F(WarmStarts, OtherWeightsGetNothingThatWasMadeOfTheOldOnes) {
  optimised(layers(1), options());
  const Outcome other = first(layers(2), options());
  expect_cold(other);
  SessionOptions none = options();
  none.use_cache = false;
  EXPECT_TRUE(same_bits(other, first(layers(2), none)));
}

TEST_F(WarmStarts, ModelsShareKernels) {
  optimised(layers(1), options());
  const Outcome other = optimised(layers(2), options());
  int from_cache = 0;
  for (const OptimizedKernel& kernel : other.status.kernels) from_cache += kernel.from_cache ? 1 : 0;
  EXPECT_GT(from_cache, 0);
  SessionOptions none = options();
  none.use_cache = false;
  expect_close(other, optimised(layers(2), none));
}

TEST_F(WarmStarts, OtherThreadsAndOtherPromisesAreOtherPlans) {
  optimised(layers(1), options());
  SessionOptions other = options();
  other.threads = 2;
  expect_cold(first(layers(1), other));
  other = options();
  other.deterministic = true;
  expect_cold(first(layers(1), other));
}

TEST_F(WarmStarts, WhatIsMadeForAnotherInstructionSetIsNotTaken) {
  const Outcome before = optimised(layers(1), options());
  ASSERT_GT(before.generated, 0);
  const Knobs restricted({{"AXRUN_ISA", "avx2"}});
  const Outcome after = first(layers(1), options());
  expect_cold(after);
  EXPECT_FALSE(after.status.cache.refused.empty());
  expect_close(before, after);
}

TEST_F(WarmStarts, ASessionThatWasStoppedIsGoneOnWith) {
  {
    const auto session = layers(1).session(options());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (session->optimizer_status().swapped == 0 && std::chrono::steady_clock::now() < end)
      session->run({input(64)});
    ASSERT_GT(session->optimizer_status().swapped, 0);
  }
  const Outcome after = optimised(layers(1), options());
  EXPECT_TRUE(after.status.cache.found);
  EXPECT_GT(after.generated, 0);
  EXPECT_TRUE(first(layers(1), options()).status.cache.settled);
}

TEST_F(WarmStarts, OtherWeightsAreTriedInTheOrderThatServedTheOldOnes) {
  const Outcome before = optimised(layers(1), options());
  EXPECT_TRUE(before.status.cache.experience.empty());
  SessionOptions other = options();
  other.threads = 2;
  const Outcome after = optimised(layers(2), other);
  EXPECT_FALSE(after.status.cache.found);
  EXPECT_FALSE(after.status.cache.experience.empty());
  EXPECT_GT(after.generated, 0);
  SessionOptions none = other;
  none.use_cache = false;
  expect_close(after, optimised(layers(2), none));
  // An order that depends on what was found would not be the same every time.
  other.deterministic = true;
  EXPECT_TRUE(optimised(layers(2), other).status.cache.experience.empty());
}

TEST_F(WarmStarts, OneRangeServesShapesThatTheFirstSessionNeverMet) {
  const ir::Dim rows = ir::Dim::symbol("rows");
  const Outcome before = optimised(layers(1, rows), options(), 64);
  ASSERT_GT(before.generated, 0);
  const Outcome same = first(layers(1, rows), options(), 64);
  EXPECT_TRUE(same.status.cache.found);
  EXPECT_TRUE(same_bits(before, same));
  SessionOptions fallback = options();
  fallback.tier = Tier::fallback;
  expect_close(first(layers(1, rows), fallback, 61), first(layers(1, rows), options(), 61));
}

TEST_F(WarmStarts, DamageIsAMiss) {
  const Outcome before = optimised(layers(1), options());
  ASSERT_GT(before.generated, 0);
  // The plans: the longest file.
  fs::path file;
  uintmax_t longest = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "weights")) {
    if (entry.file_size() > longest) file = entry.path();
    longest = std::max(longest, entry.file_size());
  }
  ASSERT_GT(longest, 4096U);
  std::string bytes(fs::file_size(file), 0);
  std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  // Everywhere but in what fills up the first page.
  std::vector<size_t> places;
  for (size_t at = 0; at < 200; at += 25) places.push_back(at);
  for (size_t at = 4096; at < bytes.size(); at += bytes.size() / 24) places.push_back(at);
  ASSERT_GT(places.size(), 20U);
  for (const size_t at : places) {
    std::string damaged = bytes;
    for (size_t k = at; k < std::min(at + 16, bytes.size()); ++k) damaged[k] ^= 0x41;
    fs::remove(file);
    std::ofstream(file, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    const Outcome after = first(layers(1), options());
    expect_cold(after);
    EXPECT_FALSE(after.status.cache.refused.empty()) << at;
    expect_close(before, after);
  }
  // Half of it, and all of it again.
  for (const size_t left : {bytes.size() / 2, size_t{4096}, size_t{100}, size_t{0}, bytes.size()}) {
    fs::remove(file);
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(left));
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    const Outcome after = first(layers(1), options());
    EXPECT_EQ(after.status.cache.found, left == bytes.size()) << left;
    EXPECT_EQ(after.status.cache.refused.empty(), left == bytes.size()) << left;
    expect_close(before, after);
  }
}

TEST_F(WarmStarts, WhatMakesNoSenseIsRejectedWhateverItsChecksumSays) {
  const Outcome before = optimised(layers(1), options());
  ASSERT_GT(before.generated, 0);
  std::string key, bytes;
  cache::Settings settings;
  settings.directory = folder_;
  cache::for_files(settings, prefix_of_plans, [&](const cache::StoredEntry& entry) {
    key = entry.key;
    bytes = entry.payload;
  });
  ASSERT_FALSE(bytes.empty());
  std::string why;
  int rejected = 0;
  for (size_t k = 0; k < 60; ++k) {
    std::string lie = bytes;
    if (k % 2 == 0)
      lie.resize(bytes.size() * k / 60);
    else
      for (size_t n = 0; n < 4; ++n) lie[std::min(k * 8 + n, lie.size() - 1)] = static_cast<char>(0xff);
    open_store(folder_.string(), why)->put_file(key, lie.size(), [&](auto file) {
      std::memcpy(file.data(), lie.data(), lie.size());
    });
    const Outcome after = first(layers(1), options());
    rejected += after.status.cache.found ? 0 : 1;
    expect_close(before, after);
  }
  EXPECT_GE(rejected, 30) << "whatever is cut off";
}

TEST_F(WarmStarts, NothingIsKeptWhereNobodyWants) {
  SessionOptions none = options();
  none.use_cache = false;
  EXPECT_FALSE(optimised(layers(1), none).status.cache.reason.empty());
  none = options();
  none.optimize = false;
  EXPECT_EQ(first(layers(1), none).generated, 0);
  EXPECT_FALSE(fs::exists(folder_));
  optimised(layers(1), options());
  const Knobs off({{"AXRUN_OPTIMIZE", "0"}});
  EXPECT_EQ(first(layers(1), options()).generated, 0);
}

TEST_F(WarmStarts, AFrozenSessionUsesWhatIsThereAndLeavesIt) {
  const Outcome before = optimised(layers(1), options());
  const auto session = layers(1).session(options());
  session->freeze();
  for (int k = 0; k < 40; ++k) session->run({input(64)});
  const Outcome after = outcome(*session, 64);
  EXPECT_TRUE(same_bits(before, after));
  EXPECT_EQ(after.status.cache.bytes_written, 0);
}

TEST(LibraryImages, SayWhichJointsWereTriedInVain) {
  Bench bench(two_steps(), 1);
  const std::shared_ptr<const Plan> plan = bench.plan();
  const auto graph = std::shared_ptr<const ir::Graph>(plan, &plan->graph());
  const std::vector<Joint> joints = joints_of(*plan, 2);
  ASSERT_EQ(joints.size(), 1U);
  SymbolicFacts symbolic(graph);
  const auto place_in = [&](KernelLibrary& library) {
    return library.place_for(symbolic.inference(*graph), facts_of(*plan), *plan, joints[0].step,
                             KernelLibrary::Role::joint);
  };
  const auto copied = [&](const KernelLibrary& library) {
    cache::Writer out;
    LibraryImage::write(out, library, {graph}, {}, false);
    auto copy = std::make_unique<KernelLibrary>(KernelLibrary::Options{});
    const auto text = std::make_shared<const std::string>(out.text());
    cache::Reader in(*text);
    EXPECT_TRUE(LibraryImage::read(in, text, *copy, {graph}, true) && in.finished());
    return copy;
  };
  KernelLibrary library({});
  const KernelLibrary::Place place = place_in(library);
  ASSERT_NE(place.entry, nullptr);
  // Nobody has judged it: the next session begins anew.
  auto copy = copied(library);
  EXPECT_EQ(copy->state(*place_in(*copy).entry), OptimizedKernel::State::waiting);
  library.refuse(*place.entry, "it cannot be proved");
  copy = copied(library);
  const KernelLibrary::Place known = place_in(*copy);
  ASSERT_NE(known.entry, nullptr);
  EXPECT_EQ(copy->key(*known.entry), library.key(*place.entry));
  EXPECT_EQ(copy->state(*known.entry), OptimizedKernel::State::refused);
  EXPECT_FALSE(copy->serves(*known.entry, known.sizes));
  EXPECT_TRUE(copy->joined_groups(*graph).empty());
}

}  // namespace
}  // namespace axrun::tests
