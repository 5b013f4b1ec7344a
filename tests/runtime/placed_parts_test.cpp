// Concat whose inputs are written where they are read as its result.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;
using Values = std::vector<RuntimeValue>;

ValueId together(ModelMaker& m, const std::vector<ValueId>& parts, int64_t axis = 1) {
  return m.node("Concat", parts, {{"axis", ModelMaker::attribute(axis)}});
}

ValueId softmax(ModelMaker& m, ValueId x) { return m.node("Softmax", {x}); }

/// x: f32 [batch, channels, 4, 4]; answers are the definition's, run after run. Returns how many Concats are
/// steps.
int concat_steps(ModelMaker& m, int64_t batch = 1, int64_t channels = 4) {
  SessionOptions reference, plain;
  reference.threads = plain.threads = 1;
  reference.tier = Tier::reference;
  plain.tier = Tier::fallback;
  const ir::Shape shape = {batch, channels, 4, 4};
  const auto session = m.session(plain);
  const auto definition = m.session(reference);
  for (const uint64_t seed : {1, 2, 3}) {
    const Values input = {RuntimeValue(ModelMaker::random(shape, seed))};
    const Values got = session->run(input), want = definition->run(input);
    EXPECT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) {
      EXPECT_EQ(got[k].tensor.shape(), want[k].tensor.shape());
      for (int64_t i = 0; i < want[k].tensor.size(); ++i) {
        EXPECT_NEAR(got[k].tensor.get_real(i), want[k].tensor.get_real(i), 1e-5)
            << "output " << k << ", element " << i << ", seed " << seed;
      }
    }
  }
  const std::vector<Step>& steps = session->current_plan({shape})->steps();
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.work->ops == "Concat"; }));
}

ValueId image(ModelMaker& m, int64_t batch = 1, int64_t channels = 4) {
  return m.input("x", ElementType::f32, {batch, channels, 4, 4});
}

TEST(PlacedParts, NeedNoCopy) {
  ModelMaker m;
  const ValueId x = image(m);
  m.output(
      softmax(m, together(m, {softmax(m, x), m.node("MatMul", {x, x}), softmax(m, m.node("Abs", {x}))})));
  EXPECT_EQ(concat_steps(m), 0);
}

TEST(PlacedParts, AreReadByOthersBeforeAndAfter) {
  ModelMaker m;
  const ValueId x = image(m);
  const ValueId a = softmax(m, x), b = m.node("MatMul", {x, x});
  const ValueId early = softmax(m, a);
  const ValueId whole = together(m, {a, b});
  const ValueId read = softmax(m, whole);
  // Elementwise work would take over the place of what ends with it: of a part, and of the whole.
  const ValueId late = m.node("Sigmoid", {a});
  m.output(softmax(m, together(m, {late, early}, -3)));
  m.output(m.node("Tanh", {whole}));
  m.output(read);
  m.output(softmax(m, m.node("Relu", {b})));
  EXPECT_EQ(concat_steps(m), 0);
}

TEST(PlacedParts, MayBeMadeOfParts) {
  ModelMaker m;
  ValueId all = softmax(m, image(m));
  std::vector<ValueId> read;
  for (int k = 0; k < 4; ++k) {
    // Reads 4, 8, ... channels and adds four.
    const ValueId four = m.node("Conv", {all, m.weights({4, 4 * (k + 1), 1, 1}, static_cast<uint64_t>(k))});
    all = together(m, {all, four});
    read.push_back(m.node("ReduceMean", {m.node("Sigmoid", {all})}));
  }
  m.output(softmax(m, all));
  for (const ValueId id : read) m.output(id);
  EXPECT_EQ(concat_steps(m), 0);
}

TEST(PlacedParts, AreCopiedWhereTheyHaveAnotherPlace) {
  const auto steps = [](const std::function<void(ModelMaker&, ValueId)>& body) {
    ModelMaker m;
    body(m, image(m));
    return concat_steps(m);
  };
  EXPECT_EQ(steps([](ModelMaker& m, ValueId x) {
              m.output(softmax(m, together(m, {x, softmax(m, x)})));
            }),
            1)
      << "inputs";
  EXPECT_EQ(steps([](ModelMaker& m, ValueId x) {
              m.output(softmax(m, together(m, {softmax(m, x), m.weights({1, 4, 4, 4}, 1)})));
            }),
            1)
      << "constants";
  EXPECT_EQ(steps([](ModelMaker& m, ValueId x) {
              const ValueId a = softmax(m, x);
              m.output(softmax(m, together(m, {a, a})));
            }),
            1)
      << "the same twice";
  EXPECT_EQ(steps([](ModelMaker& m, ValueId x) {
              const ValueId a = softmax(m, x), b = m.node("MatMul", {x, x});
              m.output(softmax(m, together(m, {a, b})));
              m.output(softmax(m, together(m, {b, a})));
            }),
            1)
      << "parts of two: of one of them only";
  EXPECT_EQ(steps([](ModelMaker& m, ValueId x) {
              m.output(together(m, {softmax(m, x), m.node("MatMul", {x, x})}));
            }),
            1)
      << "results of the model";
  EXPECT_EQ(steps([](ModelMaker& m, ValueId x) {
              m.output(softmax(m, together(m, {softmax(m, x), m.node("MatMul", {x, x})}, 2)));
            }),
            1)
      << "parts that do not follow one another";
}

TEST(PlacedParts, MayBeResultsInAnotherForm) {
  ModelMaker m;
  const ValueId x = image(m);
  const ValueId a = softmax(m, x), b = m.node("MatMul", {x, x});
  const ValueId whole = together(m, {a, b});
  m.output(m.node("Reshape", {a, m.integers({8, 8})}));
  m.output(softmax(m, whole));
  m.output(m.node("Reshape", {whole, m.integers({-1})}));
  concat_steps(m);
}

TEST(PlacedParts, BeginWhereKernelsExpectIt) {
  // One channel of 16 floats is 64 bytes; of 3x4x4 in batches nothing follows.
  ModelMaker aligned;
  const ValueId x = image(aligned, 1, 1);
  aligned.output(softmax(aligned, together(aligned, {softmax(aligned, x), aligned.node("MatMul", {x, x})})));
  EXPECT_EQ(concat_steps(aligned, 1, 1), 0);
  ModelMaker batches;
  const ValueId two = image(batches, 2, 4);
  batches.output(
      softmax(batches, together(batches, {softmax(batches, two), batches.node("MatMul", {two, two})})));
  EXPECT_EQ(concat_steps(batches, 2, 4), 1);
  ModelMaker odd;
  const ValueId y = image(odd, 1, 4);
  const ValueId few = odd.node("ReduceSum", {y, odd.integers({1, 3})});  // [1, 1, 4, 1]: 16 bytes
  const ValueId wide = odd.node("ReduceSum", {y, odd.integers({3})});
  odd.output(softmax(odd, together(odd, {few, wide})));
  EXPECT_EQ(concat_steps(odd), 1);
}

}  // namespace
}  // namespace axrun::tests
