// Sessions that start with a graph that an earlier one has rewritten by identities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "ir/error.h"
#include "runtime/host_target.h"
#include "runtime/plan/plan_builder.h"
#include "runtime/session.h"
#include "runtime/warm/algebra_image.h"
#include "runtime/warm/graph_image.h"
#include "runtime/warm/model_identity.h"
#include "runtime/warm/recheck.h"
#include "runtime/warm/warm_start.h"
#include "search/algebra/graph_writer.h"
#include "search/algebra/rule_store.h"
#include "tests/cache/folder.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/optimizer/same_graph.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ValueId;

/// A product with a wide matrix and then with a narrow one, which together are narrow.
ModelMaker low_rank(const ir::Dim& rows, uint64_t seed = 1) {
  ModelMaker m;
  const ValueId x = m.input("x", ir::ElementType::f32, {rows, 256});
  const ValueId wide = m.node("MatMul", {x, m.weights({256, 384}, seed)});
  m.output(m.node("Relu", {m.node("MatMul", {wide, m.weights({384, 16}, seed + 1)})}));
  return m;
}

Values rows(int64_t count) { return {RuntimeValue(ModelMaker::random({count, 256}, 9))}; }

void expect_near(const ir::Tensor& got, const ir::Tensor& want) {
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t k = 0; k < want.size(); ++k) ASSERT_NEAR(got.get_real(k), want.get_real(k), 2e-3) << k;
}

class WarmAlgebra : public testing::Test {
 protected:
  SessionOptions options(Tier tier = Tier::automatic) const {
    SessionOptions options;
    options.threads = 1;
    options.tier = tier;
    options.cache_dir = folder_.path().string();
    return options;
  }
  ir::Tensor fallback_answer(const ModelMaker& model, const Values& inputs) const {
    return model.session(options(Tier::fallback))->run(inputs)[0].tensor.clone();
  }
  /// The answer of the plan that a first session ends with.
  ir::Tensor optimised(const ModelMaker& model, const Values& inputs) const {
    const auto session = model.session(options());
    for (int k = 0; k < 3; ++k) {
      session->run(inputs);
      EXPECT_TRUE(session->wait_for_optimizer(patience));
    }
    EXPECT_EQ(session->optimizer_status().algebra.outcome, "rewritten");
    session->freeze();
    return session->run(inputs)[0].tensor.clone();
  }
  /// What such a session chooses, by itself.
  std::vector<std::shared_ptr<const ChosenLayouts::Choice>> chosen(const ModelMaker& model,
                                                                   const Values& inputs) const {
    optimised(model, inputs);
    std::string why;
    const auto session = model.session(options(Tier::fallback));
    const auto pool = ThreadPool::make(1);
    WarmStart warm(open_store(folder_.path().string(), why), session->model().graph, "1 threads", *pool);
    KernelLibrary library(KernelLibrary::Options{false, false});
    ChosenLayouts layouts(library.mutex());
    warm.load(library, layouts, nullptr, search::algebra::rewritten);
    return layouts.all();
  }

  const Knobs knobs_{{"AXRUN_CACHE", "on"}};
  const cache::TemporaryFolder folder_;
};

TEST_F(WarmAlgebra, TheFirstAnswerIsThatOfTheRewrittenPlanAndNothingIsLeft) {
  const ModelMaker model = low_rank(32);
  const ir::Tensor before = optimised(model, rows(32));
  expect_near(before, fallback_answer(model, rows(32)));
  const auto next = model.session(options());
  const ir::Tensor first = next->run(rows(32))[0].tensor.clone();
  EXPECT_EQ(std::memcmp(first.data(), before.data(), before.bytes()), 0);
  EXPECT_EQ(products_in(*next->current_plan({{32, 256}})), 1);
  EXPECT_TRUE(next->wait_for_optimizer(patience));
  const OptimizerStatus status = next->optimizer_status();
  EXPECT_TRUE(status.cache.found);
  EXPECT_TRUE(status.cache.settled);
  EXPECT_EQ(status.worker_starts, 0);
  EXPECT_EQ(status.cache.bytes_written, 0);
  // What was done, and by which rules, is known.
  EXPECT_EQ(status.algebra.outcome, "rewritten");
  EXPECT_GT(status.algebra.speedup, 1);
  ASSERT_FALSE(status.algebra.windows.empty());
  ASSERT_FALSE(status.algebra.windows[0].rules.empty());
  EXPECT_EQ(status.algebra.windows[0].rules[0].equality, "proved");
  EXPECT_FALSE(status.algebra.windows[0].steps.empty());
}

TEST_F(WarmAlgebra, OfOtherShapesItIsTheModels) {
  const ModelMaker model = low_rank(ir::Dim::symbol("rows"));
  optimised(model, rows(32));
  const auto next = model.session(options());
  for (const int64_t count : {17, 32}) {
    expect_near(next->run(rows(count))[0].tensor, fallback_answer(model, rows(count)));
    EXPECT_EQ(products_in(*next->current_plan({{count, 256}})), count == 32 ? 1 : 2);
  }
}

TEST_F(WarmAlgebra, OtherWeightsGetNothing) {
  optimised(low_rank(32), rows(32));
  const ModelMaker other = low_rank(32, 7);
  const auto next = other.session(options());
  expect_near(next->run(rows(32))[0].tensor, fallback_answer(other, rows(32)));
  EXPECT_EQ(products_in(*next->current_plan({{32, 256}})), 2);
}

/// What is read is never executed unless it leads to the graph that was written.
TEST_F(WarmAlgebra, DamagedOnesAreRefused) {
  const ModelMaker model = low_rank(32);
  const auto choices = chosen(model, rows(32));
  ASSERT_EQ(choices.size(), 1U);
  const std::string bytes = write_rewrites(choices);
  const auto session = model.session(options(Tier::fallback));
  const ir::Graph& graph = *session->model().graph;
  const auto pool = ThreadPool::make(1);
  const auto whole = read_rewrites(bytes, graph, *pool, search::algebra::rewritten);
  ASSERT_TRUE(whole.has_value());
  ASSERT_EQ(whole->choices.size(), 1U);
  EXPECT_EQ(whole->choices[0].graph->nodes.size(), choices[0]->graph->nodes.size());
  EXPECT_EQ(write_rewrites({std::make_shared<const ChosenLayouts::Choice>(whole->choices[0])}), bytes);
  const std::string text = choices[0]->algebra->windows[0].text;
  const size_t of_window = bytes.find(text);
  ASSERT_NE(of_window, std::string::npos);
  int refused = 0;
  for (size_t at = 0; at < of_window + text.size() + 60; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 2);
    const auto read = read_rewrites(damaged, graph, *pool, search::algebra::rewritten);
    if (!read) ++refused;
    for (size_t k = 0; read && k < read->choices.size(); ++k)
      EXPECT_EQ(read->choices[k].graph->nodes.size(), choices[0]->graph->nodes.size());
  }
  EXPECT_GT(refused, static_cast<int>(text.size()) / 2);
  for (size_t length = 0; length < bytes.size(); length += 7)
    EXPECT_FALSE(
        read_rewrites(bytes.substr(0, length), graph, *pool, search::algebra::rewritten).has_value());
}

std::shared_ptr<const cache::MappedFile> file_of(cache::Store& store, const std::string& bytes) {
  return store.put_file("image", bytes.size(), [&](std::span<std::byte> file) {
    std::memcpy(file.data(), bytes.data(), bytes.size());
  });
}

std::shared_ptr<const ir::Graph> kept_graph(cache::Store& store, const std::string& bytes,
                                            const ir::Graph& from) {
  const auto file = file_of(store, bytes);
  return read_graph(file->bytes(), file, from);
}

/// Nothing is computed when the next process loads it: constants lie in the file.
TEST_F(WarmAlgebra, GraphsAreKeptAsTheyAre) {
  const ModelMaker model = low_rank(32);
  optimised(model, rows(32));
  const auto session = model.session(options(Tier::fallback));
  const auto pool = ThreadPool::make(1);
  std::string why;
  const auto load = [&](std::vector<FoldedNode>& folded) {
    WarmStart warm(open_store(folder_.path().string(), why), session->model().graph, "1 threads", *pool);
    KernelLibrary library(KernelLibrary::Options{false, false});
    ChosenLayouts layouts(library.mutex());
    folded = warm.load(library, layouts, nullptr, search::algebra::rewritten);
    const auto all = layouts.all();
    return all.empty() ? nullptr : all[0]->graph;
  };
  std::vector<FoldedNode> folded;
  const auto kept = load(folded);
  ASSERT_NE(kept, nullptr);
  EXPECT_TRUE(folded.empty());
  // Without the file, by the recipe.
  const auto recipe = [&] {
    const auto bytes = write_rewrites(chosen(model, rows(32)));
    return read_rewrites(bytes, *session->model().graph, *pool, search::algebra::rewritten);
  }();
  ASSERT_TRUE(recipe.has_value());
  EXPECT_FALSE(recipe->folded.empty());
  expect_same_graph(*kept, *recipe->choices[0].graph);
}

TEST_F(WarmAlgebra, DamagedGraphsAreRefused) {
  const ModelMaker model = low_rank(32);
  const auto choices = chosen(model, rows(32));
  ASSERT_EQ(choices.size(), 1U);
  const auto session = model.session(options(Tier::fallback));
  const ir::Graph& from = *session->model().graph;
  const auto image = image_of(*choices[0]->graph, from);
  ASSERT_TRUE(image.has_value());
  ASSERT_FALSE(image->constants.empty());
  std::string why;
  const auto store = open_store(folder_.path().string(), why);
  const std::string bytes = image->bytes_in_one();
  const auto whole = kept_graph(*store, bytes, from);
  ASSERT_NE(whole, nullptr);
  expect_same_graph(*whole, *choices[0]->graph);
  int refused = 0;
  for (size_t at = 0; at < image->text.size() + 4; ++at) {
    for (const char bits : {1, 2, 64, -1}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ bits);
      const auto read = kept_graph(*store, damaged, from);
      if (read == nullptr) ++refused;
      for (size_t n = 0; read && n < read->nodes.size(); ++n)
        for (const ir::ValueId id : ir::reads_of(read->nodes[n]))
          ASSERT_LT(static_cast<size_t>(id), read->values.size());
    }
  }
  EXPECT_GT(refused, static_cast<int>(image->text.size()));
  for (size_t length = 0; length < bytes.size(); length += 97)
    EXPECT_EQ(kept_graph(*store, bytes.substr(0, length), from), nullptr) << length;
}

TEST_F(WarmAlgebra, IsProvedAgain) {
  const auto choices = chosen(low_rank(32), rows(32));
  ASSERT_EQ(choices.size(), 1U);
  Rechecker rechecker("", "", host_target(), {});
  const auto read = rewrites_in(write_rewrites(choices));
  ASSERT_TRUE(read.has_value());
  AlgebraRecipe recipe = read->front();
  for (const RecheckedWindow& window : rechecker.check(recipe)) {
    EXPECT_EQ(window.outcome, Recheck::right) << window.reason;
    EXPECT_FALSE(window.rules.empty());
  }
  // Without what leads there, whatever the record says.
  AlgebraRecipe without = recipe;
  for (auto& window : without.report.windows) window.rules.clear();
  EXPECT_EQ(rechecker.check(without)[0].outcome, Recheck::unknown);
  AlgebraRecipe missing = recipe;
  missing.rules.clear();
  EXPECT_EQ(rechecker.check(missing)[0].outcome, Recheck::damaged);
  // A window that is another one than the rules lead to: its operands the other way round.
  AlgebraRecipe other = recipe;
  std::string& text = other.windows[0].text;
  const size_t from = text.find("\nfrom ");
  ASSERT_NE(from, std::string::npos);
  text = "leaf f32[32, 16]\n" + std::string("leaf f32[32, 16]\nfrom 0\nto 1\n");
  EXPECT_EQ(rechecker.check(other)[0].outcome, Recheck::unknown);
}

}  // namespace
}  // namespace axrun::tests
