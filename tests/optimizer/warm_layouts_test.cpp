// Sessions that start with values laid out as an earlier one has chosen.
#include <gtest/gtest.h>

#include <cstring>

#include "ir/error.h"
#include "runtime/warm/layout_image.h"
#include "runtime/warm/warm_start.h"
#include "tests/cache/folder.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/bench.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using ir::ValueId;

ValueId biased_convolution(ModelMaker& m, ValueId x, int64_t from, int64_t to, int64_t window,
                           uint64_t seed) {
  const int64_t edge = window / 2;
  return m.node("Conv", {x, m.weights({to, from, window, window}, seed), m.weights({to}, seed + 1)},
                {{"kernel_shape", ModelMaker::attribute(std::vector<int64_t>{window, window})},
                 {"pads", ModelMaker::attribute(std::vector<int64_t>{edge, edge, edge, edge})}});
}

/// Windows, a residual, a Concat of channels; some of its packed weights are worth a file.
ModelMaker windows(const ir::Dim& batch) {
  ModelMaker m;
  const ValueId x = m.input("x", ir::ElementType::f32, {batch, 3, 10, 14});
  const ValueId stem = m.node("Relu", {biased_convolution(m, x, 3, 48, 3, 1)});
  const ValueId wide = m.node("Relu", {biased_convolution(m, stem, 48, 48, 3, 3)});
  const ValueId sum = m.node("Add", {biased_convolution(m, wide, 48, 48, 1, 7), stem});
  const ValueId both = m.node("Concat", {sum, wide}, {{"axis", ModelMaker::attribute(int64_t{1})}});
  m.output(biased_convolution(m, both, 96, 5, 1, 11));
  return m;
}

Values images(int64_t batch) { return {RuntimeValue(ModelMaker::random({batch, 3, 10, 14}, 9))}; }

void expect_layouts_near(const ir::Tensor& got, const ir::Tensor& want) {
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t k = 0; k < want.size(); ++k) ASSERT_NEAR(got.get_real(k), want.get_real(k), 1e-3) << k;
}
bool same_bits(const ir::Tensor& a, const ir::Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// A process' optimiser of its own, which lays out whatever can be.
class Laying {
 public:
  Laying(const ModelMaker& model, const std::string& folder)
      : session_(model.session(one_thread(Tier::fallback))) {
    host_.graph = session_->model().graph;
    host_.plans = &plans_;
    host_.build = [this](const Values& values, std::shared_ptr<KernelSource> kernels) {
      return plan_of(host_.graph, values, std::move(kernels));
    };
    std::string why;
    const auto store = open_store(folder, why);
    EXPECT_NE(store, nullptr) << why;
    OptimizerSettings settings;
    settings.standing = Standing::ordinary;
    settings.always = true;
    settings.schedules = false;
    settings.force_layouts = true;
    optimizer_ =
        std::make_unique<Optimizer>(host_, settings, LoadTimeWork(),
                                    std::make_shared<WarmStart>(store, host_.graph, "1 threads", *pool_));
  }

  /// As a session does it.
  ir::Tensor run(const Values& inputs) {
    const PlanTable::Pinned pinned = plans_.find(inputs, [&] {
      const auto graph = optimizer_->layouts().graph_for(shapes_of(inputs));
      return plan_of(graph ? graph : host_.graph, inputs, optimizer_->library());
    });
    Values outputs(1);
    const bool wanted = optimizer_->wants(*pinned.plan);
    pinned.plan->run(inputs, outputs, {*pool_});
    wanted ? optimizer_->ran(*pinned.plan, inputs, 1) : optimizer_->answered();
    return outputs[0].tensor;
  }
  void optimise(const Values& inputs) {
    for (int k = 0; k < 3; ++k) {
      run(inputs);
      EXPECT_TRUE(optimizer_->wait(patience));
    }
  }
  void end() { optimizer_->freeze(); }
  bool is_laid_out(const Values& inputs) {
    return plans_.current(shapes_of(inputs))->graph().nodes.size() > host_.graph->nodes.size() + 2;
  }
  std::shared_ptr<const Plan> plan(const Values& inputs) { return plans_.current(shapes_of(inputs)); }
  Optimizer& optimizer() { return *optimizer_; }
  const ir::Graph& graph() const { return *host_.graph; }

 private:
  std::shared_ptr<const Plan> plan_of(const std::shared_ptr<const ir::Graph>& graph, const Values& values,
                                      std::shared_ptr<KernelSource> kernels) const {
    PlanOptions how;
    how.packs = packs_;
    how.kernels = std::move(kernels);
    ir::ValueFact fact;
    fact.type = values[0].tensor.type();
    fact.dims = ir::to_dims(values[0].tensor.shape());
    return build_plan(graph, graph->inputs, {fact}, how);
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<ThreadPool> pool_ = ThreadPool::make(1);
  std::shared_ptr<PackCache> packs_ = std::make_shared<PackCache>();
  PlanTable plans_{4};
  OptimizerHost host_;
  std::unique_ptr<Optimizer> optimizer_;
};

class WarmLayouts : public testing::Test {
 protected:
  std::string folder() const { return folder_.path().string(); }
  /// The answer of the plan that it ends with.
  ir::Tensor optimised(const ModelMaker& model, const Values& inputs) const {
    Laying first(model, folder());
    first.optimise(inputs);
    EXPECT_TRUE(first.is_laid_out(inputs)) << first.optimizer().status().layouts.outcome;
    first.end();
    return first.run(inputs).clone();
  }
  static ir::Tensor fallback_answer(const ModelMaker& model, const Values& inputs) {
    SessionOptions options;
    options.threads = 1;
    options.tier = Tier::fallback;
    return model.session(options)->run(inputs)[0].tensor.clone();
  }

  const Knobs knobs_{};
  const cache::TemporaryFolder folder_;
};

TEST_F(WarmLayouts, TheFirstAnswerIsThatOfTheLaidOutPlanAndNothingIsLeft) {
  const ModelMaker model = windows(1);
  const Values input = images(1);
  const ir::Tensor before = optimised(model, input);
  expect_layouts_near(before, fallback_answer(model, input));
  Laying next(model, folder());
  EXPECT_TRUE(same_bits(next.run(input), before));
  EXPECT_TRUE(next.is_laid_out(input));
  EXPECT_EQ(next.plan(input)->open_steps(), 0);
  EXPECT_GT(generated_steps(*next.plan(input)), 0);
  for (int k = 0; k < 20; ++k) next.run(input);
  EXPECT_TRUE(next.optimizer().wait(patience));
  const OptimizerStatus status = next.optimizer().status();
  EXPECT_TRUE(status.cache.found);
  EXPECT_TRUE(status.cache.settled);
  EXPECT_EQ(status.worker_starts, 0);
  EXPECT_EQ(status.tried, 0);
  EXPECT_EQ(status.cache.bytes_written, 0);
  // What kernels have packed for other layouts is mapped, too.
  EXPECT_TRUE(std::filesystem::exists(folder_ / "weights"));
}

TEST_F(WarmLayouts, AreThoseOfSessions) {
  const ModelMaker model = windows(1);
  const Values input = images(1);
  optimised(model, input);
  SessionOptions options;
  options.threads = 1;
  options.cache_dir = folder();
  const auto session = model.session(options);
  expect_layouts_near(session->run(input)[0].tensor, fallback_answer(model, input));
  const auto plan = session->current_plan({input[0].tensor.shape()});
  EXPECT_GT(plan->graph().nodes.size(), session->model().graph->nodes.size() + 2);
  EXPECT_TRUE(session->optimizer_status().cache.settled);
  EXPECT_EQ(session->optimizer_status().worker_starts, 0);
}

TEST_F(WarmLayouts, OfOtherShapesArePlainAndHaveTheirKernels) {
  const ModelMaker model = windows(ir::Dim::symbol("batch"));
  optimised(model, images(2));
  Laying next(model, folder());
  for (const int64_t batch : {3, 2}) {
    expect_layouts_near(next.run(images(batch)), fallback_answer(model, images(batch)));
    EXPECT_EQ(next.is_laid_out(images(batch)), batch == 2);
    EXPECT_GT(generated_steps(*next.plan(images(batch))), 0) << batch;
  }
}

TEST_F(WarmLayouts, OtherWeightsGetNothing) {
  optimised(windows(1), images(1));
  ModelMaker other = windows(1);
  for (ir::Value& value : other.graph().values) {
    if (value.constant.defined()) value.constant.as<float>()[0] += 1;
  }
  Laying next(other, folder());
  next.run(images(1));
  EXPECT_FALSE(next.is_laid_out(images(1)));
  EXPECT_FALSE(next.optimizer().status().cache.found);
}

/// Whatever the bytes say, the graph that is made of them computes what the model does.
TEST_F(WarmLayouts, DamagedOnesAreRefusedOrRight) {
  const ModelMaker model = windows(1);
  const Values input = images(1);
  Laying first(model, folder());
  first.optimise(input);
  first.end();
  const std::string bytes = write_layouts(first.optimizer().layouts().all());
  const auto whole = read_layouts(bytes, first.graph());
  ASSERT_TRUE(whole.has_value());
  ASSERT_EQ(whole->size(), 1U);
  EXPECT_EQ(whole->front().graph->nodes.size(), first.plan(input)->graph().nodes.size());
  const ir::Tensor want = fallback_answer(model, input);
  const auto pool = ThreadPool::make(1);
  int refused = 0, no_plan = 0, right = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 2, 0x80}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto read = read_layouts(damaged, first.graph());
      refused += read.has_value() ? 0 : 1;
      if (!read || read->empty()) continue;
      try {
        PlanOptions how;
        how.packs = std::make_shared<PackCache>();
        ir::ValueFact fact;
        fact.type = ir::ElementType::f32;
        fact.dims = ir::to_dims(input[0].tensor.shape());
        const auto& graph = read->front().graph;
        Values outputs(1);
        build_plan(graph, graph->inputs, {fact}, how)->run(input, outputs, {*pool});
        expect_layouts_near(outputs[0].tensor, want);
        ++right;
      } catch (const Error&) {
        ++no_plan;
      }
    }
  }
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(read_layouts(bytes.substr(0, length), first.graph()).has_value());
  EXPECT_GT(refused, 0);
  EXPECT_GT(no_plan, 0);  // a rank that is not the value's
  EXPECT_GT(right, 0);    // shapes that nobody will ask for
}

}  // namespace
}  // namespace axrun::tests
