// Sizes that change from run to run, more of them than plans are kept.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/optimizer/plan_tree.h"
#include "runtime/plan_table.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;

ModelMaker layers() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {ir::Dim::symbol("rows"), 24});
  ir::ValueId a = m.node("MatMul", {x, m.weights({24, 40}, 1)});
  a = m.node("Relu", {m.node("Add", {a, m.weights({40}, 2)})});
  a = m.node("MatMul", {m.node("Mul", {a, m.node("Sigmoid", {a})}), m.weights({40, 16}, 3)});
  m.output(m.node("Softmax", {a}, {{"axis", ModelMaker::attribute(int64_t{-1})}}));
  return m;
}

TEST(MixedSizes, NewOnesFindWhatWasGeneratedForOthers) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_CACHE", "off"}};
  const ModelMaker model = layers();
  SessionOptions options = one_thread();
  options.plan_cache = 2;
  const auto session = model.session(options);
  for (int turn = 0; turn < 3; ++turn) {
    for (const int64_t rows : {40, 70, 50, 90, 60, 110})
      session->run({RuntimeValue(ModelMaker::random({rows, 24}, 9))});
  }
  ASSERT_TRUE(session->wait_for_optimizer(patience)) << text_of(session->optimizer_status());
  for (const int64_t rows : {41, 77, 103}) {
    const Values input = {RuntimeValue(ModelMaker::random({rows, 24}, 4))};
    const ir::Tensor got = session->run(input)[0].tensor, want = fallback_answer(model, input);
    ASSERT_EQ(got.shape(), want.shape());
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-5) << rows;
    const auto plan = session->current_plan({{rows, 24}});
    ASSERT_NE(plan, nullptr);
    EXPECT_GT(generated_steps(*plan), 0) << text_of(session->optimizer_status());
    EXPECT_EQ(session->form_counts().made, 1U);
  }
}

/// Sizes go on coming while kernels are found for some steps and not for others.
TEST(MixedSizes, NoPlanIsBuiltAnewForAVerdict) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_CACHE", "off"}};
  SessionOptions options = one_thread();
  options.plan_cache = 2;
  const auto session = layers().session(options);
  const auto run_all = [&] {
    for (int64_t rows = 40; rows < 120; rows += 9)
      session->run({RuntimeValue(ModelMaker::random({rows, 24}, 9))});
  };
  for (int turn = 0; turn < 3; ++turn) run_all();
  while (!session->wait_for_optimizer(0.001)) run_all();
  run_all();
  const FormCounts counts = session->form_counts();
  EXPECT_GT(session->optimizer_status().swapped, 0) << text_of(session->optimizer_status());
  EXPECT_GT(counts.bound, 30U);
  EXPECT_LE(counts.variants, 5U) << "one for each list of joints, and each thing that is one step or several";
}

/// An image halved twice by strides, then Gelu as it is written out, and the mean of each channel.
ModelMaker halved_images() {
  ModelMaker m;
  const auto pair = [](int64_t value, size_t count) {
    return ModelMaker::attribute(std::vector<int64_t>(count, value));
  };
  const auto number = [&](double value) {
    return m.constant(ir::Tensor::scalar(ir::ElementType::f32, value));
  };
  ir::ValueId a = m.input("x", ir::ElementType::f32, {1, 3, 20, ir::Dim::symbol("width")});
  for (const uint64_t seed : {1, 2})
    a = m.node("Conv", {a, m.weights({seed == 1 ? 8 : 16, seed == 1 ? 3 : 8, 3, 3}, seed)},
               {{"strides", pair(2, 2)}, {"pads", pair(1, 4)}});
  const ir::ValueId erf = m.node("Erf", {m.node("Div", {a, number(1.41421356)})});
  a = m.node("Mul", {m.node("Mul", {a, m.node("Add", {erf, number(1)})}), number(0.5)});
  m.output(a);
  m.output(m.node("ReduceMean", {a}, {{"axes", ModelMaker::attribute(std::vector<int64_t>{2, 3})}}));
  return m;
}

/// Not a step is left to the precompiled kernels at sizes that nobody has worked at.
TEST(MixedSizes, NewOnesFindWhatWasGeneratedBehindStrides) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_CACHE", "off"}};
  const ModelMaker model = halved_images();
  SessionOptions options = one_thread();
  options.plan_cache = 2;
  const auto session = model.session(options);
  const auto image = [](int64_t width) {
    return Values{RuntimeValue(ModelMaker::random({1, 3, 20, width}, 9))};
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (const int64_t width : {60, 90, 71, 84}) session->run(image(width));
  }
  ASSERT_TRUE(session->wait_for_optimizer(patience)) << text_of(session->optimizer_status());
  for (const int64_t width : {64, 77, 81}) {
    const Values input = image(width), want = fallback_answers(model, input), got = session->run(input);
    for (size_t k = 0; k < want.size(); ++k) {
      ASSERT_EQ(got[k].tensor.shape(), want[k].tensor.shape());
      for (int64_t i = 0; i < want[k].tensor.size(); ++i)
        ASSERT_NEAR(got[k].tensor.get_real(i), want[k].tensor.get_real(i), 1e-5) << width;
    }
    const auto plan = session->current_plan({{1, 3, 20, width}});
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(generated_steps(*plan), static_cast<int>(plan->steps().size())) << width;
  }
  EXPECT_EQ(session->form_counts().made, 1U);
}

/// Columns of the result's rows, from the first one where there are many rows, otherwise from the second one;
/// added to a second input of as many rows.
ModelMaker columns_by_size() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {ir::Dim::symbol("rows"), 24});
  const ir::ValueId y = m.input("y", ir::ElementType::f32, {ir::Dim::symbol("lines"), 8});
  const ir::ValueId rows = m.node("Gather", {m.node("Shape", {x}), m.integers({0})});
  const ir::ValueId first =
      m.node("Where", {m.node("Greater", {rows, m.integers({50})}), m.integers({0}), m.integers({1})});
  const ir::ValueId last = m.node("Add", {first, m.integers({8})});
  const ir::ValueId part = m.node("Slice", {x, first, last, m.integers({1})});
  m.output(m.node("Sigmoid", {m.node("Add", {m.node("Sigmoid", {part}), y})}));
  return m;
}

TEST(MixedSizes, KernelsServeThoseOfWhichTheSameIsTakenForGranted) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_CACHE", "off"}};
  const ModelMaker model = columns_by_size();
  const auto inputs = [](int64_t rows) {
    return Values{RuntimeValue(ModelMaker::random({rows, 24}, 4)),
                  RuntimeValue(ModelMaker::random({rows, 8}, 5))};
  };
  SessionOptions options = one_thread();
  options.plan_cache = 2;
  const auto session = model.session(options);
  for (int turn = 0; turn < 4; ++turn) {
    for (const int64_t rows : {60, 90, 30, 40, 75}) session->run(inputs(rows));
  }
  ASSERT_TRUE(session->wait_for_optimizer(patience)) << text_of(session->optimizer_status());
  for (const int64_t rows : {35, 66, 45, 81}) {
    const ir::Tensor got = session->run(inputs(rows))[0].tensor, want = fallback_answer(model, inputs(rows));
    ASSERT_EQ(got.shape(), want.shape());
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-5) << rows;
    const auto plan = session->current_plan({{rows, 24}, {rows, 8}});
    ASSERT_NE(plan, nullptr);
    EXPECT_GT(generated_steps(*plan), 0) << rows << " " << text_of(session->optimizer_status());
  }
  EXPECT_EQ(session->form_counts().made, 2U);
}

/// A step that has no expression for open sizes: its length is data.
ModelMaker counted_rows() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {ir::Dim::symbol("rows"), 24});
  const auto whole = [&](int64_t number) {
    ir::Tensor scalar = ir::Tensor::allocate(ir::ElementType::i64, {});
    scalar.set_int(0, number);
    return m.constant(scalar);
  };
  const ir::ValueId rows = m.node("Gather", {m.node("Shape", {x}), whole(0)});
  const ir::ValueId numbers = m.node("Range", {whole(0), rows, whole(1)});
  const ir::ValueId sums =
      m.node("ReduceSum", {x, m.integers({1})}, {{"keepdims", ModelMaker::attribute(0)}});
  m.output(m.node("Mul", {sums, m.node("Cast", {numbers}, {{"to", ModelMaker::attribute(1)}})}));
  return m;
}

TEST(MixedSizes, LeaveNothingToTryWhereThereIsNoExpressionForThem) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_CACHE", "off"}};
  const ModelMaker model = counted_rows();
  const auto run = [&](Session& session, int64_t rows) {
    const Values input = {RuntimeValue(ModelMaker::random({rows, 24}, 4))};
    const ir::Tensor got = session.run(input)[0].tensor, want = fallback_answer(model, input);
    ASSERT_EQ(got.shape(), want.shape());
    for (int64_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-3 * static_cast<double>(rows)) << rows;
  };
  const auto session = model.session(one_thread());
  for (const int64_t rows : {40, 41, 42, 43, 44, 45, 46, 47}) {
    for (int turn = 0; turn < 3; ++turn) ASSERT_NO_FATAL_FAILURE(run(*session, rows));
    ASSERT_TRUE(session->wait_for_optimizer(patience)) << text_of(session->optimizer_status());
  }
  ASSERT_NO_FATAL_FAILURE(run(*session, 48));
  const auto plan = session->current_plan({{48, 24}});
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->open_steps(), 0) << text_of(session->optimizer_status());
}

/// A plan of nothing in particular.
std::shared_ptr<const Plan> some_plan(Session& session, int64_t rows) {
  session.run({RuntimeValue(ModelMaker::random({rows, 24}, 9))});
  return session.current_plan({{rows, 24}});
}

TEST(MixedSizes, HeldPlansDoNotGiveWay) {
  const auto session = layers().session(one_thread(Tier::fallback));
  PlanTable table(2);
  const auto shapes = [](int64_t rows) { return std::vector<ir::Shape>{{rows, 24}}; };
  table.publish(shapes(5), some_plan(*session, 5));
  {
    const PlanTable::Hold hold(table, shapes(5));
    for (const int64_t rows : {6, 7, 8}) table.publish(shapes(rows), some_plan(*session, rows));
    EXPECT_NE(table.current(shapes(5)), nullptr);
    EXPECT_EQ(table.shapes().size(), 2U);
    EXPECT_NE(table.current(shapes(8)), nullptr) << "the newest";
    const PlanTable::Hold other(table, shapes(8));
    table.publish(shapes(9), some_plan(*session, 9));
    EXPECT_EQ(table.shapes().size(), 3U) << "nobody could give way";
  }
  table.publish(shapes(10), some_plan(*session, 10));
  table.publish(shapes(11), some_plan(*session, 11));
  EXPECT_EQ(table.current(shapes(5)), nullptr);
}

}  // namespace
}  // namespace axrun::tests
