// Operators of a shared library: library/operators.c.
#include "tests/custom_operators/models.h"

namespace axrun::custom_operators_test {
namespace {

TEST(CustomLibrary, ItsOperatorsAreAdded) {
  Operators operators;
  ASSERT_EQ(axrun_operators_load(operators.handle(), AXRUN_OPERATORS_LIBRARY), AXRUN_OK)
      << axrun_last_error();
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n", "2"}}}, {"y"});
  model.node("Neg", {"x"}, {"minus"});
  set(model.node("MyClip", {"minus"}, {"y"}), "high", 4.5);
  Loaded loaded(model.bytes(), &operators);
  const std::vector<Values> results = loaded.run({floats({1, 2}, {3, -9})});
  ASSERT_EQ(results.size(), 1U) << loaded.error();
  EXPECT_EQ(results[0].floats, (std::vector<float>{0, 4.5}));
  EXPECT_NE(loaded.explanation().find("Neg+MyClip"), std::string::npos);

  ModelMaker wrong({{"x", onnx::TensorProto::FLOAT, {"n", "2"}}}, {"y"});
  set(wrong.node("MyClip", {"x"}, {"y"}), "low", 7.0);
  EXPECT_NE(Loaded(wrong.bytes(), &operators).error().find("low is above high"), std::string::npos);
}

TEST(CustomLibrary, WhatIsNoneIsRefused) {
  Operators operators;
  EXPECT_EQ(axrun_operators_load(operators.handle(), "/nowhere/operators.so"), AXRUN_USER_ERROR);
  EXPECT_NE(std::string(axrun_last_error()).find("/nowhere/operators.so"), std::string::npos);
  EXPECT_EQ(axrun_operators_load(operators.handle(), "libm.so.6"), AXRUN_USER_ERROR);
  EXPECT_NE(std::string(axrun_last_error()).find("axrun_add_operators"), std::string::npos);
  // The second time its operator is there.
  ASSERT_EQ(axrun_operators_load(operators.handle(), AXRUN_OPERATORS_LIBRARY), AXRUN_OK);
  EXPECT_EQ(axrun_operators_load(operators.handle(), AXRUN_OPERATORS_LIBRARY), AXRUN_USER_ERROR);
  EXPECT_NE(std::string(axrun_last_error()).find("two for version 1"), std::string::npos);
}

}  // namespace
}  // namespace axrun::custom_operators_test
