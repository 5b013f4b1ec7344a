// Values that runs hand on: what they are when the caller feeds them back.
#include "runtime/run_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "ir/error.h"
#include "runtime/run_control.h"
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
using Feeds = std::map<std::string, std::string>;

const Dim batch = Dim::symbol("batch");
const Dim fresh = Dim::symbol("fresh");
const Dim past = Dim::symbol("past");

ir::Attribute axes(std::vector<int64_t> values) { return ModelMaker::attribute(std::move(values)); }

/// x [batch, fresh, 6] by two heads of three, which look at all that has been there; outputs y, keys, values.
/// with_past: one more output, which reads the values from before.
ModelMaker attention(bool with_past = false) {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {batch, fresh, 6});
  const ValueId past_keys = m.input("past_keys", ElementType::f32, {batch, 2, past, 3});
  const ValueId past_values = m.input("past_values", ElementType::f32, {batch, 2, past, 3});
  const auto heads = [&](uint64_t seed) {
    const ValueId split =
        m.node("Reshape", {m.node("MatMul", {x, m.weights({6, 6}, seed)}), m.integers({0, 0, 2, 3})});
    return m.node("Transpose", {split}, {{"perm", axes({0, 2, 1, 3})}});
  };
  const auto joined = [&](ValueId before, uint64_t seed, const char* name) {
    const ValueId all = m.node("Concat", {before, heads(seed)}, {{"axis", ModelMaker::attribute(-2)}});
    m.graph().value(all).name = name;
    return all;
  };
  const ValueId keys = joined(past_keys, 2, "keys"), values = joined(past_values, 3, "values");
  const ValueId turned = m.node("Transpose", {keys}, {{"perm", axes({0, 1, 3, 2})}});
  const ValueId weights =
      m.node("Softmax", {m.node("MatMul", {heads(1), turned})}, {{"axis", ModelMaker::attribute(-1)}});
  m.output(m.node("MatMul", {weights, values}));
  m.output(keys);
  m.output(values);
  if (with_past) m.output(m.node("ReduceSum", {m.node("Tanh", {past_values}), m.integers({2})}));
  return m;
}

const Feeds caches = {{"keys", "past_keys"}, {"values", "past_values"}};

/// h' = tanh(x + h w), which has no buffer of its own.
ModelMaker recurrent() {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {batch, 4});
  const ValueId h = m.input("h", ElementType::f32, {batch, 4});
  const ValueId next = m.node("Tanh", {m.node("Add", {x, m.node("MatMul", {h, m.weights({4, 4}, 5)})})});
  m.graph().value(next).name = "next";
  m.output(m.node("Mul", {next, x}));
  m.output(next);
  return m;
}

void expect_same(const ir::Tensor& got, const ir::Tensor& wanted) {
  ASSERT_EQ(got.type(), wanted.type());
  ASSERT_EQ(got.shape(), wanted.shape());
  if (got.bytes() == 0) return;
  EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.bytes()), 0);
}

/// Up to rounding: products that read in a buffer may add up in another order.
void expect_rounded(const ir::Tensor& got, const ir::Tensor& wanted) {
  ASSERT_EQ(got.type(), wanted.type());
  ASSERT_EQ(got.shape(), wanted.shape());
  for (int64_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got.as<float>()[k], wanted.as<float>()[k], 1e-5) << k;
}

/// The caller's own way: outputs become inputs.
class FedBack {
 public:
  FedBack(Session& session, int64_t rows) : session_(&session) {
    keys_ = values_ = ir::Tensor::allocate(ElementType::f32, {rows, 2, 0, 3});
  }
  Values run(const ir::Tensor& x) {
    Values results = session_->run({x, keys_, values_});
    keys_ = results[1].tensor;
    values_ = results[2].tensor;
    return results;
  }
  const ir::Tensor& keys() const { return keys_; }
  const ir::Tensor& values() const { return values_; }

 private:
  Session* session_;
  ir::Tensor keys_, values_;
};

ir::Tensor token(int64_t rows, int64_t count, uint64_t seed) {
  return ModelMaker::random({rows, count, 6}, seed);
}

void expect_refused(const std::function<void()>& call, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

class RunStates : public testing::TestWithParam<Tier> {
 protected:
  SessionOptions options() const { return one_thread(GetParam()); }
};

TEST_P(RunStates, GrowInPlaceAsTheyGrowFedBack) {
  for (const bool with_past : {false, true}) {
    const auto session = attention(with_past).session(options());
    FedBack wanted(*session, 2);
    const auto state = session->new_state(caches, 40);
    EXPECT_EQ(state->length(), 0);
    EXPECT_EQ(state->capacity(), 40);
    int64_t length = 0;
    for (const int64_t count : {5, 1, 1, 3, 1, 0, 1, 7}) {
      const ir::Tensor x = token(2, count, static_cast<uint64_t>(length) + 3);
      const Values expected = wanted.run(x);
      const Values got = session->run({x, {}, {}}, *state);
      ASSERT_EQ(got.size(), expected.size());
      expect_rounded(got[0].tensor, expected[0].tensor);
      EXPECT_FALSE(got[1].present());
      EXPECT_FALSE(got[2].present());
      if (with_past) expect_same(got[3].tensor, expected[3].tensor);
      length += count;
      EXPECT_EQ(state->length(), length);
      expect_same(state->get("past_keys"), wanted.keys());
      expect_same(state->get("past_values"), wanted.values());
    }
  }
}

TEST_P(RunStates, BeginAgainWithOtherRows) {
  const auto session = attention().session(options());
  const auto state = session->new_state(caches, 8);
  for (const int64_t rows : {1, 3, 3, 2}) {
    FedBack wanted(*session, rows);
    for (uint64_t k = 0; k < 4; ++k) {
      const ir::Tensor x = token(rows, 2, k);
      expect_rounded(session->run({x, {}, {}}, *state)[0].tensor, wanted.run(x)[0].tensor);
    }
    EXPECT_EQ(state->length(), 8);
    state->reset();
    EXPECT_EQ(state->length(), 0);
    EXPECT_FALSE(state->get("past_keys").defined());
  }
}

TEST_P(RunStates, OfRecurrentModelsAreHandedOn) {
  const auto session = recurrent().session(options());
  const auto state = session->new_state({{"next", "h"}}, 1);
  ir::Tensor h = ir::Tensor::allocate(ElementType::f32, {3, 4});
  const auto step = [&](uint64_t seed) {
    const ir::Tensor x = ModelMaker::random({3, 4}, seed);
    const Values wanted = session->run({x, h});
    h = wanted[1].tensor;
    const Values got = session->run({x, {}}, *state);
    expect_same(got[0].tensor, wanted[0].tensor);
    expect_same(state->get("h"), h);
  };
  for (uint64_t k = 0; k < 5; ++k) step(k);
  EXPECT_EQ(state->length(), 0);
  state->reset();
  h = ir::Tensor::allocate(ElementType::f32, {3, 4});
  step(9);
  h = ModelMaker::random({3, 4}, 77);
  state->set("h", h);
  for (uint64_t k = 0; k < 3; ++k) step(20 + k);
}

TEST_P(RunStates, ForksGoOnByThemselves) {
  const auto session = attention().session(options());
  FedBack prompt(*session, 1);
  auto root = session->new_state(caches, 32);
  const ir::Tensor text = token(1, 6, 1);
  prompt.run(text);
  session->run({text, {}, {}}, *root);
  std::vector<std::unique_ptr<RunState>> states;
  std::vector<FedBack> wanted;
  for (int k = 0; k < 4; ++k) {
    states.push_back(k == 3 ? states[1]->fork() : root->fork());
    wanted.push_back(prompt);
  }
  states.push_back(std::move(root));
  wanted.push_back(prompt);
  for (uint64_t turn = 0; turn < 5; ++turn) {
    for (size_t k = 0; k < states.size(); ++k) {
      const ir::Tensor x = token(1, 1 + static_cast<int64_t>(k % 2), 100 * turn + k);
      expect_rounded(session->run({x, {}, {}}, *states[k])[0].tensor, wanted[k].run(x)[0].tensor);
    }
    if (turn != 2) continue;
    // As beams do: the second one goes on twice, the third one ends.
    states[2] = states[1]->fork();
    wanted[2] = wanted[1];
  }
  for (size_t k = 0; k < states.size(); ++k) expect_same(states[k]->get("past_values"), wanted[k].values());
}

TEST_P(RunStates, OfRecurrentModelsFork) {
  const auto session = recurrent().session(options());
  auto state = session->new_state({{"next", "h"}}, 1);
  const auto x = [](uint64_t seed) { return RuntimeValue(ModelMaker::random({1, 4}, seed)); };
  for (uint64_t k = 0; k < 3; ++k) session->run({x(k), {}}, *state);
  const ir::Tensor at_fork = state->get("h");
  const auto other = state->fork();
  for (uint64_t k = 0; k < 3; ++k) session->run({x(k), {}}, *state);
  expect_same(other->get("h"), at_fork);
  const Values wanted = session->run({x(50), at_fork});
  expect_same(session->run({x(50), {}}, *other)[0].tensor, wanted[0].tensor);
}

TEST_P(RunStates, BeyondTheCapacityAreRefusedAndUnchanged) {
  const auto session = attention().session(options());
  FedBack wanted(*session, 1);
  const auto state = session->new_state(caches, 5);
  const ir::Tensor x = token(1, 3, 1);
  wanted.run(x);
  session->run({x, {}, {}}, *state);
  for (int k = 0; k < 2; ++k)
    expect_refused([&] { session->run({token(1, 3, 2), {}, {}}, *state); }, "capacity of 5");
  EXPECT_EQ(state->length(), 3);
  expect_same(state->get("past_keys"), wanted.keys());
  const ir::Tensor last = token(1, 2, 3);
  expect_rounded(session->run({last, {}, {}}, *state)[0].tensor, wanted.run(last)[0].tensor);
  expect_refused([&] { session->run({token(1, 1, 2), {}, {}}, *state); }, "capacity of 5");
  expect_refused([&] { state->set("past_keys", ModelMaker::random({1, 2, 6, 3}, 1)); }, "capacity of 5");
}

TEST_P(RunStates, AreUnchangedByRunsThatFail) {
  const auto session = attention().session(options());
  const auto state = session->new_state(caches, 8);
  // Of a first run that fails, nothing stays: not even its number of rows.
  expect_refused([&] { session->run({ModelMaker::random({3, 1, 5}, 1), {}, {}}, *state); }, "'x'");
  FedBack wanted(*session, 2);
  const ir::Tensor x = token(2, 2, 1);
  expect_rounded(session->run({x, {}, {}}, *state)[0].tensor, wanted.run(x)[0].tensor);
  RunControl control;
  control.cancel();
  EXPECT_THROW(session->run({x, {}, {}}, *state, &control), RunEnded);
  expect_refused([&] { session->run({token(1, 1, 1), {}, {}}, *state); }, "batch");
  EXPECT_EQ(state->length(), 2);
  expect_rounded(session->run({x, {}, {}}, *state)[0].tensor, wanted.run(x)[0].tensor);
}

TEST_P(RunStates, TakeFirstValues) {
  const auto session = attention().session(options());
  const auto state = session->new_state(caches, 16);
  const ir::Tensor keys = ModelMaker::random({1, 2, 4, 3}, 8), values = ModelMaker::random({1, 2, 4, 3}, 9);
  state->set("past_keys", keys);
  state->set("past_values", values);
  EXPECT_EQ(state->length(), 4);
  const ir::Tensor x = token(1, 1, 1);
  const Values wanted = session->run({x, keys, values});
  expect_rounded(session->run({x, {}, {}}, *state)[0].tensor, wanted[0].tensor);
  expect_same(state->get("past_keys"), wanted[1].tensor);
  expect_refused([&] { state->set("x", keys); }, "no input 'x'");
  expect_refused([&] { state->set("past_keys", ModelMaker::random({1, 3, 4, 3}, 8)); }, "past_keys");
}

TEST_P(RunStates, GiveOutputsWhereTheCallerWantsThem) {
  const auto session = attention().session(options());
  FedBack wanted(*session, 1);
  const auto state = session->new_state(caches, 16);
  for (uint64_t k = 0; k < 4; ++k) {
    const ir::Tensor x = token(1, 2, k);
    const ir::Tensor expected = wanted.run(x)[0].tensor;
    std::vector<ir::Tensor> outputs(3);
    outputs[0] = ir::Tensor::allocate(ElementType::f32, expected.shape());
    const void* const memory = outputs[0].data();
    session->run_into({x, {}, {}}, outputs, *state);
    EXPECT_EQ(outputs[0].data(), memory);
    expect_rounded(outputs[0], expected);
    EXPECT_FALSE(outputs[1].defined());
  }
}

TEST_P(RunStates, AreUnchangedWhereABufferDoesNotFit) {
  const auto session = attention().session(options());
  FedBack wanted(*session, 1);
  const auto state = session->new_state(caches, 16);
  const ir::Tensor x = token(1, 2, 1);
  wanted.run(x);
  session->run({x, {}, {}}, *state);
  const auto run_into = [&](size_t output, const ir::Shape& shape) {
    std::vector<ir::Tensor> outputs(3);
    outputs[output] = ir::Tensor::allocate(ElementType::f32, shape);
    session->run_into({x, {}, {}}, outputs, *state);
  };
  expect_refused([&] { run_into(0, {1, 2, 1, 3}); }, "the buffer given is");
  expect_refused([&] { run_into(1, {1, 2, 4, 3}); }, "'keys' is kept by the state");
  EXPECT_EQ(state->length(), 2);
  expect_rounded(session->run({x, {}, {}}, *state)[0].tensor, wanted.run(x)[0].tensor);
}

INSTANTIATE_TEST_SUITE_P(Tiers, RunStates, testing::Values(Tier::reference, Tier::fallback, Tier::automatic),
                         [](const auto& info) {
                           return info.param == Tier::reference  ? "reference"
                                  : info.param == Tier::fallback ? "fallback"
                                                                 : "automatic";
                         });

TEST(RunState, IsRefusedWhereTheModelHasNoSuchThing) {
  const auto session = attention().session(one_thread(Tier::fallback));
  expect_refused([&] { session->new_state({{"keys", "past_kees"}}, 8); }, "no input 'past_kees'");
  expect_refused([&] { session->new_state({{"kees", "past_keys"}}, 8); }, "no output 'kees'");
  expect_refused([&] { session->new_state({{"keys", "x"}}, 8); }, "'x'");
  expect_refused(
      [&] {
        session->new_state({{"keys", "past_keys"}, {"values", "past_keys"}}, 8);
      },
      "two outputs");
  expect_refused([&] { session->new_state({}, 8); }, "no values");
  expect_refused([&] { session->new_state(caches, 0); }, "capacity of 0");
  const auto other = attention().session(one_thread(Tier::fallback));
  const auto state = other->new_state(caches, 8);
  expect_refused([&] { session->run({token(1, 1, 1), {}, {}}, *state); }, "another session");
}

/// Both caches are written where they lie, and read there by the products.
TEST(RunState, CopiesNothing) {
  SessionOptions options = one_thread(Tier::fallback);
  options.profile = true;
  const auto session = attention().session(options);
  const auto state = session->new_state(caches, 16);
  for (uint64_t k = 0; k < 3; ++k) session->run({token(2, 1, k), {}, {}}, *state);
  std::map<std::string, int> kernels;
  for (const StepProfile& step : session->profile()) {
    ++kernels[step.kernel == "append"                                ? "append"
              : step.kernel.find("in a buffer") != std::string::npos ? "read"
                                                                     : ""];
    EXPECT_EQ(step.op.find("Prefix") == 0 && step.op.find("MatMul") == std::string::npos, false) << step.op;
    EXPECT_EQ(step.kernel.find("concat"), std::string::npos);
  }
  // Of three sizes.
  EXPECT_EQ(kernels["append"], 6);
  EXPECT_EQ(kernels["read"], 6);
}

/// Two caches of [1, 2, capacity, 3] floats each, until the state goes.
TEST(RunState, ItsMemoryIsReported) {
  const auto session = attention().session(one_thread(Tier::fallback));
  const auto bytes = [&](const char* name) {
    double value = -1;
    session->report_metrics([&](const Metric& metric) {
      if (metric.name == name) value = metric.value;
    });
    return value;
  };
  EXPECT_EQ(bytes("axrun_state_bytes"), 0);
  {
    const auto state = session->new_state(caches, 100);
    session->run({token(1, 1, 1), {}, {}}, *state);
    EXPECT_EQ(bytes("axrun_state_bytes"), 2 * 2 * 100 * 3 * 4);
    const auto fork = state->fork();
    EXPECT_EQ(bytes("axrun_state_bytes"), 2 * 2 * 100 * 3 * 4);
    session->run({token(1, 1, 1), {}, {}}, *fork);
    EXPECT_EQ(bytes("axrun_state_bytes"), 2 * 2 * 2 * 100 * 3 * 4);
  }
  EXPECT_EQ(bytes("axrun_state_bytes"), 0);
  EXPECT_GT(bytes("axrun_arena_bytes"), 0);
}

/// Heads that share keys and values (Expand), and products that look at the cache by columns and by rows.
TEST(RunState, AreReadThroughWhatMovesThem) {
  ModelMaker m;
  const ValueId q = m.input("q", ElementType::f32, {batch, 4, fresh, 3});
  const ValueId k = m.input("k", ElementType::f32, {batch, 2, fresh, 3});
  const ValueId before = m.input("past_keys", ElementType::f32, {batch, 2, past, 3});
  const ValueId keys = m.node("Concat", {before, k}, {{"axis", ModelMaker::attribute(2)}});
  m.graph().value(keys).name = "keys";
  const ValueId shape = m.node("Shape", {keys});
  const auto size = [&](int64_t d) {
    return m.node("Gather", {shape, m.integers({d})}, {{"axis", ModelMaker::attribute(0)}});
  };
  const auto join = [&](std::vector<ValueId> sizes) {
    return m.node("Concat", sizes, {{"axis", ModelMaker::attribute(0)}});
  };
  const ValueId wide = m.node("Unsqueeze", {keys, m.integers({2})});
  const ValueId twice =
      m.node("Expand", {wide, join({size(0), m.integers({2, 2}), size(2), m.integers({3})})});
  const ValueId heads =
      m.node("Reshape", {twice, join({size(0), m.integers({4}), size(2), m.integers({3})})});
  const ValueId turned = m.node("Transpose", {heads}, {{"perm", axes({0, 1, 3, 2})}});
  const ValueId scores = m.node("Mul", {m.node("MatMul", {q, turned}), m.weights({1}, 3)});
  m.output(scores);
  m.output(keys);
  SessionOptions options = one_thread(Tier::fallback);
  options.profile = true;
  const auto session = m.session(options);
  const auto state = session->new_state({{"keys", "past_keys"}}, 64);
  ir::Tensor cache = ir::Tensor::allocate(ElementType::f32, {2, 2, 0, 3});
  for (const int64_t count : {3, 1, 1, 2, 1, 5, 1}) {
    const ir::Tensor asked = ModelMaker::random({2, 4, count, 3}, 5),
                     added = ModelMaker::random({2, 2, count, 3}, 6);
    const Values wanted = session->run({asked, added, cache});
    expect_rounded(session->run({asked, added, {}}, *state)[0].tensor, wanted[0].tensor);
    cache = wanted[1].tensor;
    expect_same(state->get("past_keys"), cache);
  }
  bool is_read = false;
  for (const StepProfile& step : session->profile())
    is_read = is_read || (step.kernel.find("in a buffer") != std::string::npos &&
                          step.op.find("Expand") != std::string::npos);
  EXPECT_TRUE(is_read);
}

/// The operators that graphs for states have trust what made them: files may not have them.
TEST(RunState, ItsOperatorsAreNoModels) {
  for (const char* op : {"Prefix", "Append"}) {
    ModelMaker m;
    const auto input = [&](const char* name, int64_t length) {
      return m.input(name, ElementType::f32, {1, 2, length, 3});
    };
    const ValueId made = m.node(op, {input("buffer", 9), input("past", 4), input("new", 1)},
                                {{"axis", ModelMaker::attribute(-2)}});
    m.graph().nodes.back().domain = "axrun.state";
    m.output(made);
    try {
      m.session(one_thread(Tier::fallback));
      ADD_FAILURE() << op << " was not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("axrun.state"), std::string::npos) << error.what();
    }
  }
}

/// What the state writes does not lie where a caller, or another state, reads.
TEST(RunState, ServesManyThreadsByForks) {
  const auto session = attention().session(one_thread(Tier::fallback));
  FedBack prompt(*session, 1);
  const auto root = session->new_state(caches, 64);
  const ir::Tensor text = token(1, 9, 4);
  prompt.run(text);
  session->run({text, {}, {}}, *root);
  std::vector<std::unique_ptr<RunState>> states;
  for (int k = 0; k < 4; ++k) states.push_back(root->fork());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t k = 0; k < states.size(); ++k) {
    threads.emplace_back([&, k] {
      FedBack wanted = prompt;
      for (uint64_t turn = 0; turn < 40; ++turn) {
        const ir::Tensor x = token(1, 1, 1000 * k + turn);
        const ir::Tensor got = session->run({x, {}, {}}, *states[k])[0].tensor;
        const ir::Tensor expected = wanted.run(x)[0].tensor;
        for (int64_t e = 0; e < got.size(); ++e)
          if (!(std::abs(got.as<float>()[e] - expected.as<float>()[e]) < 1e-5f)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(root->length(), 9);
}

TEST(RunState, TakesOneRunAtATime) {
  const auto session = attention().session(one_thread(Tier::fallback));
  const auto state = session->new_state(caches, 2048);
  session->run({token(1, 1024, 1), {}, {}}, *state);
  // From inside a run of its own.
  RunControl control;
  std::atomic<bool> go{false};
  std::atomic<int> refused{0}, ran{0};
  const auto run = [&] {
    while (!go) std::this_thread::yield();
    for (uint64_t k = 0; k < 200; ++k) {
      try {
        session->run({token(1, 1, k), {}, {}}, *state);
        ++ran;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos) << error.what();
        ++refused;
      }
    }
  };
  std::thread one(run), two(run);
  go = true;
  one.join();
  two.join();
  EXPECT_EQ(ran + refused, 400);
  EXPECT_EQ(state->length(), 1024 + ran);
}

}  // namespace
}  // namespace axrun::tests
