// Plans of bodies are bound from forms, which plans of all sizes share.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>

#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::Dim;
using ir::ElementType;
using ir::Tensor;
using ir::ValueId;
using Values = std::vector<RuntimeValue>;

const Dim n = Dim::symbol("n");
const Dim m = Dim::symbol("m");

std::map<std::string, ir::Attribute> axis(int64_t at) { return {{"axis", ModelMaker::attribute(at)}}; }

/// A body under construction, and what it captures.
struct Body {
  ModelMaker maker;
  ValueId capture(ValueId outer) {
    ir::Value value;
    value.name = "captured_" + std::to_string(outer);
    const ValueId inner = maker.graph().add_value(value);
    maker.graph().captures.emplace_back(outer, inner);
    return inner;
  }
  ir::Attribute attribute() { return ModelMaker::attribute(std::make_shared<ir::Graph>(maker.graph())); }
};

Values inputs_of(const std::vector<ir::Shape>& shapes, bool choice) {
  Tensor truth = Tensor::allocate(ElementType::boolean, {});
  truth.set_int(0, choice ? 1 : 0);
  Values values = {RuntimeValue(truth)};
  for (size_t k = 0; k < shapes.size(); ++k) values.emplace_back(ModelMaker::random(shapes[k], k + 7));
  return values;
}

/// Bit for bit what a session gives that has seen no other sizes.
void expect_as_alone(const ModelMaker& maker, Session& session, const Values& inputs) {
  const auto alone = maker.session(one_thread(Tier::fallback));
  const Values got = session.run(inputs), wanted = alone->run(inputs);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].tensor.shape(), wanted[k].tensor.shape());
    if (got[k].tensor.bytes() == 0) continue;
    EXPECT_EQ(std::memcmp(got[k].tensor.data(), wanted[k].tensor.data(), got[k].tensor.bytes()), 0) << k;
  }
}

/// The form of the only body that this size has needed; null: its plan is for this size alone.
const PlanForm* form_of_body(Session& session, const std::vector<ir::Shape>& shapes) {
  std::vector<ir::Shape> all = {{}};
  all.insert(all.end(), shapes.begin(), shapes.end());
  const auto plan = session.current_plan(all);
  const std::vector<NestedPlan> nested = plan->nested();
  EXPECT_EQ(nested.size(), 1U);
  return nested.empty() ? nullptr : nested[0].plan->form();
}

/// x [n, m, 8] and y [m, n, 8]: branches that both capture, with sizes that come from Shape.
ModelMaker branches() {
  ModelMaker maker;
  const ValueId choose = maker.input("choose", ElementType::boolean, {});
  const ValueId x = maker.input("x", ElementType::f32, {n, m, 8});
  const ValueId y = maker.input("y", ElementType::f32, {m, n, 8});
  const auto branch = [&](uint64_t seed) {
    Body body;
    ModelMaker& b = body.maker;
    const ValueId one = body.capture(x), other = body.capture(y);
    const ValueId product = b.node("Relu", {b.node("MatMul", {one, b.weights({8, 8}, seed)})});
    const ValueId rows = b.node("Gather", {b.node("Shape", {other}), b.integers({0})}, axis(0));
    const ValueId flat = b.node("Reshape", {product, b.node("Concat", {rows, b.integers({-1})}, axis(0))});
    const ValueId also = b.node("Reshape", {other, b.integers({0, -1})});
    b.output(b.node("Concat", {flat, also}, axis(1)));
    return body.attribute();
  };
  maker.output(maker.node("If", {choose}, {{"then_branch", branch(1)}, {"else_branch", branch(2)}}));
  return maker;
}

TEST(BodyForms, ServeSizesThatTheyWereNotMadeFrom) {
  const ModelMaker maker = branches();
  const auto session = maker.session(one_thread(Tier::fallback));
  std::set<const PlanForm*> forms;
  for (const bool choice : {true, false}) {
    for (const int64_t rows : {5, 2, 3, 31, 7}) {
      for (const int64_t columns : {4, 3, 17}) {
        const std::vector<ir::Shape> shapes = {{rows, columns, 8}, {columns, rows, 8}};
        expect_as_alone(maker, *session, inputs_of(shapes, choice));
        if (choice) forms.insert(form_of_body(*session, shapes));
      }
    }
  }
  EXPECT_EQ(forms.size(), 2U) << "none for the first size, and one for the others";
}

TEST(BodyForms, AreOthersWhereAnExtentIsOneOrNothing) {
  const ModelMaker maker = branches();
  const auto session = maker.session(one_thread(Tier::fallback));
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {5, 4}, {1, 4}, {1, 9}, {5, 1}, {6, 3}, {1, 1}, {3, 3}, {9, 9}, {3, 5}}) {
    const std::vector<ir::Shape> shapes = {{rows, columns, 8}, {columns, rows, 8}};
    expect_as_alone(maker, *session, inputs_of(shapes, true));
    expect_as_alone(maker, *session, inputs_of(shapes, false));
  }
}

/// What sizes alone tell is constant to a body, and differs from size to size.
TEST(BodyForms, DoNotTakeOneSizesConstantsForAnothers) {
  ModelMaker maker;
  const ValueId choose = maker.input("choose", ElementType::boolean, {});
  const ValueId x = maker.input("x", ElementType::f32, {n, m});
  const ValueId shape = maker.node("Shape", {x});
  const ValueId turned = maker.node("Gather", {shape, maker.integers({1, 0})}, axis(0));
  const auto branch = [&](const char* op) {
    Body body;
    ModelMaker& b = body.maker;
    const ValueId to = body.capture(turned);
    const ValueId moved = b.node("Reshape", {body.capture(x), to});
    b.output(b.node(op, {moved, b.node("Cast", {b.node("Gather", {to, b.integers({0})}, axis(0))},
                                       {{"to", ModelMaker::attribute(int64_t{1})}})}));
    return body.attribute();
  };
  maker.output(maker.node("If", {choose}, {{"then_branch", branch("Add")}, {"else_branch", branch("Sub")}}));
  const auto session = maker.session(one_thread(Tier::fallback));
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t rows = 2; rows < 24; ++rows) {
      expect_as_alone(maker, *session, inputs_of({{rows, 3}}, true));
      expect_as_alone(maker, *session, inputs_of({{3, rows}}, rows % 2 == 0));
    }
  }
}

/// Ifs in a branch, which sizes decide, and what follows them: one plan, and a form of it.
TEST(BodyForms, ServeBranchesThatSizesChoose) {
  ModelMaker maker;
  const ValueId choose = maker.input("choose", ElementType::boolean, {});
  const ValueId x = maker.input("x", ElementType::f32, {n, m});
  Body body;
  ModelMaker& b = body.maker;
  const ValueId inside = body.capture(x);
  const ValueId columns = b.node("Gather", {b.node("Shape", {inside}), b.integers({1})}, axis(0));
  const auto chosen = [&](int64_t limit, ValueId of) {
    const ValueId is_small = b.node("Squeeze", {b.node("Less", {columns, b.integers({limit})})});
    Body then_body, else_body;
    then_body.maker.output(then_body.maker.node(
        "Transpose", {then_body.capture(of)}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{1, 0})}}));
    else_body.maker.output(else_body.maker.node("Neg", {else_body.capture(of)}));
    return b.node("If", {is_small},
                  {{"then_branch", then_body.attribute()}, {"else_branch", else_body.attribute()}});
  };
  const ValueId once = b.node("Softmax", {chosen(5, b.node("Relu", {inside}))});
  b.output(b.node("Add", {chosen(9, once), b.weights({1, 1}, 4)}));
  Body other;
  other.maker.output(other.maker.node("Neg", {other.capture(x)}));
  maker.output(
      maker.node("If", {choose}, {{"then_branch", body.attribute()}, {"else_branch", other.attribute()}}));
  const auto session = maker.session(one_thread(Tier::fallback));
  const auto reference = maker.session(one_thread(Tier::reference));
  for (const int64_t rows : {3, 4, 2, 1}) {
    for (int64_t width = 2; width < 12; ++width) {
      const Values inputs = inputs_of({{rows, width}}, true);
      expect_as_alone(maker, *session, inputs);
      const Tensor got = session->run(inputs)[0].tensor, wanted = reference->run(inputs)[0].tensor;
      ASSERT_EQ(got.shape(), wanted.shape());
      for (int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.get_real(i), wanted.get_real(i), 1e-5);
      if (rows == 3 && width == 2) continue;
      EXPECT_NE(form_of_body(*session, {{rows, width}}), nullptr);
    }
  }
}

/// A loop whose state grows: every trip has sizes of its own.
TEST(BodyForms, ServeTheTripsOfALoop) {
  ModelMaker maker;
  const ValueId unused = maker.input("choose", ElementType::boolean, {});
  const ValueId x = maker.input("x", ElementType::f32, {n, 4});
  Body body;
  ModelMaker& b = body.maker;
  b.input("trip", ElementType::i64, {});
  const ValueId go = b.input("go", ElementType::boolean, {});
  const ValueId state = b.input("state", ElementType::f32, {Dim::symbol("k"), 4});
  const ValueId scaled = b.node("MatMul", {body.capture(x), b.weights({4, 4}, 3)});
  b.output(b.node("Identity", {go}), ElementType::boolean);
  b.output(b.node("Softmax", {b.node("Concat", {state, scaled}, axis(0))}));
  ir::Tensor trips = Tensor::scalar(ElementType::i64, 6);
  maker.output(maker.node("Loop", {maker.constant(trips), unused, x}, {{"body", body.attribute()}}));
  const auto session = maker.session(one_thread(Tier::fallback));
  for (const int64_t rows : {3, 2, 5, 1, 4}) expect_as_alone(maker, *session, inputs_of({{rows, 4}}, true));
  size_t bound = 0;
  for (const NestedPlan& one : session->current_plan({{}, {4, 4}})->nested())
    bound += one.plan->form() != nullptr ? 1 : 0;
  EXPECT_EQ(bound, 6U);
}

}  // namespace
}  // namespace axrun::tests
