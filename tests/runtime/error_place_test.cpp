#include "ir/error_place.h"

#include <gtest/gtest.h>

#include "runtime/run_control.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;
using runtime::RuntimeValue;
using runtime::Tier;

/// What the failure of `call` is about, as "input|node|op".
template <typename Call>
std::string place_in(Call call) {
  try {
    call();
  } catch (const Error& error) {
    const ErrorPlace place = error_place(error);
    return place.input + "|" + place.node + "|" + place.op;
  }
  return "no error";
}

runtime::SessionOptions with_tier(Tier tier) {
  runtime::SessionOptions options;
  options.tier = tier;
  options.threads = 1;
  return options;
}

TEST(ErrorPlace, AnInputThatDoesNotFitIsNamed) {
  const ModelMaker model = residual_network(2);
  const auto session = model.session(with_tier(Tier::fallback));
  const auto place = [&](const RuntimeValue& value) { return place_in([&] { session->run({value}); }); };
  EXPECT_EQ(place(RuntimeValue()), "x||");
  EXPECT_EQ(place(RuntimeValue(ModelMaker::random({3, 3, 12, 12}, 1))), "x||");
  EXPECT_EQ(place(RuntimeValue(Tensor::allocate(ElementType::f64, {2, 3, 12, 12}))), "x||");
  EXPECT_EQ(place_in([&] { session->run({}); }), "||");
  runtime::SessionOptions options = with_tier(Tier::fallback);
  options.shapes["x"] = {1, 2};
  EXPECT_EQ(place_in([&] { model.session(options); }), "x||");
}

TEST(ErrorPlace, ANodeThatMeetsBadDataIsNamed) {
  ModelMaker m;
  const auto table = m.input("table", ElementType::f32, {4, 3});
  const auto rows = m.input("rows", ElementType::i64, {2});
  m.output(m.node("Relu", {m.node("Gather", {m.node("Exp", {table}), m.node("Abs", {rows})})}));
  const std::string name = m.graph().nodes[2].name;
  for (const Tier tier : {Tier::reference, Tier::fallback}) {
    const auto session = m.session(with_tier(tier));
    const RuntimeValue bad(Tensor::from_i64({1, 4}));
    EXPECT_EQ(place_in([&] {
                session->run({RuntimeValue(ModelMaker::random({4, 3}, 1)), bad});
              }),
              "|" + name + "|Gather");
  }
}

TEST(ErrorPlace, TheInnermostNodeIsMeant) {
  ModelMaker m;
  const auto choose = m.input("choose", ElementType::boolean, {});
  const auto row = m.input("row", ElementType::i64, {1});
  const auto branch = [&](const std::string& name) {
    ModelMaker body;
    ir::Value outer;
    outer.name = "row";
    const ir::ValueId inner = body.graph().add_value(outer);
    body.graph().captures.emplace_back(row, inner);
    body.output(body.node("Gather", {body.weights({4, 3}, 1), inner}));
    body.graph().nodes.back().name = name;
    return ModelMaker::attribute(std::make_shared<ir::Graph>(body.graph()));
  };
  m.output(m.node("If", {choose}, {{"then_branch", branch("yes")}, {"else_branch", branch("no")}}));
  Tensor truth = Tensor::allocate(ElementType::boolean, {});
  *truth.as<bool>() = true;
  for (const Tier tier : {Tier::reference, Tier::fallback}) {
    const auto session = m.session(with_tier(tier));
    EXPECT_EQ(place_in([&] {
                session->run({RuntimeValue(truth), RuntimeValue(Tensor::from_i64({9}))});
              }),
              "|yes|Gather");
  }
}

TEST(ErrorPlace, ANodeThatCannotBeImportedIsNamedWhereItIsTheOnlyOne) {
  ModelMaker m;
  const auto x = m.input("x", ElementType::f32, {2});
  const auto odd = m.node("Frobnicate", {x});
  m.output(odd);
  EXPECT_EQ(place_in([&] { m.session(); }), "|" + m.graph().nodes[0].name + "|Frobnicate");
  m.output(m.node("Frobnicate", {odd}));
  EXPECT_EQ(place_in([&] { m.session(); }), "||");
}

TEST(ErrorPlace, ANodeWithABadAttributeIsNamed) {
  ModelMaker m;
  m.output(m.node("Transpose", {m.input("x", ElementType::f32, {2, 3})},
                  {{"perm", ModelMaker::attribute(std::vector<int64_t>{0, 0})}}));
  EXPECT_EQ(place_in([&] {
              m.session()->run({RuntimeValue(ModelMaker::random({2, 3}, 1))});
            }),
            "|" + m.graph().nodes[0].name + "|Transpose");
}

TEST(ErrorPlace, AnEndedRunIsNoNodesFault) {
  const auto session = residual_network(2).session(with_tier(Tier::fallback));
  runtime::RunControl control;
  control.cancel();
  const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({2, 3, 12, 12}, 1))};
  EXPECT_THROW(session->run(inputs, &control), runtime::RunEnded);
}

TEST(ErrorPlace, ANewTextKeepsThePlace) {
  const PlacedError error(Fault::user, "old", ErrorPlace::of_input("x"));
  EXPECT_EQ(place_in([&] { throw_as(error, "new", ErrorPlace::of_node("n", "Op")); }), "x||");
  EXPECT_EQ(place_in([&] { throw_as(Error(Fault::user, "old"), "new", ErrorPlace::of_node("n", "Op")); }),
            "|n|Op");
  EXPECT_EQ(place_in([&] { throw_as(Error(Fault::user, "old"), "new"); }), "||");
}

}  // namespace
}  // namespace axrun::tests
