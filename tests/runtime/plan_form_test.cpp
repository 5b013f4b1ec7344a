// Plans for many sizes: made once, bound to numbers.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "ir/error.h"
#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;
using Values = std::vector<RuntimeValue>;

const Dim n = Dim::symbol("n");
const Dim m = Dim::symbol("m");

void expect_same(const Values& got, const Values& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].tensor.type(), wanted[k].tensor.type());
    ASSERT_EQ(got[k].tensor.shape(), wanted[k].tensor.shape());
    if (got[k].tensor.bytes() == 0) continue;
    EXPECT_EQ(std::memcmp(got[k].tensor.data(), wanted[k].tensor.data(), got[k].tensor.bytes()), 0)
        << "output " << k;
  }
}

/// Bit for bit what a session gives that knows the shapes.
void expect_as_fixed(const ModelMaker& maker, Session& open, const std::vector<ir::Shape>& shapes) {
  Values inputs;
  SessionOptions options = one_thread(Tier::fallback);
  for (size_t k = 0; k < shapes.size(); ++k) {
    inputs.emplace_back(ModelMaker::random(shapes[k], k + 7));
    options.shapes[open.inputs()[k].name] = shapes[k];
  }
  const auto fixed = maker.session(options);
  expect_same(open.run(inputs), fixed->run(inputs));
}

/// A layer with heads: x [n, m, 12] as [n, m, 3, 4], turned, times itself; the sizes come from Shape.
ModelMaker heads() {
  ModelMaker maker;
  const ValueId x = maker.input("x", ElementType::f32, {n, m, 12});
  const ValueId y = maker.node("Relu", {maker.node("MatMul", {x, maker.weights({12, 12}, 1)})});
  const ValueId shape = maker.node("Shape", {x});
  const ValueId rows =
      maker.node("Gather", {shape, maker.integers({0, 1})}, {{"axis", ModelMaker::attribute(0)}});
  const ValueId split =
      maker.node("Concat", {rows, maker.integers({3, 4})}, {{"axis", ModelMaker::attribute(0)}});
  const ValueId q = maker.node("Transpose", {maker.node("Reshape", {y, split})},
                               {{"perm", ModelMaker::attribute(std::vector<int64_t>{0, 2, 1, 3})}});
  const ValueId k =
      maker.node("Transpose", {q}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{0, 1, 3, 2})}});
  const ValueId scores = maker.node("Softmax", {maker.node("MatMul", {q, k})});
  maker.output(
      maker.node("Concat", {maker.node("MatMul", {scores, q}), q}, {{"axis", ModelMaker::attribute(2)}}));
  return maker;
}

TEST(PlanForm, ServesSizesThatItWasNotMadeFrom) {
  const ModelMaker maker = heads();
  const auto session = maker.session(one_thread(Tier::fallback));
  for (const int64_t rows : {5, 2, 3, 31, 64, 7})
    for (const int64_t columns : {4, 3, 17, 100}) expect_as_fixed(maker, *session, {{rows, columns, 12}});
  const FormCounts counts = session->form_counts();
  EXPECT_EQ(counts.reason, "");
  EXPECT_EQ(counts.made, 1U);
  EXPECT_EQ(counts.bound, 24U);
  EXPECT_EQ(counts.unbound, 0U);
  EXPECT_EQ(counts.variants, 1U) << "the first one";
  ASSERT_EQ(counts.forms.size(), 1U);
  EXPECT_EQ(counts.forms[0].sizes, (std::vector<std::string>{"n", "m"}));
}

TEST(PlanForm, HasAnotherOneWhereAnExtentIsOneOrNothing) {
  const ModelMaker maker = heads();
  const auto session = maker.session(one_thread(Tier::fallback));
  const std::vector<ir::Shape> shapes = {{5, 4, 12}, {1, 4, 12}, {1, 9, 12}, {5, 1, 12}, {6, 3, 12},
                                         {1, 1, 12}, {0, 4, 12}, {3, 0, 12}, {0, 7, 12}};
  for (const ir::Shape& shape : shapes) expect_as_fixed(maker, *session, {shape});
  const FormCounts counts = session->form_counts();
  EXPECT_EQ(counts.made, 6U);
  EXPECT_EQ(counts.unbound, 0U);
  EXPECT_NE(std::find(counts.forms[0].guards.begin(), counts.forms[0].guards.end(), "x[0] = 0"),
            counts.forms[0].guards.end());
}

TEST(PlanForm, IsNotMadeForTheOnlySizeThatHasCome) {
  const ModelMaker maker = heads();
  const auto session = maker.session(one_thread(Tier::fallback));
  expect_as_fixed(maker, *session, {{1, 1, 12}});
  EXPECT_EQ(session->form_counts().made, 0U) << "a plan alone is there earlier";
  EXPECT_EQ(session->form_counts().unbound, 1U);
  EXPECT_EQ(session->form_counts().reason, "");
}

/// Steps of every kind that is made again for other sizes, and some that are not.
ModelMaker steps_of_all_kinds() {
  ModelMaker maker;
  const auto axis = [](int64_t at) {
    return std::map<std::string, ir::Attribute>{{"axis", ModelMaker::attribute(at)}};
  };
  const ValueId x = maker.input("x", ElementType::f32, {n, m, 8});
  const ValueId y = maker.input("y", ElementType::f32, {n, 1, 8});
  const ValueId sum = maker.node("Add", {x, y});
  const ValueId act = maker.node("Mul", {maker.node("Sigmoid", {sum}), sum});
  const ValueId product = maker.node("MatMul", {act, maker.weights({8, 8}, 2)});
  const ValueId biased = maker.node("Add", {product, maker.weights({8}, 3)});
  const ValueId residual = maker.node("Add", {biased, x});
  const ValueId norm =
      maker.node("LayerNormalization", {residual, maker.weights({8}, 4), maker.weights({8}, 5)});
  const ValueId turned =
      maker.node("Transpose", {norm}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{0, 2, 1})}});
  const ValueId scores = maker.node("Div", {maker.node("MatMul", {norm, turned}), maker.weights({1}, 6)});
  const ValueId soft = maker.node("Softmax", {scores}, axis(-1));
  const ValueId mixed = maker.node("MatMul", {soft, norm});
  const ValueId tail =
      maker.node("Slice", {mixed, maker.integers({1}), maker.integers({100000}), maker.integers({1})});
  const ValueId both = maker.node("Concat", {mixed, tail, x}, axis(1));
  maker.output(maker.node("Gather", {both, maker.integers({0, 2, 1})}, axis(1)));
  maker.output(maker.node("ReduceMean", {both}, {{"axes", ModelMaker::attribute(std::vector<int64_t>{1})}}));
  maker.output(both);
  const ValueId rows = maker.node("Gather", {maker.node("Shape", {x}), maker.integers({1})}, axis(0));
  const ValueId places = maker.node(
      "Range", {maker.constant(ir::Tensor::scalar(ElementType::i64, 0)), maker.node("Squeeze", {rows}),
                maker.constant(ir::Tensor::scalar(ElementType::i64, 1))});
  maker.output(maker.node("Cast", {places}, {{"to", ModelMaker::attribute(int64_t{1})}}));
  return maker;
}

TEST(PlanVariant, KernelsAreMadeAgainForOtherSizes) {
  const ModelMaker maker = steps_of_all_kinds();
  const auto session = maker.session(one_thread(Tier::fallback));
  for (const int64_t rows : {3, 2, 40, 7})
    for (const int64_t columns : {5, 2, 33, 130, 3})
      expect_as_fixed(maker, *session, {{rows, columns, 8}, {rows, 1, 8}});
  const FormCounts counts = session->form_counts();
  EXPECT_EQ(counts.unbound, 0U);
  EXPECT_LT(counts.variants, 5U);
}

/// At n = 3 one row is left, which turned is the same in memory; at other sizes it is not.
TEST(PlanVariant, IsNotTakenWhereAViewIsNone) {
  ModelMaker maker;
  const ValueId x = maker.input("x", ElementType::f32, {n, 4});
  const ValueId rest =
      maker.node("Slice", {x, maker.integers({2}), maker.integers({100000}), maker.integers({0})});
  maker.output(
      maker.node("Relu", {maker.node("Transpose", {maker.node("Neg", {rest})},
                                     {{"perm", ModelMaker::attribute(std::vector<int64_t>{1, 0})}})}));
  const auto session = maker.session(one_thread(Tier::fallback));
  for (const int64_t rows : {3, 5, 3, 9, 4, 3}) expect_as_fixed(maker, *session, {{rows, 4}});
}

TEST(PlanForm, SaysWhatItTakesForGranted) {
  ModelMaker maker;
  const ValueId x = maker.input("x", ElementType::f32, {n, 4}),
                y = maker.input("y", ElementType::f32, {m, 4});
  maker.output(maker.node("Add", {x, y}));
  const auto session = maker.session(one_thread(Tier::fallback));
  expect_as_fixed(maker, *session, {{3, 4}, {3, 4}});
  expect_as_fixed(maker, *session, {{8, 4}, {8, 4}});
  EXPECT_EQ(session->form_counts().made, 1U);
  const std::vector<std::string> guards = session->form_counts().forms[0].guards;
  EXPECT_EQ(std::count_if(guards.begin(), guards.end(),
                          [](const std::string& guard) {
                            return guard == "m - n = 0" || guard == "-m + n = 0" || guard == "n - m = 0" ||
                                   guard == "-n + m = 0";
                          }),
            1);
  expect_as_fixed(maker, *session, {{8, 4}, {1, 4}});
  expect_as_fixed(maker, *session, {{9, 4}, {1, 4}});
  EXPECT_EQ(session->form_counts().made, 2U);
  EXPECT_THROW(session->run({RuntimeValue(ModelMaker::random({8, 4}, 1)),
                             RuntimeValue(ModelMaker::random({3, 4}, 1))}),
               Error);
}

/// What a session says of inputs of this shape.
std::string refusal(Session& session, const ir::Shape& shape) {
  try {
    session.run({RuntimeValue(ModelMaker::random(shape, 1))});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PlanForm, RefusesWhatDoesNotFitInTheSameWords) {
  ModelMaker maker;
  const ValueId x = maker.input("x", ElementType::f32, {n, 4});
  maker.output(maker.node("Reshape", {x, maker.integers({-1, 3, 2})}));
  const auto fresh = [&] { return maker.session(one_thread(Tier::fallback)); };
  const auto session = fresh();
  EXPECT_EQ(refusal(*session, {3, 4}), "");
  EXPECT_EQ(refusal(*session, {6, 4}), "");
  for (const int64_t rows : {4, 5, 7}) {
    const auto other = fresh();
    EXPECT_EQ(refusal(*other, {3, 4}), "");
    const std::string said = refusal(*session, {rows, 4});
    EXPECT_NE(said, "");
    EXPECT_EQ(said, refusal(*other, {rows, 4}));
  }
  EXPECT_EQ(refusal(*session, {9, 4}), "");
  EXPECT_EQ(session->form_counts().made, 1U);
}

TEST(PlanForm, IsNoneWhereDataDecide) {
  ModelMaker maker;
  const ValueId x = maker.input("x", ElementType::f32, {n, 4});
  maker.output(maker.node("NonZero", {x}), ElementType::i64);
  const auto session = maker.session(one_thread(Tier::fallback));
  expect_as_fixed(maker, *session, {{3, 4}});
  expect_as_fixed(maker, *session, {{5, 4}});
  EXPECT_NE(session->form_counts().reason, "");
  EXPECT_EQ(session->form_counts().bound, 0U);
}

TEST(PlanForm, GoesOnWithKernelsThatNoOpenSizeChanges) {
  ModelMaker maker;
  const ValueId x = maker.input("x", ElementType::f32, {1, 8}),
                past = maker.input("past", ElementType::f32, {n, 8});
  const ValueId now = maker.node("MatMul", {x, maker.weights({8, 8}, 3)});
  const ValueId all = maker.node("Concat", {past, now}, {{"axis", ModelMaker::attribute(0)}});
  const ValueId turned =
      maker.node("Transpose", {all}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{1, 0})}});
  maker.output(maker.node("Softmax", {maker.node("MatMul", {now, turned})}));
  maker.output(all);
  const auto session = maker.session(one_thread(Tier::fallback));
  const auto kernel_of = [&](int64_t rows, const std::string& ops) {
    expect_as_fixed(maker, *session, {{1, 8}, {rows, 8}});
    const auto plan = session->current_plan({{1, 8}, {rows, 8}});
    for (const Step& step : plan->steps())
      if (step.work->ops == ops) return step.kernel;
    return std::shared_ptr<const Kernel>();
  };
  const auto projection = kernel_of(2, "MatMul"), rows = kernel_of(2, "Softmax");
  ASSERT_NE(projection, nullptr);
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(kernel_of(3, "MatMul"), projection);
  EXPECT_NE(kernel_of(3, "Softmax"), rows);
  EXPECT_EQ(kernel_of(100, "MatMul"), projection);
}

/// Halves an image and doubles it again, as detectors do: what is added fits only where sizes are even. The
/// columns' numbers become floats.
ModelMaker pyramid() {
  ModelMaker maker;
  const auto word = [](const char* text) {
    ir::Attribute attribute;
    attribute.kind = ir::Attribute::Kind::string;
    attribute.string = text;
    return attribute;
  };
  const ValueId x = maker.input("x", ElementType::f32, {1, 2, n, m});
  const ValueId half = maker.node("MaxPool", {x},
                                  {{"kernel_shape", ModelMaker::attribute(std::vector<int64_t>{1, 1})},
                                   {"strides", ModelMaker::attribute(std::vector<int64_t>{2, 2})}});
  ir::Tensor scales = ir::Tensor::allocate(ElementType::f32, {4});
  for (int64_t d = 0; d < 4; ++d) scales.set_real(d, d < 2 ? 1 : 2);
  const ValueId back =
      maker.node("Resize", {half, ir::absent, maker.constant(scales)},
                 {{"coordinate_transformation_mode", word("asymmetric")}, {"nearest_mode", word("floor")}});
  const ValueId columns = maker.node(
      "Gather", {maker.node("Shape", {half}), maker.constant(ir::Tensor::scalar(ElementType::i64, 3))});
  const ValueId limit = maker.node("Cast", {columns}, {{"to", ModelMaker::attribute(int64_t{1})}});
  maker.output(maker.node("Add", {back, x}));
  maker.output(maker.node(
      "Add", {half, maker.node("Range", {maker.constant(ir::Tensor::scalar(ElementType::f32, 0)), limit,
                                         maker.constant(ir::Tensor::scalar(ElementType::f32, 1))})}));
  return maker;
}

TEST(PlanForm, ServesImagesThatAreHalvedAndDoubled) {
  const ModelMaker maker = pyramid();
  const auto session = maker.session(one_thread(Tier::fallback));
  for (const int64_t rows : {6, 4, 10, 64})
    for (const int64_t columns : {8, 4, 30}) expect_as_fixed(maker, *session, {{1, 2, rows, columns}});
  const FormCounts counts = session->form_counts();
  EXPECT_EQ(counts.reason, "");
  EXPECT_EQ(counts.made, 1U);
  EXPECT_EQ(counts.unbound, 0U);
  EXPECT_NE(refusal(*session, {1, 2, 6, 7}), "");
}

TEST(PlanForm, PlansOfManySizesShareLargeArenas) {
  const ModelMaker maker = heads();
  const auto session = maker.session(one_thread(Tier::fallback));
  const auto waiting = [&](int64_t rows, int64_t columns) {
    expect_as_fixed(maker, *session, {{rows, columns, 12}});
    std::set<const FramePool*> counted;
    return session->current_plan({{rows, columns, 12}})->waiting_bytes(counted);
  };
  const int64_t first = waiting(60, 100);
  EXPECT_GT(first, int64_t{2} << 20);
  for (const int64_t rows : {50, 7, 60, 30}) EXPECT_EQ(waiting(rows, 90), first);
}

TEST(PlanForm, IsSharedByThreadsWithOtherSizes) {
  const ModelMaker maker = heads();
  SessionOptions options = one_thread(Tier::fallback);
  options.plan_cache = 2;
  const auto session = maker.session(options);
  const auto fixed = maker.session(one_thread(Tier::reference));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 30; ++k) {
        const Values input = {RuntimeValue(ModelMaker::random({1 + (t + k) % 5, 2 + k % 7, 12}, 3))};
        const Values got = session->run(input), want = fixed->run(input);
        if (got[0].tensor.shape() != want[0].tensor.shape()) ++wrong;
        for (int64_t i = 0; i < want[0].tensor.size(); ++i)
          if (!(std::abs(got[0].tensor.get_real(i) - want[0].tensor.get_real(i)) <= 1e-4)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(session->form_counts().made, 2U) << "for one row, and for more";
}

}  // namespace
}  // namespace axrun::tests
