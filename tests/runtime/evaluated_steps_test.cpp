// Steps that are evaluated by their expressions, since they touch strings or only the run can shape a result:
// what they give of known shape is read by kernels, views, bodies and joined results like any other tensor.
#include <gtest/gtest.h>

#include <functional>

#include "onnx_import/export.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::Tensor;
using ir::ValueId;
using Values = std::vector<RuntimeValue>;

ir::Attribute strings(std::vector<std::string> values) {
  ir::Attribute a;
  a.kind = ir::Attribute::Kind::strings;
  a.strings = std::move(values);
  return a;
}

/// The position of each text of `words` among "a", "b", "c"; -1 elsewhere.
ValueId encoded(ModelMaker& m, ValueId words) {
  const ValueId id = m.node("LabelEncoder", {words},
                            {{"keys_strings", strings({"a", "b", "c"})},
                             {"values_int64s", ModelMaker::attribute(std::vector<int64_t>{0, 1, 2})}});
  m.graph().nodes.back().domain = "ai.onnx.ml";
  m.graph().nodes.back().version = 2;
  return id;
}

std::unique_ptr<Session> session_of(ModelMaker& m, Tier tier) {
  ir::Model model;
  model.graph = std::make_shared<ir::Graph>(m.graph());
  model.ir_version = 8;
  model.opsets = {{"", 17}, {"ai.onnx.ml", 2}};
  const std::string bytes = onnx_import::export_memory(model);
  return Session::load_memory(bytes.data(), bytes.size(), one_thread(tier));
}

/// A model of x: string [N] answers alike in both tiers, for several N and run after run.
void expect_tiers_agree(const std::function<void(ModelMaker&, ValueId)>& body) {
  ModelMaker m;
  body(m, m.input("x", ElementType::string, {ir::Dim::symbol("N")}));
  const auto reference = session_of(m, Tier::reference);
  const auto fallback = session_of(m, Tier::fallback);
  const std::vector<std::vector<std::string>> inputs = {{"b"}, {"c", "a", "c", "?"}, {}, {"b"}};
  for (const std::vector<std::string>& words : inputs) {
    const Values given = {
        RuntimeValue(Tensor::from_strings({static_cast<int64_t>(words.size())}, std::vector(words)))};
    const Values want = reference->run(given), got = fallback->run(given);
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) {
      ASSERT_EQ(got[k].tensor.type(), want[k].tensor.type()) << "output " << k;
      ASSERT_EQ(got[k].tensor.shape(), want[k].tensor.shape()) << "output " << k;
      for (int64_t i = 0; i < want[k].tensor.size(); ++i) {
        if (want[k].tensor.type() == ElementType::string) {
          EXPECT_EQ(got[k].tensor.as<std::string>()[i], want[k].tensor.as<std::string>()[i]);
        } else {
          EXPECT_EQ(got[k].tensor.get_real(i), want[k].tensor.get_real(i)) << "output " << k;
        }
      }
    }
  }
}

TEST(EvaluatedSteps, GiveNumbersToKernels) {
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId i = encoded(m, x);
    m.output(m.node("Mul", {i, i}), ElementType::i64);
  });
  expect_tiers_agree(
      [](ModelMaker& m, ValueId x) { m.output(m.node("Neg", {encoded(m, x)}), ElementType::i64); });
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId i = encoded(m, x);
    m.output(i, ElementType::i64);
    m.output(m.node("CumSum", {i, m.integers({0})}), ElementType::i64);  // the interpreter's kernel
    m.output(i, ElementType::i64);
  });
}

TEST(EvaluatedSteps, GiveNumbersToViews) {
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId column = m.node("Reshape", {encoded(m, x), m.integers({-1, 1})});
    m.output(column, ElementType::i64);
    m.output(m.node("ReduceSum", {m.node("Unsqueeze", {column, m.integers({0})}), m.integers({1})}),
             ElementType::i64);
  });
}

TEST(EvaluatedSteps, GiveNumbersToJoinedResults) {
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const auto axis = ModelMaker::attribute(int64_t{0});
    const ValueId i = encoded(m, x);
    const ValueId eight = m.node("Expand", {m.node("Neg", {i}), m.integers({8, 1})});
    const ValueId row = m.node("Unsqueeze", {encoded(m, x), m.integers({0})});
    m.output(m.node("Abs", {m.node("Concat", {eight, row}, {{"axis", axis}})}), ElementType::i64);
    m.output(m.node("Concat", {i, i}, {{"axis", axis}}), ElementType::i64);
  });
}

TEST(EvaluatedSteps, GiveNumbersToBodiesAndSequences) {
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId i = encoded(m, x);
    const auto branch = [&](const std::string& op) {
      ModelMaker body;
      ir::Value outer;
      outer.name = "captured";
      const ValueId inner = body.graph().add_value(outer);
      body.graph().captures.emplace_back(i, inner);
      body.output(body.node(op, {inner, inner}), ElementType::i64);
      return body_of(body, op);
    };
    const ValueId some = m.node(
        "ReduceMax", {m.node("Concat", {i, m.integers({0})}, {{"axis", ModelMaker::attribute(int64_t{0})}})},
        {{"keepdims", ModelMaker::attribute(int64_t{0})}});
    const ValueId flag = m.node("Greater", {some, m.constant(Tensor::scalar(ElementType::i64, 1))});
    m.output(m.node("If", {flag}, {{"then_branch", branch("Add")}, {"else_branch", branch("Mul")}}),
             ElementType::i64);
    m.output(m.node("ConcatFromSequence", {m.node("SequenceConstruct", {i, m.node("Neg", {i})})},
                    {{"axis", ModelMaker::attribute(int64_t{0})}}),
             ElementType::i64);
  });
}

/// Elementwise work on strings is evaluated alone, though elementwise work on numbers follows.
TEST(EvaluatedSteps, CompareStrings) {
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId same = m.node("Equal", {x, m.constant(Tensor::from_strings({1}, {"c"}))});
    m.output(m.node("Not", {same}), ElementType::boolean);
  });
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId same = m.node("Equal", {x, m.node("Identity", {x})});

    const ValueId bytes = m.node("Cast", {same}, {{"to", ModelMaker::attribute(int64_t{2})}});
    m.output(m.node("Add", {bytes, bytes}), ElementType::u8);
    m.output(m.node("Where", {same, x, x}), ElementType::string);
  });
}

/// One result has a shape that only the run can tell; the places of the elements have the input's.
TEST(EvaluatedSteps, GiveKnownShapesBesideUnknownOnes) {
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId words = m.node("Unique", {encoded(m, x)});
    ir::Node& unique = m.graph().nodes.back();
    ir::Value inverse;
    inverse.name = "inverse";
    const ValueId places = m.graph().add_value(inverse);
    unique.outputs = {words, ir::absent, places};
    m.output(m.node("Mul", {places, places}), ElementType::i64);
    m.output(words, ElementType::i64);
    m.output(m.node("Gather", {words, places}), ElementType::i64);
  });
}

/// The values of what is evaluated decide a shape.
TEST(EvaluatedSteps, GiveSizes) {
  expect_tiers_agree([](ModelMaker& m, ValueId x) {
    const ValueId i = encoded(m, x);
    const ValueId sizes = m.node("Add", {m.node("Mul", {i, i}), m.integers({1})});
    m.output(m.node("Expand", {m.constant(Tensor::scalar(ElementType::i64, 7)), sizes}), ElementType::i64);
  });
}

}  // namespace
}  // namespace axrun::tests
