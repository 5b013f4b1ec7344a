// Convolutions of plans computed by bilinear algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/plan/plan.h"
#include "runtime/plan/value_limits.h"
#include "runtime/session.h"
#include "search/algebra/bilinear_graph.h"
#include "tests/cache/folder.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;

constexpr double long_patience = 240;

/// Two convolutions that are read by others, of sizes that are no multiples of a tile.
ModelMaker network(const ir::Dim& batch = ir::Dim(1)) {
  const auto pads = ModelMaker::attribute(std::vector<int64_t>{1, 1, 1, 1});
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {batch, 16, 14, 15});
  ValueId a = m.node("Conv", {x, m.weights({24, 16, 3, 3}, 1), m.weights({24}, 2)}, {{"pads", pads}});
  a = m.node("Relu", {a});
  const ValueId b = m.node("Conv", {a, m.weights({24, 24, 3, 3}, 3)}, {{"pads", pads}});
  m.output(m.node("Add", {b, a}));
  return m;
}

SessionOptions options_with(bool bilinear) {
  SessionOptions options;
  options.threads = 1;
  options.bilinear = bilinear;
  options.use_cache = false;
  return options;
}

Values image(float scale = 1) {
  ir::Tensor tensor = ModelMaker::random({1, 16, 14, 15}, 9);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.as<float>()[k] *= scale;
  return {RuntimeValue(tensor)};
}

OptimizerStatus given_time(Session& session, const Values& input) {
  for (int k = 0; k < 3; ++k) session.run(input);
  EXPECT_TRUE(session.wait_for_optimizer(long_patience));
  return session.optimizer_status();
}

bool is_bilinear(Session& session) {
  return session.current_plan({{1, 16, 14, 15}})->graph().limits != nullptr;
}

/// Next to the largest value: errors of an element are not bounded by its own.
void expect_within_share(const ir::Tensor& got, const ir::Tensor& want, double share = 1e-4) {
  ASSERT_EQ(got.shape(), want.shape());
  double largest = 0;
  for (int64_t k = 0; k < want.size(); ++k) largest = std::max(largest, std::fabs(want.get_real(k)));
  for (int64_t k = 0; k < want.size(); ++k)
    ASSERT_NEAR(got.get_real(k), want.get_real(k), share * largest) << "element " << k;
}

TEST(BilinearPlans, LimitsKeepSumsFinite) {
  ir::Tensor filters = ModelMaker::random({36, 8, 16}, 9);
  const double room = search::algebra::bilinear_room(4);
  const float limit = bilinear_limit(room, filters);
  EXPECT_GT(limit, 1e30F);
  for (int64_t k = 0; k < filters.size(); ++k) filters.set_real(k, filters.get_real(k) * 1e20);
  EXPECT_NEAR(static_cast<double>(bilinear_limit(room, filters)) * 1e20 / static_cast<double>(limit), 1,
              1e-3);
  filters.set_real(5, std::numeric_limits<double>::infinity());
  EXPECT_EQ(bilinear_limit(room, filters), 0);
  filters.set_real(5, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(bilinear_limit(room, filters), 0);
}

TEST(BilinearPlans, ComputeTheSame) {
  const ModelMaker model = network();
  const Knobs knobs{{"AXRUN_SWAP", "bilinear"}};
  const auto session = model.session(options_with(true));
  const OptimizerStatus status = given_time(*session, image());
  ASSERT_EQ(status.bilinear.outcome, "bilinear");
  EXPECT_TRUE(is_bilinear(*session));
  ASSERT_EQ(status.bilinear.kinds.size(), 2u);
  for (const BilinearReport::Kind& kind : status.bilinear.kinds) {
    EXPECT_EQ(kind.sites, 1);
    EXPECT_EQ(kind.tile, 4);
  }
  EXPECT_GT(status.bilinear.growth, 1);
  expect_within_share(session->run(image())[0].tensor, fallback_answer(model, image()));
  EXPECT_TRUE(std::any_of(status.swaps.begin(), status.swaps.end(),
                          [](const PlanSwap& swap) { return swap.what == "swap: bilinear"; }));
}

TEST(BilinearPlans, AreNotMadeUnlessAllowed) {
  const ModelMaker model = network();
  const Knobs knobs{{"AXRUN_SWAP", "bilinear"}};
  const auto session = model.session(options_with(false));
  EXPECT_EQ(given_time(*session, image()).bilinear.outcome, "");
  EXPECT_FALSE(is_bilinear(*session));
  SessionOptions strict = options_with(true);
  strict.deterministic = true;
  const auto other = model.session(strict);
  EXPECT_EQ(given_time(*other, image()).bilinear.outcome, "");
  EXPECT_FALSE(is_bilinear(*other));
}

/// The plan before does these, and gives what it always gives.
TEST(BilinearPlans, LeaveWhatIsNotFiniteToTheDefinition) {
  const ModelMaker model = network();
  const Knobs knobs{{"AXRUN_SWAP", "bilinear"}};
  const auto session = model.session(options_with(true));
  ASSERT_EQ(given_time(*session, image()).bilinear.outcome, "bilinear");
  session->freeze();
  for (const float special : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(), 3e38F}) {
    Values input = image();
    input[0].tensor.as<float>()[100] = special;
    const ir::Tensor got = session->run(input)[0].tensor.clone(), want = fallback_answer(model, input);
    for (int64_t k = 0; k < want.size(); ++k) {
      const double value = got.get_real(k), wanted = want.get_real(k);
      ASSERT_EQ(std::isnan(value), std::isnan(wanted)) << special << ", element " << k;
      ASSERT_EQ(std::isinf(value), std::isinf(wanted)) << special << ", element " << k;
      if (std::isinf(wanted)) {
        ASSERT_EQ(value, wanted);
      }
      if (std::isfinite(wanted)) {
        ASSERT_NEAR(value, wanted, 1e-4 * std::max(1.0, std::fabs(wanted))) << special << ", element " << k;
      }
    }
  }
  // So do large values of an intermediate result, and afterwards all is as before.
  expect_within_share(session->run(image(1e30F))[0].tensor, fallback_answer(model, image(1e30F)));
  expect_within_share(session->run(image())[0].tensor, fallback_answer(model, image()));
  EXPECT_TRUE(is_bilinear(*session));
}

TEST(BilinearPlans, FiltersThatAreNoNumbersStayAsTheyAre) {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {1, 16, 14, 15});
  ir::Tensor filters = ModelMaker::random({8, 16, 3, 3}, 1);
  filters.as<float>()[7] = std::numeric_limits<float>::infinity();
  m.output(m.node("Conv", {x, m.constant(filters)}));
  const Knobs knobs{{"AXRUN_SWAP", "bilinear"}};
  const auto session = m.session(options_with(true));
  EXPECT_NE(given_time(*session, image()).bilinear.outcome, "bilinear");
  EXPECT_FALSE(is_bilinear(*session));
}

/// A cache has kernels, and layouts, of the model's graph: bilinear algorithms are chosen anew.
TEST(BilinearPlans, ComeBackWithACache) {
  const Knobs knobs{{"AXRUN_SWAP", "bilinear"}, {"AXRUN_CACHE", "on"}};
  const cache::TemporaryFolder folder;
  const ModelMaker model = network();
  SessionOptions options = options_with(true);
  options.use_cache = true;
  options.cache_dir = folder.path().string();
  for (int k = 0; k < 3; ++k) {
    const auto session = model.session(options);
    EXPECT_EQ(given_time(*session, image()).bilinear.outcome, "bilinear") << k;
    EXPECT_TRUE(is_bilinear(*session)) << k;
    expect_within_share(session->run(image())[0].tensor, fallback_answer(model, image()));
  }
  // Who does not allow them gets none of another's cache.
  options.bilinear = false;
  const auto session = model.session(options);
  given_time(*session, image());
  EXPECT_FALSE(is_bilinear(*session));
  expect_within_share(session->run(image())[0].tensor, fallback_answer(model, image()), 1e-5);
}

TEST(BilinearPlans, OpenSizesHaveThemShapeByShape) {
  const ModelMaker model = network(ir::Dim::symbol("batch"));
  const Knobs knobs{{"AXRUN_SWAP", "bilinear"}};
  const auto session = model.session(options_with(true));
  ASSERT_EQ(given_time(*session, image()).bilinear.outcome, "bilinear");
  const Values two = {RuntimeValue(ModelMaker::random({2, 16, 14, 15}, 5))};
  expect_within_share(session->run(two)[0].tensor, fallback_answer(model, two));
  given_time(*session, two);
  expect_within_share(session->run(two)[0].tensor, fallback_answer(model, two));
  expect_within_share(session->run(image())[0].tensor, fallback_answer(model, image()));
}

}  // namespace
}  // namespace axrun::tests
