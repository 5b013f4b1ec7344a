#include "runtime/optimizer/optimizer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "runtime/machine.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using std::chrono::milliseconds;
using State = OptimizerStatus::State;

/// x [rows, 24] -> products with constant weights, what follows them, a row-wise normalization.
ModelMaker small_model(const ir::Dim& rows) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {rows, 24});
  ir::ValueId a = m.node("MatMul", {x, m.weights({24, 40}, 1)});
  a = m.node("Add", {a, m.weights({40}, 2)});
  a = m.node("Relu", {a});
  ir::ValueId b = m.node("Mul", {a, m.node("Sigmoid", {a})});
  b = m.node("MatMul", {b, m.weights({40, 16}, 3)});
  b = m.node("Softmax", {b}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
  m.output(b);
  return m;
}

/// x joined to what came before it, as in a decoder: sizes "past" and "past + seq".
ModelMaker growing_model() {
  ModelMaker m;
  const ir::Dim past = ir::Dim::symbol("past"), seq = ir::Dim::symbol("seq");
  const ir::ValueId before = m.input("before", ir::ElementType::f32, {past, 8});
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {seq, 8});
  const ir::ValueId all = m.node("Concat", {before, x}, {{"axis", ModelMaker::attribute(int64_t{0})}});
  ir::ValueId a = m.node("Mul", {all, m.weights({8}, 1)});
  a = m.node("Tanh", {a});
  m.output(a);
  return m;
}

SessionOptions with_threads(int threads) {
  SessionOptions options;
  options.threads = threads;
  return options;
}

ir::Tensor input_of(int64_t rows, uint64_t seed = 9) { return ModelMaker::random({rows, 24}, seed); }

void expect_near(const ir::Tensor& got, const ir::Tensor& want, const std::string& where) {
  ASSERT_EQ(got.shape(), want.shape()) << where;
  for (int64_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-5) << where << " element " << i;
  }
}

/// The optimiser begins with the second run.
std::vector<RuntimeValue> answer_twice(Session& session, const std::vector<RuntimeValue>& inputs) {
  session.run(inputs);
  return session.run(inputs);
}

bool comes_true(const std::function<bool()>& condition) {
  for (int k = 0; k < 12000 && !condition(); ++k) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

/// Sums of products of 16 bits are rounded once; which way depends on the order of the sum.
TEST(Optimizer, ResultsOf16BitsMayBeRoundedEitherWay) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  for (const ir::ElementType type : {ir::ElementType::bf16, ir::ElementType::f16}) {
    const auto halves = [&](const ir::Shape& shape, uint64_t seed) {
      const ir::Tensor floats = ModelMaker::random(shape, seed);
      ir::Tensor tensor = ir::Tensor::allocate(type, shape);
      for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_real(i, floats.get_real(i));
      return tensor;
    };
    ModelMaker m;
    m.output(m.node("MatMul", {m.input("x", type, {3, 700}), m.constant(halves({700, 900}, 2))}));
    const ir::Tensor input = halves({3, 700}, 1), want = fallback_answer(m, {RuntimeValue(input)});
    const auto session = m.session(with_threads(1));
    answer_twice(*session, {RuntimeValue(input)});
    ASSERT_TRUE(session->wait_for_optimizer(patience));
    const OptimizerStatus status = session->optimizer_status();
    EXPECT_EQ(status.swapped, status.steps) << text_of(status);
    EXPECT_EQ(status.kernels.at(0).kind, "contraction") << text_of(status);
    const ir::Tensor got = session->run({RuntimeValue(input)})[0].tensor;
    ASSERT_EQ(got.type(), type);
    const double place = type == ir::ElementType::bf16 ? 0x1p-7 : 0x1p-10;
    for (int64_t i = 0; i < want.size(); ++i) {
      const double rounding = place * std::max(std::fabs(want.get_real(i)), std::fabs(got.get_real(i)));
      ASSERT_NEAR(got.get_real(i), want.get_real(i), std::max(rounding, 1e-4)) << i;
    }
  }
}

TEST(Optimizer, VerifiedKernelsReplaceTheFallback) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  for (const int threads : {1, 3}) {
    const auto session = small_model(30).session(with_threads(threads));
    const ir::Tensor input = input_of(30);
    const ir::Tensor want = answer_twice(*session, {RuntimeValue(input)})[0].tensor.clone();
    ASSERT_TRUE(session->wait_for_optimizer(patience));
    const OptimizerStatus status = session->optimizer_status();
    EXPECT_EQ(status.state, State::waiting) << text_of(status);
    EXPECT_EQ(status.swapped, status.steps) << text_of(status);
    EXPECT_EQ(status.steps, 4) << text_of(status);
    EXPECT_EQ(status.worker_starts, 1) << text_of(status);
    EXPECT_EQ(status.left, 0);
    EXPECT_GT(status.code_bytes, 0);
    EXPECT_GT(status.prepared_bytes, 0) << text_of(status);
    for (const OptimizedKernel& kernel : status.kernels) {
      EXPECT_EQ(kernel.state, OptimizedKernel::State::accepted) << text_of(status);
      EXPECT_TRUE(kernel.proof.starts_with("proved")) << kernel.proof;
      EXPECT_TRUE(kernel.gate.starts_with("tested")) << kernel.gate;
      // All but the first product round in more than sums.
      const bool rounds = kernel.ops.find("Sigmoid") != std::string::npos || kernel.kind == "rows";
      EXPECT_EQ(kernel.gate.find("bit-equal with stand-ins") != std::string::npos, rounds) << kernel.gate;
    }
    expect_near(session->run({RuntimeValue(input)})[0].tensor, want, "swapped");
  }
}

/// Two recurrences, and a sum of what they give.
ModelMaker recurrent_model() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {5, 2, 24});
  const auto gru = [&](uint64_t seed) {
    return m.node("GRU", {x, m.weights({1, 24, 24}, seed), m.weights({1, 24, 8}, seed + 1)},
                  {{"hidden_size", ModelMaker::attribute(int64_t{8})}});
  };
  const ir::ValueId a = gru(1), b = gru(3);
  m.output(m.node("Add", {a, b}));
  return m;
}

TEST(Optimizer, EveryStepCountsWithItsShareOfTheTime) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const auto session = recurrent_model().session(with_threads(1));
  answer_twice(*session, {RuntimeValue(ModelMaker::random({5, 2, 24}, 9))});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  int steps = 0;
  double shares = 0;
  for (const OptimizedKernel& kernel : status.kernels) {
    steps += kernel.steps;
    shares += kernel.share;
    EXPECT_GT(kernel.share, 0) << text_of(status);
    if (kernel.ops != "GRU") continue;
    EXPECT_EQ(kernel.steps, 2) << text_of(status);
    EXPECT_GT(kernel.share, 0.5) << "a recurrence takes longer than a sum";
  }
  EXPECT_EQ(status.kernels.size(), 2u) << text_of(status);
  EXPECT_EQ(steps, status.steps);
  EXPECT_NEAR(shares, 1, 1e-6);
}

TEST(Optimizer, WhatIsSlowerIsNotSwappedIn) {
  const Knobs knobs{};
  const auto session = small_model(30).session(with_threads(1));
  const ir::Tensor input = input_of(30);
  answer_twice(*session, {RuntimeValue(input)});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  int used = 0;
  for (const OptimizedKernel& kernel : status.kernels) {
    if (kernel.state != OptimizedKernel::State::accepted) continue;
    EXPECT_GT(kernel.speedup, 0.995) << text_of(status);  // as long is good enough
    ++used;
  }
  EXPECT_LE(status.swapped, used);
}

TEST(Optimizer, RangeKernelsServeNewShapesWithoutCompiling) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = small_model(ir::Dim::symbol("rows"));
  const auto session = model.session(with_threads(1));
  answer_twice(*session, {RuntimeValue(input_of(5))});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus before = session->optimizer_status();
  ASSERT_EQ(before.swapped, before.steps) << text_of(before);
  for (int64_t rows = 2; rows < 60; rows += rows < 20 ? 1 : 13) {
    const ir::Tensor input = input_of(rows, static_cast<uint64_t>(rows));
    const ir::Tensor got = session->run({RuntimeValue(input)})[0].tensor;
    const auto plan = session->current_plan({input.shape()});
    EXPECT_EQ(plan->open_steps(), 0) << rows;
    EXPECT_EQ(generated_steps(*plan), before.steps) << rows;
    expect_near(got, fallback_answer(model, {RuntimeValue(input)}), std::to_string(rows) + " rows");
  }
  EXPECT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus after = session->optimizer_status();
  EXPECT_EQ(after.tried, before.tried) << text_of(after);
  EXPECT_EQ(after.code_bytes, before.code_bytes);
  // Sixteen plans are kept, the packed weights once.
  EXPECT_EQ(after.prepared_bytes, before.prepared_bytes);
}

TEST(Optimizer, BadIndicesAreTheUsersFaultBeforeAndAfterSwaps) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  ModelMaker model;
  const ir::ValueId ids = model.input("ids", ir::ElementType::i64, {3});
  model.output(model.node("Relu", {model.node("Gather", {model.weights({6, 40}, 1), ids})}));
  const auto session = model.session(with_threads(1));
  const std::vector<RuntimeValue> good = {RuntimeValue(ir::Tensor::from_i64({0, -6, 5}))};
  const std::vector<RuntimeValue> bad = {RuntimeValue(ir::Tensor::from_i64({0, 6, 5}))};
  const auto message = [&] {
    try {
      session->run(bad);
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::user);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string before = message();
  EXPECT_NE(before.find("Gather 'Gather_"), std::string::npos) << before;
  answer_twice(*session, good);
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  ASSERT_EQ(status.swapped, status.steps) << text_of(status);
  EXPECT_EQ(message().substr(0, before.find(':')), before.substr(0, before.find(':')));
  expect_near(session->run(good)[0].tensor, fallback_answer(model, good), "after the error");
}

TEST(Optimizer, SizesThatGrowAreSizesOfTheirOwn) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = growing_model();
  const auto session = model.session(with_threads(1));
  const auto inputs = [](int64_t past, int64_t seq) {
    return std::vector<RuntimeValue>{RuntimeValue(ModelMaker::random({past, 8}, 1)),
                                     RuntimeValue(ModelMaker::random({seq, 8}, 2))};
  };
  answer_twice(*session, inputs(2, 3));
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus before = session->optimizer_status();
  EXPECT_GT(before.swapped, 0) << text_of(before);
  for (int64_t past = 3; past < 12; ++past) {
    const ir::Tensor got = session->run(inputs(past, 2))[0].tensor;
    expect_near(got, fallback_answer(model, inputs(past, 2)), "past " + std::to_string(past));
    EXPECT_EQ(generated_steps(*session->current_plan({{past, 8}, {2, 8}})), before.swapped) << past;
  }
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  EXPECT_EQ(session->optimizer_status().tried, before.tried);
}

TEST(Optimizer, NothingStartsWhereItIsTurnedOff) {
  const ir::Tensor input = input_of(6);
  const auto reason_with = [&](const SessionOptions& options) {
    const auto session = small_model(6).session(options);
    answer_twice(*session, {RuntimeValue(input)});
    EXPECT_TRUE(session->wait_for_optimizer(0));
    const OptimizerStatus status = session->optimizer_status();
    EXPECT_EQ(status.state, State::off);
    EXPECT_EQ(status.tried, 0);
    EXPECT_EQ(session->current_plan({input.shape()})->open_steps(), 0);
    session->freeze();
    return status.reason;
  };
  {
    const Knobs knobs{{"AXRUN_OPTIMIZE", "0"}};
    EXPECT_EQ(reason_with({}), "AXRUN_OPTIMIZE=0");
  }
  const Knobs knobs{};
  SessionOptions options;
  options.optimize = false;
  EXPECT_NE(reason_with(options).find("options"), std::string::npos);
  options = {};
  options.tier = Tier::fallback;
  EXPECT_NE(reason_with(options).find("tier"), std::string::npos);
}

TEST(Optimizer, AFrozenSessionKeepsItsPlan) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ir::Tensor input = input_of(6);
  {
    const auto session = small_model(6).session(with_threads(1));
    session->freeze();
    answer_twice(*session, {RuntimeValue(input)});
    const auto plan = session->current_plan({input.shape()});
    EXPECT_TRUE(session->wait_for_optimizer(patience));
    EXPECT_EQ(session->optimizer_status().state, State::frozen);
    EXPECT_EQ(session->current_plan({input.shape()}), plan);
  }
  // While it works, at whatever point that is.
  for (int k = 0; k < 5; ++k) {
    const auto session = small_model(6).session(with_threads(1));
    answer_twice(*session, {RuntimeValue(input)});
    std::this_thread::sleep_for(milliseconds(40 * k));
    session->freeze();
    const auto plan = session->current_plan({input.shape()});
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_EQ(session->current_plan({input.shape()}), plan);
    EXPECT_EQ(session->optimizer_status().state, State::frozen);
    EXPECT_TRUE(session->wait_for_optimizer(0));
  }
}

TEST(Optimizer, DeterministicMeansTheSameBits) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  SessionOptions options = with_threads(1);
  options.deterministic = true;
  const auto session = small_model(ir::Dim::symbol("rows")).session(options);
  for (const int64_t rows : {6, 7}) {
    const ir::Tensor input = input_of(rows);
    const ir::Tensor first = answer_twice(*session, {RuntimeValue(input)})[0].tensor.clone();
    ASSERT_TRUE(session->wait_for_optimizer(patience));
    const ir::Tensor later = session->run({RuntimeValue(input)})[0].tensor;
    EXPECT_EQ(std::memcmp(first.data(), later.data(), first.bytes()), 0) << rows;
  }
  const OptimizerStatus status = session->optimizer_status();
  for (const OptimizedKernel& kernel : status.kernels) {
    if (kernel.state == OptimizedKernel::State::refused) {
      EXPECT_NE(kernel.reason.find("bit-equal"), std::string::npos) << text_of(status);
    }
  }
}

TEST(Optimizer, CandidatesThatMisbehaveNeverHarmTheSession) {
  const std::pair<const char*, const char*> behaviours[] = {
      {"null", "crashed"},     {"illegal", "crashed"},
      {"bounds", "crashed"},   {"killed", "ended from outside"},
      {"leave", "exited"},     {"raw", "garbage"},
      {"no_json", "garbage"},  {"unproved", "without evidence"},
      {"refuse", "not today"},
  };
  for (const auto& [behaviour, reason] : behaviours) {
    const Knobs knobs{
        {"AXRUN_SWAP", "always"}, {"AXRUN_WORKER", AXRUN_ROGUE_WORKER}, {"ROGUE_BEHAVIOUR", behaviour}};
    const auto session = small_model(6).session(with_threads(1));
    const ir::Tensor input = input_of(6);
    const ir::Tensor want = answer_twice(*session, {RuntimeValue(input)})[0].tensor.clone();
    ASSERT_TRUE(session->wait_for_optimizer(patience));
    const OptimizerStatus status = session->optimizer_status();
    EXPECT_EQ(status.state, State::waiting) << behaviour << ": " << text_of(status);
    EXPECT_EQ(status.swapped, 0) << behaviour;
    EXPECT_EQ(status.tried, 4) << behaviour << ": " << text_of(status);
    for (const OptimizedKernel& kernel : status.kernels) {
      EXPECT_NE(kernel.reason.find(reason), std::string::npos) << behaviour << ": " << text_of(status);
    }
    expect_near(session->run({RuntimeValue(input)})[0].tensor, want, behaviour);
  }
}

/// The worker has lowered something else, or nothing that can be read.
TEST(Optimizer, ProgramsOfAnotherExpressionAreNotUsed) {
  for (const auto& [behaviour, reason] :
       {std::pair("other_program", "of another expression"), std::pair("no_program", "compile: ")}) {
    const Knobs knobs{
        {"AXRUN_SWAP", "always"}, {"AXRUN_WORKER", AXRUN_ROGUE_WORKER}, {"ROGUE_BEHAVIOUR", behaviour}};
    const auto session = small_model(6).session(with_threads(1));
    answer_twice(*session, {RuntimeValue(input_of(6))});
    ASSERT_TRUE(session->wait_for_optimizer(patience));
    const OptimizerStatus status = session->optimizer_status();
    EXPECT_EQ(status.swapped, 0);
    EXPECT_FALSE(status.kernels.empty());
    for (const OptimizedKernel& kernel : status.kernels)
      EXPECT_NE(kernel.reason.find(reason), std::string::npos) << text_of(status);
  }
}

/// The worker says that it has tested some other code.
TEST(Optimizer, CodeThatWasNotTestedIsNotUsed) {
  const Knobs knobs{
      {"AXRUN_SWAP", "always"}, {"AXRUN_WORKER", AXRUN_ROGUE_WORKER}, {"ROGUE_BEHAVIOUR", "good"}};
  const auto session = small_model(6).session(with_threads(1));
  answer_twice(*session, {RuntimeValue(input_of(6))});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_EQ(status.swapped, 0);
  for (const OptimizedKernel& kernel : status.kernels) {
    EXPECT_NE(kernel.reason.find("not the code that was tested"), std::string::npos) << text_of(status);
  }
}

TEST(Optimizer, AWorkerThatCannotStartIsSaid) {
  for (const char* program : {"/nonexistent/worker", "/bin/false"}) {
    const Knobs knobs{{"AXRUN_WORKER", program}};
    const auto session = small_model(6).session(with_threads(1));
    const ir::Tensor input = input_of(6);
    const ir::Tensor want = answer_twice(*session, {RuntimeValue(input)})[0].tensor.clone();
    ASSERT_TRUE(session->wait_for_optimizer(patience));
    const OptimizerStatus status = session->optimizer_status();
    EXPECT_EQ(status.state, State::stopped) << text_of(status);
    EXPECT_NE(status.reason.find(program), std::string::npos) << text_of(status);
    expect_near(session->run({RuntimeValue(input)})[0].tensor, want, program);
  }
}

TEST(Optimizer, WhereNoCodeCanBeMadeThatIsSaid) {
  // The description of the machine is found once per process: this needs one of its own.
  constexpr const char* inner = "OPTIMIZER_TEST_INNER";
  if (std::getenv(inner) == nullptr) {
    const Knobs knobs{{"AXRUN_ISA", "sse2"}, {inner, "1"}};
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string command = program + " --gtest_filter=Optimizer.WhereNoCodeCanBeMadeThatIsSaid";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return;
  }
  const auto session = small_model(6).session(with_threads(1));
  const ir::Tensor want = answer_twice(*session, {RuntimeValue(input_of(6))})[0].tensor.clone();
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_EQ(status.state, State::stopped) << text_of(status);
  EXPECT_NE(status.reason.find("no machine code"), std::string::npos) << text_of(status);
  expect_near(session->run({RuntimeValue(input_of(6))})[0].tensor, want, "without machine code");
}

TEST(Optimizer, ASessionEndsAtOnceWhileItWorks) {
  const Knobs knobs{{"AXRUN_WORKER", AXRUN_ROGUE_WORKER}, {"ROGUE_BEHAVIOUR", "hang"}};
  auto session = small_model(6).session(with_threads(1));
  answer_twice(*session, {RuntimeValue(input_of(6))});
  ASSERT_TRUE(comes_true([&] { return session->optimizer_status().state == State::working; }));
  EXPECT_FALSE(session->wait_for_optimizer(0.05));
  session.reset();  // the hanging candidate has minutes left: a test that times out is one that waits for it
}

#if !defined(__SANITIZE_THREAD__)  // which forbids threads in a forked child
TEST(Optimizer, AForkedChildGoesOnByItself) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_PARALLEL", "threads"}};
  const auto session = small_model(6).session(with_threads(1));
  const ir::Tensor input = input_of(6);
  const ir::Tensor want = answer_twice(*session, {RuntimeValue(input)})[0].tensor.clone();
  for (int k = 0; k < 3; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      bool right = true;
      for (int run = 0; run < 20; ++run) {
        const ir::Tensor got = session->run({RuntimeValue(input)})[0].tensor;
        for (int64_t i = 0; i < want.size(); ++i)
          right &= std::fabs(got.get_real(i) - want.get_real(i)) < 1e-5;
      }
      // In the last child the optimiser works to its end.
      if (k == 2) right &= session->wait_for_optimizer(patience);
      _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << k << ", status " << status;
  }
  EXPECT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_EQ(status.swapped, status.steps) << text_of(status);
}
#endif

}  // namespace
}  // namespace axrun::tests
