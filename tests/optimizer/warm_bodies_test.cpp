// Plans of bodies, and of what follows once a run knows shapes, in sessions that start from what earlier ones
// have left.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "runtime/cache/survey.h"
#include "runtime/plan/nested_forms.h"
#include "runtime/plan/signature.h"
#include "runtime/warm/nested_image.h"
#include "runtime/warm/warm_keys.h"
#include "runtime/warm/warm_start.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/control_models.h"
#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;

/// Nested plans, all the way down.
std::vector<std::shared_ptr<const Plan>> nested_in(const Plan& plan) {
  std::vector<std::shared_ptr<const Plan>> all;
  for (const NestedPlan& one : plan.nested()) {
    all.push_back(one.plan);
    for (auto& inside : nested_in(*one.plan)) all.push_back(std::move(inside));
  }
  return all;
}

class WarmBodies : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / ("axrun_bodies_" + test + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  SessionOptions options() const {
    SessionOptions options;
    options.threads = 1;
    options.cache_dir = folder_.string();
    return options;
  }
  static std::vector<ir::Shape> shapes_of(const Values& values) {
    std::vector<ir::Shape> shapes;
    for (const RuntimeValue& value : values) shapes.push_back(value.tensor.shape());
    return shapes;
  }
  /// Runs on what `inputs` gives, run after run, until the optimiser has nothing left to do.
  void fill(const ModelMaker& model, const std::function<Values(int run)>& inputs) const {
    const auto session = model.session(options());
    for (int run = 0; run < 40; ++run) session->run(inputs(run));
    EXPECT_TRUE(session->wait_for_optimizer(patience));
    session->freeze();
    EXPECT_GT(session->optimizer_status().cache.bytes_written, 0);
  }
  void fill(const ModelMaker& model, const Values& inputs) const {
    fill(model, [&](int) { return inputs; });
  }
  /// The plan that a session has before its first run; null where it has none.
  static std::shared_ptr<const Plan> plan_of(Session& session, const Values& inputs) {
    return session.current_plan(shapes_of(inputs));
  }
  /// A session that starts now has so many nested plans, none of which the first run builds.
  void expect_ready(const ModelMaker& model, const Values& inputs, size_t count) const {
    const auto session = model.session(options());
    const auto plan = plan_of(*session, inputs);
    ASSERT_NE(plan, nullptr);
    const auto before = nested_in(*plan);
    EXPECT_EQ(before.size(), count);
    for (const auto& one : before) EXPECT_EQ(one->frames(), 1U);
    expect_answer(*session, model, inputs);
    EXPECT_EQ(plan_of(*session, inputs), plan);
    EXPECT_EQ(sorted(nested_in(*plan)), sorted(before)) << "the first run builds nothing";
    for (const auto& one : before) EXPECT_EQ(one->frames(), 1U);
  }
  static std::vector<std::shared_ptr<const Plan>> sorted(std::vector<std::shared_ptr<const Plan>> plans) {
    std::sort(plans.begin(), plans.end());
    return plans;
  }
  static void expect_answer(Session& session, const ModelMaker& model, const Values& inputs) {
    SessionOptions plain;
    plain.threads = 1;
    plain.tier = Tier::fallback;
    const ir::Tensor want = model.session(plain)->run(inputs)[0].tensor.clone();
    const ir::Tensor got = session.run(inputs)[0].tensor;
    ASSERT_EQ(got.shape(), want.shape());
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-5) << i;
  }

  const Knobs knobs_{};
  fs::path folder_;
};

TEST_F(WarmBodies, TheBranchThatWasTakenIsThere) {
  const ModelMaker model = choosing_model(6);
  fill(model, choosing(true, 6));
  expect_ready(model, choosing(true, 6), 1);
  // The other one is built by the run that takes it.
  const auto session = model.session(options());
  expect_answer(*session, model, choosing(false, 6));
  EXPECT_EQ(nested_in(*plan_of(*session, choosing(false, 6))).size(), 2U);
}

TEST_F(WarmBodies, BranchesThatAreTakenInTurnAreThere) {
  const ModelMaker model = choosing_model(6);
  fill(model, [](int run) { return choosing(run % 2 == 0, 6); });
  expect_ready(model, choosing(true, 6), 2);
}

TEST_F(WarmBodies, WhatFewRunsNeedIsLeftToThem) {
  const ModelMaker model = choosing_model(6);
  fill(model, [](int run) { return choosing(run % 8 != 3, 6); });
  expect_ready(model, choosing(true, 6), 1);
}

TEST_F(WarmBodies, ABodyOfALoopIsThere) {
  fill(looping_model(), looping(20));
  expect_ready(looping_model(), looping(20), 1);
}

TEST_F(WarmBodies, ABodyOfAScanIsThere) {
  fill(scanning_model(), scanning());
  expect_ready(scanning_model(), scanning(), 1);
}

TEST_F(WarmBodies, BodiesInsideOfBodiesAreThere) {
  fill(choosing_loop(), choosing_in_turn(6));
  expect_ready(choosing_loop(), choosing_in_turn(6), 3);
}

TEST_F(WarmBodies, WhatFollowsOnceARunKnowsShapesIsThere) {
  fill(slicing_model(), slicing(3));
  expect_ready(slicing_model(), slicing(3), 1);
}

TEST_F(WarmBodies, OtherWeightsOfABodyAreAnotherModel) {
  fill(choosing_loop(1), choosing_in_turn(6));
  const auto session = choosing_loop(2).session(options());
  EXPECT_FALSE(session->optimizer_status().cache.found);
  EXPECT_EQ(plan_of(*session, choosing_in_turn(6)), nullptr);
  expect_answer(*session, choosing_loop(2), choosing_in_turn(6));
}

TEST_F(WarmBodies, WhatIsKnownOutlivesSessionsThatRunNothing) {
  fill(looping_model(), looping(20));
  {
    // Frozen at once: what it would leave is what it has found.
    const auto session = looping_model().session(options());
    session->freeze();
  }
  expect_ready(looping_model(), looping(20), 1);
}

TEST_F(WarmBodies, WhatNoRunNeedsChangesNoAnswer) {
  const ModelMaker model = looping_model();
  fill(model, looping(20));
  const auto session = model.session(options());
  const auto plan = plan_of(*session, looping(20));
  ASSERT_NE(plan, nullptr);
  // Of states of other shapes: that there can be no such plan is left to the runs that want one.
  std::vector<NestedForm> forms = nested_forms(*plan);
  ASSERT_EQ(forms.size(), 1U);
  for (const ir::Shape& shape : {ir::Shape{8, 9}, ir::Shape{8}, ir::Shape{}, ir::Shape{1, 8}}) {
    forms[0].key.clear();
    append_signature(forms[0].key, RuntimeValue(ir::Tensor::scalar(ElementType::i64, 0)));
    append_signature(forms[0].key, RuntimeValue(ir::Tensor::scalar(ElementType::boolean, 1)));
    append_signature(forms[0].key, RuntimeValue(ir::Tensor::allocate(ElementType::f32, shape)));
    plan->prepare_nested(forms);
  }
  EXPECT_EQ(plan->nested().size(), 3U) << "with [8] and [1, 8] there may be one";
  expect_answer(*session, model, looping(20));
}

TEST_F(WarmBodies, WhatMakesNoSenseIsRejected) {
  const ModelMaker model = choosing_loop();
  const Values inputs = choosing_in_turn(6);
  fill(model, inputs);
  std::string key, bytes, nested;
  {
    const auto session = model.session(options());
    nested = write_nested(nested_forms(*plan_of(*session, inputs)), *session->model().graph);
  }
  cache::Settings settings;
  settings.directory = folder_;
  cache::for_files(settings, prefix_of_plans, [&](const cache::StoredEntry& entry) {
    key = entry.key;
    bytes = entry.payload;
  });
  const size_t at = bytes.find(nested);
  ASSERT_NE(at, std::string::npos);
  std::string why;
  int rejected = 0, tried = 0;
  for (size_t k = 0; k < nested.size(); k += 5) {
    std::string lie = bytes;
    for (size_t n = 0; n < 3 && k + n < nested.size(); ++n) lie[at + k + n] ^= '\x55';
    open_store(folder_.string(), why)->put_file(key, lie.size(), [&](auto file) {
      std::memcpy(file.data(), lie.data(), lie.size());
    });
    const auto session = model.session(options());
    const OptimizerStatus status = session->optimizer_status();
    ++tried;
    rejected += status.cache.found ? 0 : 1;
    EXPECT_EQ(status.cache.found, status.cache.refused.empty()) << k;
    expect_answer(*session, model, inputs);
  }
  EXPECT_GT(tried, 20);
  EXPECT_GT(2 * rejected, tried);
}

// Images
// -------------------------------------------------------------------------------------------------------------

class NestedImages : public testing::Test {
 protected:
  NestedImages() {
    SessionOptions plain;
    plain.threads = 1;
    plain.tier = Tier::fallback;
    session_ = choosing_loop().session(plain);
    session_->run(inputs_);
    forms_ = nested_forms(*session_->current_plan({{}, {6, 24}}));
  }
  const ir::Graph& graph() const { return *session_->model().graph; }
  static void expect_same(const std::vector<NestedForm>& a, const std::vector<NestedForm>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k) {
      EXPECT_EQ(a[k].node, b[k].node);
      EXPECT_EQ(a[k].body, b[k].body);
      EXPECT_EQ(a[k].live_in, b[k].live_in);
      EXPECT_EQ(a[k].key, b[k].key);
      expect_same(a[k].inside, b[k].inside);
    }
  }

  const Values inputs_ = choosing_in_turn(6);
  std::unique_ptr<Session> session_;
  std::vector<NestedForm> forms_;
};

TEST_F(NestedImages, AreReadAsTheyWereWritten) {
  ASSERT_EQ(forms_.size(), 1U);
  ASSERT_EQ(forms_[0].inside.size(), 2U);
  const std::string bytes = write_nested(forms_, graph());
  const auto read = read_nested(bytes, graph());
  ASSERT_TRUE(read.has_value());
  expect_same(*read, forms_);
  EXPECT_EQ(write_nested(*read, graph()), bytes);
}

TEST_F(NestedImages, AreReadWholeOrNotAtAll) {
  const std::string bytes = write_nested(forms_, graph());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(read_nested(bytes.substr(0, length), graph()).has_value()) << length;
  EXPECT_FALSE(read_nested(bytes + '\0', graph()).has_value());
}

TEST_F(NestedImages, OfShapesThatDoNotFitAreRejected) {
  ModelMaker declared = choosing_loop();  // its body says what it takes
  const auto bytes_for = [&](const ir::Tensor& state) {
    std::vector<NestedForm> forms = forms_;
    forms[0].key.clear();
    append_signature(forms[0].key, RuntimeValue(ir::Tensor::scalar(ElementType::i64, 0)));
    append_signature(forms[0].key, RuntimeValue(ir::Tensor::scalar(ElementType::boolean, 1)));
    append_signature(forms[0].key, RuntimeValue(state));
    forms[0].inside.clear();
    return write_nested(forms, declared.graph());
  };
  const auto read = [&](const std::string& bytes) { return read_nested(bytes, declared.graph()); };
  std::string bytes = bytes_for(ir::Tensor::allocate(ElementType::f32, {6, 24}));
  ASSERT_TRUE(read(bytes).has_value());
  EXPECT_EQ(read(bytes)->size(), 1U);
  const std::string dims("\6\0\0\0\0\0\0\0\x18\0\0\0\0\0\0\0", 16);
  const size_t at = bytes.find(dims);
  ASSERT_NE(at, std::string::npos);
  for (const char columns : {'\x19', '\0'}) {
    bytes[at + 8] = columns;
    EXPECT_FALSE(read(bytes).has_value());
  }
  // What does not fit is not written, either.
  const auto none = [&](const std::string& written) { return read(written) && read(written)->empty(); };
  EXPECT_TRUE(none(bytes_for(ir::Tensor::allocate(ElementType::f32, {6, 25}))));
  EXPECT_TRUE(none(bytes_for(ir::Tensor::allocate(ElementType::f32, {6, 24, 1}))));
  EXPECT_TRUE(none(bytes_for(ir::Tensor::allocate(ElementType::f64, {6, 24}))));
}

TEST_F(NestedImages, HoldWhatAtLeastEverySecondRunNeeded) {
  const auto written = [&](const Uses& uses) {
    std::vector<NestedForm> forms = forms_;
    forms[0].uses = uses;
    return read_nested(write_nested(forms, graph()), graph())->size();
  };
  EXPECT_EQ(written({0, 0}), 1U) << "nobody has counted";
  EXPECT_EQ(written({1, 1}), 1U);
  EXPECT_EQ(written({1, 2}), 1U);
  EXPECT_EQ(written({1, 3}), 0U);
  EXPECT_EQ(written({99, 200}), 0U);
}

TEST_F(NestedImages, HoldNoMoreThanAreMadeAtLoad) {
  std::vector<NestedForm> many(200, forms_[0]);
  const auto read = read_nested(write_nested(many, graph()), graph());
  ASSERT_TRUE(read.has_value());
  EXPECT_LE(read->size(), 64U);
}

}  // namespace
}  // namespace axrun::tests
