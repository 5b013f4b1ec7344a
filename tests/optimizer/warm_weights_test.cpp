// Sessions that map what earlier ones have packed.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "runtime/cache/survey.h"
#include "runtime/plan/plan_builder.h"
#include "runtime/warm/kept_weights.h"
#include "runtime/warm/warm_start.h"
#include "search/algebra/graph_writer.h"
#include "tests/cache/folder.h"
#include "tests/optimizer/bench.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;

/// Two products with weights that are worth a file each once they are packed.
ModelMaker products(uint64_t second) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {48, 256});
  ir::ValueId a = m.node("MatMul", {x, m.weights({256, 320}, 5)});
  a = m.node("Softmax", {a}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
  m.output(m.node("MatMul", {a, m.weights({320, 256}, second)}));
  return m;
}

class WarmWeights : public testing::Test {
 protected:
  SessionOptions options() const {
    SessionOptions options;
    options.threads = 1;
    options.cache_dir = folder_.path().string();
    return options;
  }
  struct Outcome {
    ir::Tensor result;
    OptimizerStatus status;
    size_t mapped = 0;  ///< files of packed weights
  };
  Outcome outcome(Session& session) const {
    Outcome outcome;
    outcome.result = session.run({RuntimeValue(ModelMaker::random({48, 256}, 3))})[0].tensor;
    outcome.status = session.optimizer_status();
    outcome.mapped = mapped();
    return outcome;
  }
  Outcome optimised(const ModelMaker& model) const {
    const auto session = model.session(options());
    for (int k = 0; k < 40; ++k) session->run({RuntimeValue(ModelMaker::random({48, 256}, 3))});
    EXPECT_TRUE(session->wait_for_optimizer(patience));
    session->freeze();
    return outcome(*session);
  }
  void clear() const {
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove_all(entry.path());
  }
  /// Of products(1), when both of its products are in force. Whether they are depends on times, which are no
  /// business of these tests: anew until they are.
  Outcome filled() const {
    constexpr int attempts = 10;
    Outcome outcome = optimised(products(1));
    for (int k = 1; k < attempts && files().size() != 2; ++k) {
      clear();
      outcome = optimised(products(1));
    }
    return outcome;
  }
  Outcome first(const ModelMaker& model) const { return outcome(*model.session(options())); }

  /// Packed weights of this test in this process' memory: plans are mapped, too, and small.
  size_t mapped() const {
    std::ifstream maps("/proc/self/maps");
    size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(folder_.path().string()) == std::string::npos || !line.ends_with(".weights")) continue;
      const size_t begin = std::stoull(line, nullptr, 16);
      const size_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
      count += end - begin >= KeptWeights::least_bytes ? 1 : 0;
    }
    return count;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_ / "weights")) return found;
    for (const auto& entry : fs::directory_iterator(folder_ / "weights")) {
      if (entry.file_size() >= KeptWeights::least_bytes) found.push_back(entry.path());
    }
    return found;
  }
  static bool same_bits(const Outcome& a, const Outcome& b) {
    return a.result.bytes() == b.result.bytes() &&
           std::memcmp(a.result.data(), b.result.data(), a.result.bytes()) == 0;
  }

  const Knobs knobs_{};
  const cache::TemporaryFolder folder_;
};

TEST_F(WarmWeights, AreMappedInsteadOfPackedUntilTheSessionEnds) {
  const Outcome before = filled();
  EXPECT_EQ(before.mapped, 0U);
  ASSERT_EQ(files().size(), 2U);
  const Outcome after = first(products(1));
  EXPECT_TRUE(after.status.cache.settled);
  EXPECT_EQ(after.mapped, 2U);
  EXPECT_EQ(after.status.prepared_bytes, before.status.prepared_bytes);
  EXPECT_TRUE(same_bits(before, after));
  EXPECT_EQ(after.status.cache.bytes_written, 0);
  EXPECT_EQ(mapped(), 0U);
}

/// Made again of the model's constants, they are what is stored, or what is stored is a lie with the right
/// checksum.
TEST_F(WarmWeights, ArePackedAgainAndCompared) {
  filled();
  ASSERT_EQ(files().size(), 2U);
  SessionOptions anew = options();
  anew.packs_anew = true;
  const auto compared = [&] {
    const auto session = products(1).session(anew);
    session->freeze();
    session->run({RuntimeValue(ModelMaker::random({48, 256}, 3))});
    EXPECT_EQ(mapped(), 0U);
    return session->compare_packed();
  };
  EXPECT_EQ(compared().same.size(), 2U);
  EXPECT_TRUE(compared().different.empty());
  std::string why;
  const auto store = open_store(folder_.path().string(), why);
  ASSERT_NE(store, nullptr) << why;
  cache::Settings settings;
  settings.directory = folder_.path();
  bool done = false;
  cache::for_files(settings, KeptWeights::prefix, [&](const cache::StoredEntry& entry) {
    if (std::exchange(done, true)) return;
    EXPECT_NE(store->put_file(entry.key, entry.payload.size(),
                              [&](std::span<std::byte> file) {
                                std::memcpy(file.data(), entry.payload.data(), file.size());
                                file[file.size() / 2] ^= std::byte{1};
                              }),
              nullptr);
  });
  EXPECT_EQ(compared().same.size(), 1U);
  EXPECT_EQ(compared().different.size(), 1U);
}

TEST_F(WarmWeights, OfAConstantThatTwoModelsHaveThereIsOneFile) {
  Outcome other, warm;
  for (int attempt = 0; attempt < 10 && warm.mapped != 2; ++attempt) {
    clear();
    filled();
    ASSERT_EQ(files().size(), 2U);
    other = optimised(products(2));
    EXPECT_LE(files().size(), 4U);
    warm = first(products(2));
  }
  EXPECT_EQ(warm.mapped, 2U);
  EXPECT_TRUE(same_bits(other, warm));
}

TEST_F(WarmWeights, WhatIsDamagedOrGoneIsPackedAnewAndKeptAgain) {
  const Outcome before = filled();
  for (const bool damaged : {true, false}) {
    const std::vector<fs::path> present = files();
    ASSERT_EQ(present.size(), 2U);
    for (const fs::path& file : present) {
      if (!damaged) {
        fs::remove(file);
        continue;
      }
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(20'000);
      bytes.write("damaged", 7);
    }
    const Outcome without = first(products(1));
    EXPECT_TRUE(same_bits(before, without));
    EXPECT_EQ(without.mapped, 0U);
    EXPECT_EQ(without.status.cache.refused.empty(), !damaged);
    // The next one finds that there is something left to do.
    EXPECT_TRUE(same_bits(before, optimised(products(1))));
    const Outcome again = first(products(1));
    EXPECT_TRUE(same_bits(before, again));
    EXPECT_EQ(again.mapped, 2U);
    EXPECT_TRUE(again.status.cache.settled);
  }
}

TEST_F(WarmWeights, AreMappedFromALayerThatNobodyWritesTo) {
  const Outcome before = filled();
  const cache::TemporaryFolder own;
  const Knobs layers({{"AXRUN_CACHE_LAYERS", folder_.path().c_str()}});
  SessionOptions options = this->options();
  options.cache_dir = own.path().string();
  const auto session = products(1).session(options);
  const Outcome after = outcome(*session);
  EXPECT_EQ(after.mapped, 2U);
  EXPECT_TRUE(same_bits(before, after));
  EXPECT_FALSE(fs::exists(own / "weights"));
}

TEST_F(WarmWeights, OfPlansThatAreMadeAsideAreThereInTheFirstRun) {
  const Outcome before = filled();
  SessionOptions options = this->options();
  options.plans_aside = true;
  for (int k = 0; k < 20; ++k) {
    const auto session = products(1).session(options);
    if (k % 2 == 0) continue;  // nobody runs it
    const Outcome after = outcome(*session);
    EXPECT_EQ(after.mapped, 2U);
    EXPECT_TRUE(same_bits(before, after));
  }
  EXPECT_EQ(mapped(), 0U);
}

/// A layer with weights for its input and its state, and a product.
ModelMaker precompiled_model() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {4, 2, 128});
  const ir::ValueId y = m.node("LSTM", {x, m.weights({1, 512, 128}, 5), m.weights({1, 512, 128}, 6)},
                               {{"hidden_size", ModelMaker::attribute(int64_t{128})}});
  const ir::ValueId flat = m.node("Reshape", {y, m.integers({8, 128})});
  m.output(m.node("MatMul", {flat, m.weights({128, 256}, 7)}));
  return m;
}

/// What one process has: the model's plan with precompiled kernels alone.
class PrecompiledPlan {
 public:
  PrecompiledPlan(const ModelMaker& model, std::shared_ptr<cache::Store> store)
      : session_(model.session(one_thread(Tier::fallback))),
        warm_(std::move(store), session_->model().graph, "1 threads", *pool_),
        layouts_(library_.mutex()) {
    warm_.load(library_, layouts_, packs_.get(), search::algebra::rewritten);
    const std::shared_ptr<const ir::Graph> graph = session_->model().graph;
    PlanOptions how;
    how.packs = packs_;
    ir::ValueFact fact;
    fact.type = ir::ElementType::f32;
    fact.dims = ir::to_dims(input_.shape());
    plans_.publish({input_.shape()}, build_plan(graph, graph->inputs, {fact}, how));
  }
  void leave() {
    warm_.save(library_, layouts_, plans_, true);
    warm_.keep_weights(library_, packs_.get(), layouts_, plans_, std::chrono::seconds(10));
  }
  ir::Tensor answer() {
    std::vector<RuntimeValue> results(1);
    plans_.current({input_.shape()})->run({RuntimeValue(input_)}, results, {*pool_});
    return results[0].tensor.clone();
  }
  size_t packed_bytes() const { return packs_->bytes(); }

 private:
  const ir::Tensor input_ = ModelMaker::random({4, 2, 128}, 3);
  const std::unique_ptr<ThreadPool> pool_ = ThreadPool::make(1);
  std::unique_ptr<Session> session_;
  const std::shared_ptr<PackCache> packs_ = std::make_shared<PackCache>();
  KernelLibrary library_{KernelLibrary::Options{false, false}};
  WarmStart warm_;
  ChosenLayouts layouts_;
  PlanTable plans_{4};
};

TEST_F(WarmWeights, OfPrecompiledKernelsAreMappedToo) {
  std::string why;
  const auto open = [&] { return open_store(folder_.path().string(), why); };
  ir::Tensor before;
  size_t bytes = 0;
  {
    PrecompiledPlan plan(precompiled_model(), open());
    EXPECT_EQ(mapped(), 0U);
    before = plan.answer();
    bytes = plan.packed_bytes();
    plan.leave();
  }
  EXPECT_EQ(files().size(), 3U);  // of the layer's input and its state, of the product
  PrecompiledPlan next(precompiled_model(), open());
  EXPECT_EQ(mapped(), 3U);
  EXPECT_EQ(next.packed_bytes(), bytes);
  const ir::Tensor after = next.answer();
  ASSERT_EQ(after.bytes(), before.bytes());
  EXPECT_EQ(std::memcmp(after.data(), before.data(), before.bytes()), 0);
}

}  // namespace
}  // namespace axrun::tests
