// Operators that are told by a text.
#include <cmath>

#include "tests/custom_operators/models.h"

namespace axrun::custom_operators_test {
namespace {

constexpr const char* swish =
    "program Swish(x: f32[n, c]) -> (y) {\n"
    "  y: f32[n, c] = map (i: n, j: c) { x[i, j] / (1:f32 + exp(-1:f32 * x[i, j])) }\n"
    "}";

float swish_of(float x) { return x / (1 + std::exp(-x)); }

/// (x + bias) through MySwish, times 2.
std::string surrounded() {
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"batch", "4"}}}, {"y"});
  model.floats("bias", {4}, {1, -2, 3, -4}).floats("two", {}, {2});
  model.node("Add", {"x", "bias"}, {"sum"});
  model.node("MySwish", {"sum"}, {"swish"});
  model.node("Mul", {"swish", "two"}, {"y"});
  return model.bytes();
}

void expect_surrounded(const std::vector<Values>& results, const std::vector<float>& x) {
  constexpr float bias[] = {1, -2, 3, -4};
  ASSERT_EQ(results.size(), 1U);
  ASSERT_EQ(results[0].floats.size(), x.size());
  for (size_t k = 0; k < x.size(); ++k)
    EXPECT_NEAR(results[0].floats[k], 2 * swish_of(x[k] + bias[k % 4]), 1e-5F) << k;
}

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t k = 0; k < count; ++k) values[k] = 0.25F * static_cast<float>(k % 37) - 4;
  return values;
}

TEST(CustomText, RunsOnEveryTierAtEveryBatch) {
  Operators operators;
  operators.add(with_text("MySwish", swish));
  for (const int tier : {AXRUN_TIER_REFERENCE, AXRUN_TIER_FALLBACK, AXRUN_TIER_AUTO}) {
    Loaded loaded(surrounded(), &operators, {tier, 2, ""});
    ASSERT_EQ(loaded.status(), AXRUN_OK) << loaded.error();
    axrun_port port;
    ASSERT_EQ(axrun_output_info(loaded.session(), 0, &port), AXRUN_OK);
    EXPECT_EQ(port.type, AXRUN_F32);
    ASSERT_EQ(port.rank, 2);  // the text tells sizes while they are open
    EXPECT_EQ(port.dims[1], 4);
    for (const int64_t batch : {1, 3, 0, 8}) {
      const std::vector<float> x = ramp(static_cast<size_t>(4 * batch));
      expect_surrounded(loaded.run({floats({batch, 4}, x)}), x);
    }
  }
}

TEST(CustomText, FusesWithItsNeighbours) {
  Operators operators;
  operators.add(with_text("MySwish", swish));
  Loaded loaded(surrounded(), &operators);
  const std::vector<float> x = ramp(8);
  expect_surrounded(loaded.run({floats({2, 4}, x)}), x);
  EXPECT_NE(loaded.explanation().find("Add+MySwish+Mul"), std::string::npos) << loaded.explanation();
}

TEST(CustomText, IsOptimisedLikeOthers) {
  Operators operators;
  // A reduction: no precompiled kernel takes it.
  operators.add(with_text("MyEnergy",
                          "program Energy(x: f32[n, c], w: f32[c]) -> (y) {\n"
                          "  y: f32[n] = reduce sum (i: n; j: c) { w[j] * x[i, j] * x[i, j] }\n"
                          "}"));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"batch", "64"}}}, {"y"});
  model.floats("w", {64}, std::vector<float>(64, 0.5F));
  model.node("MyEnergy", {"x", "w"}, {"y"});
  Loaded loaded(model.bytes(), &operators, {AXRUN_TIER_AUTO, 1, ""});
  std::vector<float> x = ramp(64 * 128);
  const auto expect_energy = [&] {
    const std::vector<Values> results = loaded.run({floats({128, 64}, x)});
    ASSERT_EQ(results.size(), 1U) << loaded.error();
    for (size_t n = 0; n < 128; ++n) {
      double sum = 0;
      for (size_t c = 0; c < 64; ++c) sum += 0.5 * static_cast<double>(x[64 * n + c]) * x[64 * n + c];
      ASSERT_NEAR(results[0].floats[n], sum, 1e-3) << n;
    }
  };
  axrun_optimizer_info info = {};
  for (int k = 0; k < 600 && info.swapped == 0; ++k) {
    expect_energy();
    int done = 0;
    ASSERT_EQ(axrun_optimizer_wait(loaded.session(), 0.1, &done), AXRUN_OK);
    ASSERT_EQ(axrun_optimizer_status(loaded.session(), &info), AXRUN_OK);
    if (done != 0 && k > 1) break;
  }
  EXPECT_EQ(info.swapped, 1) << info.state << ": " << info.reason << loaded.explanation();
  expect_energy();
}

TEST(CustomText, TheManualsExample) {
  Operators operators;
  operators.add(with_text("MyEnergy",
                          "program Energy(x: f32[n, c], w: f32[c]) -> (y, m) {\n"
                          "  m: f32[n] = reduce max (i: n; j: c) { abs(x[i, j]) }\n"
                          "  y: f32[n] = reduce sum (i: n; j: c) { w[j] * (x[i, j] / m[i]) * (x[i, j] / m[i]) }\n"
                          "}"));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n", "2"}}}, {"y", "m"});
  model.floats("w", {2}, {2, 3});
  model.node("MyEnergy", {"x", "w"}, {"y", "m"});
  Loaded loaded(model.bytes(), &operators);
  const std::vector<Values> results = loaded.run({floats({2, 2}, {1, -2, 4, 0})});
  ASSERT_EQ(results.size(), 2U) << loaded.error();
  EXPECT_EQ(results[0].floats, (std::vector<float>{3.5, 2}));
  EXPECT_EQ(results[1].floats, (std::vector<float>{2, 4}));
}

TEST(CustomText, InputsMustFitIt) {
  Operators operators;
  operators.add(with_text("MyDot",
                          "program Dot(x: f32[n, c], y: f32[c]) -> (z) {\n"
                          "  z: f32[n] = reduce sum (i: n; j: c) { x[i, j] * y[j] }\n"
                          "}"));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"a", "b"}}, {"y", onnx::TensorProto::FLOAT, {"d"}}},
                   {"z"});
  model.node("MyDot", {"x", "y"}, {"z"});
  Loaded loaded(model.bytes(), &operators);
  const std::vector<Values> good = loaded.run({floats({2, 2}, {1, 2, 3, 4}), floats({2}, {10, 1})});
  ASSERT_EQ(good.size(), 1U) << loaded.error();
  EXPECT_EQ(good[0].floats, (std::vector<float>{12, 34}));
  EXPECT_TRUE(loaded.run({floats({2, 2}, {1, 2, 3, 4}), floats({3}, {10, 1, 0})}).empty());
  EXPECT_NE(loaded.error().find("MyDot 'the MyDot'"), std::string::npos) << loaded.error();
  EXPECT_NE(loaded.error().find("input 1 ('y') has shape [3]"), std::string::npos) << loaded.error();

  const auto load_error = [&](const std::vector<Input>& inputs, const std::vector<std::string>& names) {
    ModelMaker other(inputs, {"z"});
    other.node("MyDot", names, {"z"});
    const Loaded refused(other.bytes(), &operators);
    EXPECT_EQ(refused.status(), AXRUN_MODEL_ERROR);
    return refused.error();
  };
  const Input x = {"x", onnx::TensorProto::FLOAT, {"2", "2"}};
  EXPECT_NE(
      load_error({x, {"y", onnx::TensorProto::DOUBLE, {"2"}}}, {"x", "y"}).find("is f64, its text takes f32"),
      std::string::npos);
  EXPECT_NE(load_error({x, {"y", onnx::TensorProto::FLOAT, {"2", "1"}}}, {"x", "y"}).find("shape [2, 1]"),
            std::string::npos);
  EXPECT_NE(load_error({x}, {"x"}).find("input 1 is missing"), std::string::npos);
  EXPECT_NE(load_error({x, {"y", onnx::TensorProto::FLOAT, {"2"}}}, {"x", "y", "x"}).find("its text takes 2"),
            std::string::npos);
}

TEST(CustomText, MistakesAreNamedWithTheirPlace) {
  Operators operators;
  const auto refused = [&](const char* text) { return operators.refused(with_text("MyOp", text)); };
  EXPECT_NE(refused("program P(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] + } }").find("line 1"),
            std::string::npos);
  EXPECT_NE(refused("program P(x: f32[n]) -> (y) { y: f32[m] = map (i: m) { 1:f32 } }").find("'m'"),
            std::string::npos);
  EXPECT_NE(refused("program P(x: f32[n]) -> (y) { y: f32[n] = opaque custom(x) }").find("no kernel"),
            std::string::npos);
  EXPECT_NE(
      refused("program P(x: f32[n]) -> (y) { y: i64[1, n] = opaque nonzero(x) }").find("calls 'nonzero'"),
      std::string::npos);
  EXPECT_NE(refused("no program").find("operator 'MyOp' of domain 'com.example'"), std::string::npos);

  const char* good = "program P(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] + 1:f32 } }";
  axrun_operator made = with_text("MyOp", good);
  made.since = 0;
  EXPECT_NE(operators.refused(made).find("no version 0"), std::string::npos);
  EXPECT_NE(operators.refused(named("MyOp")).find("needs a text"), std::string::npos);
  made = with_text("Relu", good);
  made.domain = "";
  EXPECT_NE(operators.refused(made).find("one of its own"), std::string::npos);
  operators.add(with_text("MyOp", good));
  EXPECT_NE(operators.refused(with_text("MyOp", good)).find("two for version 1"), std::string::npos);
}

TEST(CustomText, TheNewestVersionOfTheModelsCounts) {
  const auto adding = [](int since, const char* text) {
    axrun_operator made = with_text("MyAdd", text);
    made.since = since;
    return made;
  };
  Operators operators;
  operators.add(adding(1, "program P(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] + 1:f32 } }"))
      .add(adding(3, "program P(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] + 3:f32 } }"))
      .add(adding(2, "program P(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] + 2:f32 } }"));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"1"}}}, {"y"});
  model.node("MyAdd", {"x"}, {"y"});  // com.example is at 2
  Loaded loaded(model.bytes(), &operators);
  EXPECT_EQ(loaded.run({floats({1}, {0})})[0].floats[0], 2);
}

TEST(CustomText, WithoutItTheModelIsRefused) {
  const Loaded loaded(surrounded(), nullptr);
  EXPECT_EQ(loaded.status(), AXRUN_UNSUPPORTED);
  EXPECT_NE(loaded.error().find("MySwish"), std::string::npos);
  EXPECT_NE(loaded.error().find("com.example"), std::string::npos);
}

TEST(CustomText, ConstantsAreFolded) {
  Operators operators;
  operators.add(with_text("MySwish", swish));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"1", "2"}}}, {"y"});
  model.floats("w", {1, 2}, {1, 2});
  model.node("MySwish", {"w"}, {"weights"});
  model.node("Mul", {"x", "weights"}, {"y"});
  Loaded loaded(model.bytes(), &operators);
  const std::vector<Values> results = loaded.run({floats({1, 2}, {1, 1})});
  ASSERT_EQ(results.size(), 1U) << loaded.error();
  EXPECT_NEAR(results[0].floats[1], swish_of(2), 1e-6F);
  EXPECT_EQ(loaded.explanation().find("MySwish"), std::string::npos);
}

}  // namespace
}  // namespace axrun::custom_operators_test
