#include "runtime/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "ir/error.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;
using runtime::RuntimeValue;

void expect_close(const Tensor& got, const Tensor& want, double tolerance = 1e-5) {
  ASSERT_EQ(got.shape(), want.shape());
  ASSERT_EQ(got.type(), want.type());
  for (int64_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.get_real(i), want.get_real(i), tolerance) << "element " << i;
  }
}

runtime::SessionOptions with_tier(runtime::Tier tier, int threads = 1) {
  runtime::SessionOptions options;
  options.tier = tier;
  options.threads = threads;
  return options;
}

TEST(Session, TiersAgreeOnStaticShapes) {
  const ModelMaker model = residual_network(2);
  const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({2, 3, 12, 12}, 9))};
  const auto want = model.session(with_tier(runtime::Tier::reference))->run(inputs);
  for (int threads : {1, 2}) {
    const auto session = model.session(with_tier(runtime::Tier::fallback, threads));
    for (int repeat = 0; repeat < 3; ++repeat) expect_close(session->run(inputs)[0].tensor, want[0].tensor);
  }
}

TEST(Session, NamedSizesTakeEveryValue) {
  const ModelMaker model = residual_network(ir::Dim::symbol("batch"));
  runtime::SessionOptions options = with_tier(runtime::Tier::fallback);
  options.plan_cache = 2;  // fewer plans than shapes: they come and go
  const auto session = model.session(options);
  const auto reference = model.session(with_tier(runtime::Tier::reference));
  for (int64_t batch : {1, 4, 2, 3, 1, 4, 7}) {
    const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({batch, 3, 12, 12}, 9))};
    expect_close(session->run(inputs)[0].tensor, reference->run(inputs)[0].tensor);
  }
}

/// One name in several inputs, and twice in one, is one size.
TEST(Session, SizesOfOneNameMustAgree) {
  ModelMaker m;
  const ir::Dim n = ir::Dim::symbol("n");
  const auto a = m.input("a", ElementType::f32, {3, n});
  const auto b = m.input("b", ElementType::f32, {n, n});
  m.output(m.node("MatMul", {a, b}));
  for (const runtime::Tier tier : {runtime::Tier::reference, runtime::Tier::fallback}) {
    const auto session = m.session(with_tier(tier));
    const auto refusal = [&](const ir::Shape& left, const ir::Shape& right) -> std::string {
      try {
        session->run({RuntimeValue(Tensor::allocate(ElementType::f32, left)),
                      RuntimeValue(Tensor::allocate(ElementType::f32, right))});
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_EQ(refusal({3, 4}, {4, 4}), "");
    EXPECT_EQ(refusal({3, 5}, {5, 5}), "");
    EXPECT_EQ(refusal({3, 4}, {5, 4}),
              "input 'b' is f32 [5, 4], but the model takes f32 [n, n], and n is 4 in another input");
    EXPECT_EQ(refusal({3, 4}, {4, 5}),
              "input 'b' is f32 [4, 5], but the model takes f32 [n, n], and n is 4 in another input");
    EXPECT_EQ(refusal({2, 4}, {4, 4}), "input 'a' is f32 [2, 4], but the model takes f32 [3, n]");
  }
}

/// What a sequence holds stays as it was returned, though the memory that some of it was computed in is used
/// again.
TEST(Session, SequencesKeepTheirTensors) {
  ModelMaker m;
  const auto x = m.input("x", ElementType::f32, {3, 2});
  const auto sum = m.node("Add", {x, x});
  const auto parts =
      m.node("SplitToSequence", {m.node("Neg", {sum})},
             {{"axis", ModelMaker::attribute(int64_t{0})}, {"keepdims", ModelMaker::attribute(int64_t{0})}});
  const auto pair = m.node("SequenceConstruct", {sum, m.node("Mul", {sum, sum})});
  m.output(parts);
  m.output(pair);
  const auto session = m.session(with_tier(runtime::Tier::fallback));
  const auto run = [&](int seed) { return session->run({RuntimeValue(ModelMaker::random({3, 2}, seed))}); };
  const auto results = run(1);
  for (int seed = 2; seed < 6; ++seed) run(seed);
  const Tensor given = ModelMaker::random({3, 2}, 1);
  ASSERT_EQ(results[0].items->size(), 3u);
  ASSERT_EQ(results[1].items->size(), 2u);
  for (int64_t i = 0; i < 6; ++i) {
    const double sum_there = 2 * given.get_real(i);
    const Tensor& part = (*results[0].items)[static_cast<size_t>(i / 2)].tensor;
    EXPECT_EQ(part.shape(), (ir::Shape{2}));
    EXPECT_NEAR(part.get_real(i % 2), -sum_there, 1e-6);
    EXPECT_NEAR((*results[1].items)[0].tensor.get_real(i), sum_there, 1e-6);
    EXPECT_NEAR((*results[1].items)[1].tensor.get_real(i), sum_there * sum_there, 1e-6);
  }
}

TEST(Session, FixedSizesAreChecked) {
  const ModelMaker model = residual_network(ir::Dim::symbol("batch"));
  runtime::SessionOptions options = with_tier(runtime::Tier::fallback);
  options.dims["batch"] = 2;
  const auto session = model.session(options);
  EXPECT_EQ(ir::to_string(*session->inputs()[0].dims), "[2, 3, 12, 12]");
  EXPECT_EQ(ir::to_string(*session->outputs()[0].dims), "[2, 16]");
  options.dims["nothing"] = 2;
  EXPECT_THROW(model.session(options), Error);
}

/// The message and fault of what `call` throws.
template <typename Call>
std::pair<Fault, std::string> failure_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.fault(), error.what()};
  }
  return {Fault::internal, "no error"};
}

TEST(Session, WrongInputsNameTheInput) {
  const auto session = residual_network(2).session(with_tier(runtime::Tier::fallback));
  const auto check = [&](const std::vector<RuntimeValue>& inputs, const std::string& part) {
    const auto [fault, text] = failure_of([&] { session->run(inputs); });
    EXPECT_EQ(fault, Fault::user);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  check({}, "1 inputs");
  check({RuntimeValue()}, "input 'x' is missing");
  check({RuntimeValue(ModelMaker::random({2, 3, 12}, 1))}, "f32 [2, 3, 12]");
  check({RuntimeValue(ModelMaker::random({3, 3, 12, 12}, 1))}, "takes f32 [2, 3, 12, 12]");
  check({RuntimeValue(Tensor::allocate(ElementType::f64, {2, 3, 12, 12}))}, "f64");
}

TEST(Session, BoundOutputsAreWrittenInPlace) {
  const auto session = residual_network(2).session(with_tier(runtime::Tier::fallback));
  const Tensor input = ModelMaker::random({2, 3, 12, 12}, 9);
  std::vector<Tensor> outputs = {Tensor::allocate(ElementType::f32, {2, 16})};
  const void* buffer = outputs[0].data();
  session->run_into({input}, outputs);
  EXPECT_EQ(outputs[0].data(), buffer);
  expect_close(outputs[0], session->run({RuntimeValue(input)})[0].tensor, 0);
  std::vector<Tensor> wrong = {Tensor::allocate(ElementType::f32, {2, 17})};
  EXPECT_EQ(failure_of([&] { session->run_into({input}, wrong); }).first, Fault::user);
}

TEST(Session, ManyThreadsShareOneSession) {
  const ModelMaker model = residual_network(ir::Dim::symbol("batch"));
  const auto session = model.session(with_tier(runtime::Tier::fallback, 2));
  const auto reference = model.session(with_tier(runtime::Tier::reference));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  std::vector<std::vector<RuntimeValue>> inputs;
  std::vector<Tensor> want;
  for (int64_t t = 0; t < 4; ++t) {
    inputs.push_back({RuntimeValue(ModelMaker::random({t + 1, 3, 12, 12}, static_cast<uint64_t>(t)))});
    want.push_back(reference->run(inputs.back())[0].tensor);
  }
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor got = session->run(inputs[t])[0].tensor;
        for (int64_t k = 0; k < got.size(); ++k) {
          if (std::fabs(got.get_real(k) - want[t].get_real(k)) > 1e-5) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// What only the run can shape
// --------------------------------------------------------------------------------------

/// y = x[x > 0] * 2 summed with its count, through NonZero: shapes depend on data.
ModelMaker data_dependent() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::f32, {10});
  const ir::ValueId doubled = m.node("Add", {x, x});
  const ir::ValueId positive = m.node("Greater", {x, m.constant(Tensor::scalar(ElementType::f32, 0))});
  const ir::ValueId where = m.node("NonZero", {positive});
  const ir::ValueId rows = m.node("Transpose", {where});
  const ir::ValueId picked = m.node("GatherND", {doubled, rows});
  const ir::ValueId count = m.node("Shape", {picked});
  const ir::ValueId range =
      m.node("Range", {m.constant(Tensor::scalar(ElementType::i64, 0)), m.node("Squeeze", {count}),
                       m.constant(Tensor::scalar(ElementType::i64, 1))});
  ir::Attribute to;
  to.integer = 1;
  const ir::ValueId numbers = m.node("Cast", {range}, {{"to", to}});
  m.output(m.node("Add", {picked, numbers}));
  m.output(doubled);
  return m;
}

TEST(Session, ShapesThatDependOnData) {
  const ModelMaker model = data_dependent();
  const auto session = model.session(with_tier(runtime::Tier::fallback));
  const auto reference = model.session(with_tier(runtime::Tier::reference));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({10}, seed))};
    const auto got = session->run(inputs);
    const auto want = reference->run(inputs);
    expect_close(got[0].tensor, want[0].tensor);
    expect_close(got[1].tensor, want[1].tensor);
  }
  const std::vector<RuntimeValue> none = {RuntimeValue(Tensor::allocate(ElementType::f32, {10}))};
  EXPECT_EQ(session->run(none)[0].tensor.shape(), ir::Shape({0}));
}

/// The definition wants to see three numbers, and says so one after the other.
TEST(Session, SizesThatSeveralNumbersDecide) {
  ModelMaker m;
  std::vector<ir::ValueId> numbers;
  for (const char* name : {"start", "limit", "delta"}) numbers.push_back(m.input(name, ElementType::f32, {}));
  m.output(m.node("Neg", {m.node("Range", numbers)}));
  const auto session = m.session(with_tier(runtime::Tier::fallback));
  for (const double delta : {1.0, 0.5, 2.0, 0.5}) {
    std::vector<RuntimeValue> inputs;
    for (const double number : {-1.0, 3.0, delta})
      inputs.emplace_back(Tensor::scalar(ElementType::f32, number));
    const Tensor got = session->run(inputs)[0].tensor;
    ASSERT_EQ(got.shape(), ir::Shape({static_cast<int64_t>(4 / delta)}));
    for (int64_t k = 0; k < got.size(); ++k)
      EXPECT_EQ(got.get_real(k), 1 - static_cast<double>(k) * delta) << delta;
  }
}

TEST(Session, StringsOfTheSameShapeAreNotTheSameStrings) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::string, {4});
  const ir::ValueId rows = m.input("rows", ElementType::i64, {1});
  const ir::ValueId shape = m.node("Concat", {m.node("Add", {rows, m.integers({1})}), m.integers({-1})},
                                   {{"axis", ModelMaker::attribute(int64_t{0})}});
  m.output(m.node("Reshape", {x, shape}), ElementType::string);
  const auto session = m.session(with_tier(runtime::Tier::fallback));
  for (const std::string prefix : {"a", "b"}) {
    const Tensor strings =
        Tensor::from_strings({4}, {prefix + "0", prefix + "1", prefix + "2", prefix + "3"});
    const Tensor got = session->run({RuntimeValue(strings), RuntimeValue(Tensor::from_i64({1}))})[0].tensor;
    ASSERT_EQ(got.shape(), ir::Shape({2, 2}));
    for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(got.strings()[k], prefix + std::to_string(k));
  }
}

TEST(Session, OutputsMayBeInputsAndConstants) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::f32, {2, 3});
  const ir::ValueId flat = m.node("Reshape", {x, m.integers({6})});
  m.output(x);
  m.output(flat);
  m.output(m.node("Identity", {m.weights({4}, 3)}));
  const ir::ValueId twice = m.node("Add", {flat, flat});
  m.output(twice);
  m.output(m.node("Reshape", {twice, m.integers({3, 2})}));
  const auto session = m.session(with_tier(runtime::Tier::fallback));
  const Tensor input = ModelMaker::random({2, 3}, 1);
  const auto got = session->run({RuntimeValue(input)});
  expect_close(got[0].tensor, input, 0);
  EXPECT_NE(got[0].tensor.data(), input.data());
  expect_close(got[1].tensor, input.reshaped({6}), 0);
  expect_close(got[2].tensor, ModelMaker::random({4}, 3), 0);
  EXPECT_EQ(got[3].tensor.get_real(5), 2 * input.get_real(5));
  expect_close(got[4].tensor, got[3].tensor.reshaped({3, 2}), 0);
}

/// x [4], trips: s_0 = 0; s_{i+1} = s_i + x; relu of the last s, and s_i * w of every trip.
ModelMaker accumulating_loop() {
  auto body = std::make_shared<ir::Graph>();
  body->name = "body";
  const auto add = [&](const std::string& name, ElementType type) {
    ir::Value value;
    value.name = name;
    value.type = type;
    return body->add_value(value);
  };
  const ir::ValueId i = add("i", ElementType::i64), go = add("go", ElementType::boolean),
                    s = add("s", ElementType::f32);
  body->value(i).dims = body->value(go).dims = ir::Dims{};
  body->value(s).dims = ir::Dims{4};
  const ir::ValueId x_in = add("x", ElementType::f32), w_in = add("w", ElementType::f32);
  const ir::ValueId next = add("next", ElementType::f32), scaled = add("scaled", ElementType::f32),
                    more = add("more", ElementType::boolean);
  body->inputs = {i, go, s};
  const auto emit = [&](const std::string& op, std::vector<ir::ValueId> inputs, ir::ValueId output) {
    ir::Node node;
    node.name = op + std::to_string(output);
    node.op = op;
    node.version = 17;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    body->nodes.push_back(node);
  };
  emit("Add", {s, x_in}, next);
  emit("Mul", {s, w_in}, scaled);
  emit("Identity", {go}, more);
  body->outputs = {more, next, scaled};

  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::f32, {4});
  const ir::ValueId trips = m.input("trips", ElementType::i64, {});
  const ir::ValueId w = m.weights({4}, 8);
  const ir::ValueId zero = m.constant(Tensor::allocate(ElementType::f32, {4}));
  body->captures = {{x, x_in}, {w, w_in}};
  ir::Tensor yes = Tensor::allocate(ElementType::boolean, {});
  yes.set_int(0, 1);
  const ir::ValueId final_sum =
      m.node("Loop", {trips, m.constant(yes), zero}, {{"body", ModelMaker::attribute(body)}});
  ir::Value stacked;
  stacked.name = "stacked";
  const ir::ValueId stack = m.graph().add_value(stacked);
  m.graph().nodes.back().outputs.push_back(stack);
  m.output(m.node("Relu", {final_sum}));
  m.output(stack);
  return m;
}

std::vector<RuntimeValue> trips(int64_t count) {
  return {RuntimeValue(ModelMaker::random({4}, 2)),
          RuntimeValue(Tensor::scalar(ElementType::i64, static_cast<double>(count)))};
}

TEST(Session, LoopWithCapturesAndScanOutputs) {
  const ModelMaker m = accumulating_loop();
  const auto fallback = m.session(with_tier(runtime::Tier::fallback));
  const auto reference = m.session(with_tier(runtime::Tier::reference));
  for (int64_t count : {3, 1, 0, 5}) {
    const auto got = fallback->run(trips(count));
    const auto want = reference->run(trips(count));
    expect_close(got[0].tensor, want[0].tensor);
    if (count > 0) {
      expect_close(got[1].tensor, want[1].tensor);
      EXPECT_EQ(got[1].tensor.shape(), ir::Shape({count, 4}));
    }
  }
}

/// The model with w as a value that the Loop carries and hands on unchanged, and gives at the end.
ModelMaker loop_that_carries_its_weights() {
  ModelMaker m = accumulating_loop();
  ir::Node& loop = m.graph().nodes.front();
  ir::Graph& body = *loop.attributes.at("body").graph;
  const auto [w, w_in] = body.captures.back();
  body.captures.pop_back();
  body.inputs.push_back(w_in);
  body.outputs.insert(body.outputs.begin() + 2, w_in);
  loop.inputs.push_back(w);
  ir::Value given;
  given.name = "given";
  const ir::ValueId last = m.graph().add_value(given);
  loop.outputs.insert(loop.outputs.begin() + 1, last);
  m.output(last);
  return m;
}

TEST(Session, WhatALoopCarriesUnchangedIsWhatItBeginsWith) {
  const auto given = accumulating_loop().session(with_tier(runtime::Tier::fallback));
  const ModelMaker m = loop_that_carries_its_weights();
  const auto fallback = m.session(with_tier(runtime::Tier::fallback));
  const auto reference = m.session(with_tier(runtime::Tier::reference));
  for (int64_t count : {3, 1, 0, 5}) {
    const auto want = given->run(trips(count));
    for (runtime::Session* session : {fallback.get(), reference.get()}) {
      const auto got = session->run(trips(count));
      ASSERT_EQ(got.size(), 3U);
      for (size_t k = 0; k < want.size(); ++k) expect_close(got[k].tensor, want[k].tensor);
      expect_close(got[2].tensor, ModelMaker::random({4}, 8));
    }
  }
}

TEST(Session, TimesOfBodiesAreNotCountedTwice) {
  const auto session = accumulating_loop().session();
  constexpr int runs = 2, count = 7;
  const auto steps = session->profile_runs(trips(count), runs);
  double all = 0, outer = 0, inner = 0, nested = 0;
  int inner_steps = 0;
  for (const runtime::StepProfile& step : steps) {
    all += step.own_us();
    nested += step.nested_us;
    EXPECT_GE(step.own_us(), 0) << step.op;
    EXPECT_TRUE(step.nested_us == 0 || step.op == "Loop") << step.op;
    EXPECT_TRUE(step.runs == runs || step.runs == runs * count) << step.op << ": " << step.runs;
    inner_steps += step.runs == runs * count ? 1 : 0;
    (step.runs == runs ? outer : inner) += step.total_us;
  }
  EXPECT_GE(inner_steps, 2);
  EXPECT_NEAR(nested, inner, 1e-6 * inner);
  EXPECT_NEAR(all, outer, 1e-6 * outer);
  EXPECT_TRUE(session->profile().empty());
}

TEST(Session, ConflictingShapesAreRefusedAtLoad) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::f32, {2, 3});
  m.output(m.node("Add", {x, m.weights({4}, 1)}));
  const auto [fault, text] = failure_of([&] { m.session(); });
  EXPECT_EQ(fault, Fault::model);
  EXPECT_NE(text.find("[2, 3], [4] cannot be broadcast"), std::string::npos) << text;
}

TEST(Session, BadDataIsTheUsersFault) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::f32, {5, 2});
  const ir::ValueId index = m.input("index", ElementType::i64, {1});
  m.output(m.node("Gather", {x, index}));
  for (runtime::Tier tier : {runtime::Tier::fallback, runtime::Tier::reference}) {
    const auto session = m.session(with_tier(tier));
    const auto run = [&](int64_t at) {
      session->run({RuntimeValue(ModelMaker::random({5, 2}, 1)), RuntimeValue(Tensor::from_i64({at}))});
    };
    run(4);
    run(-5);
    for (int64_t at : {int64_t{5}, int64_t{-6}, INT64_MAX, INT64_MIN}) {
      const auto [fault, text] = failure_of([&] { run(at); });
      EXPECT_EQ(fault, Fault::user);
      EXPECT_NE(text.find("Gather"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace axrun::tests
