#include "runtime/optimizer/load_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/host_target.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ProgramState = LoadProgram::State;

ir::Tensor bytes_of(const ir::Shape& shape, int seed) {
  ir::Tensor tensor = ir::Tensor::allocate(ir::ElementType::u8, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_int(i, (i * 37 + seed) % 251);
  return tensor;
}

/// x [rows, 80] -> products with weights stored as bytes, scaled by column; of the second ones turned.
ModelMaker byte_model() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {4, 80});
  const auto weights = [&](const ir::Shape& shape, int seed) {
    ir::Tensor zeros = ir::Tensor::allocate(ir::ElementType::u8, {shape[1]});
    for (int64_t i = 0; i < zeros.size(); ++i) zeros.set_int(i, 100 + i % 50);
    return m.node("DequantizeLinear",
                  {m.constant(bytes_of(shape, seed)), m.weights({shape[1]}, static_cast<uint64_t>(seed)),
                   m.constant(zeros)},
                  {{"axis", ModelMaker::attribute(int64_t{1})}});
  };
  ir::ValueId a = m.node("MatMul", {x, weights({80, 300}, 1)});
  a = m.node("Relu", {a});
  const ir::ValueId turned = m.node("Transpose", {weights({90, 300}, 2)},
                                    {{"perm", ModelMaker::attribute(std::vector<int64_t>{1, 0})}});
  m.output(m.node("MatMul", {a, turned}));
  return m;
}

TEST(LoadPrograms, WhatLoadHasFoldedIsComputedOnceMoreByVerifiedPrograms) {
  const Knobs knobs{};
  SessionOptions options;
  options.threads = 1;
  const auto session = byte_model().session(options);
  const ir::Tensor input = ModelMaker::random({4, 80}, 3);
  const ir::Tensor want = session->run({RuntimeValue(input)})[0].tensor.clone();
  {
    const OptimizerStatus status = session->optimizer_status();
    ASSERT_EQ(status.load_programs.size(), 3u);
    for (const LoadProgram& one : status.load_programs)
      EXPECT_EQ(one.state, ProgramState::waiting) << one.what;
  }
  session->run({RuntimeValue(input)});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_TRUE(status.load_programs[0].what.starts_with("DequantizeLinear "));
  EXPECT_EQ(status.load_programs[0].bytes, 80 * 300 * 4);
  EXPECT_EQ(status.load_programs[1].bytes, 90 * 300 * 4);
  EXPECT_TRUE(status.load_programs[2].what.starts_with("Transpose ")) << status.load_programs[2].what;
  for (const LoadProgram& one : status.load_programs) {
    EXPECT_EQ(one.state, ProgramState::verified) << one.what << ": " << one.reason;
    EXPECT_TRUE(one.proof.starts_with("proved")) << one.proof;
    EXPECT_TRUE(one.gate.starts_with("tested")) << one.gate;
  }
  // One program for both sizes of weights.
  EXPECT_EQ(status.load_programs[0].gate, status.load_programs[1].gate);
  const ir::Tensor got = session->run({RuntimeValue(input)})[0].tensor;
  double largest = 0;
  for (int64_t i = 0; i < want.size(); ++i) largest = std::max(largest, std::fabs(want.get_real(i)));
  for (int64_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-5 * largest) << i;
}

/// A node as if a fallback kernel had folded it.
FoldedNode folded(const std::string& op, std::vector<ir::Tensor> inputs, ir::Tensor result) {
  FoldedNode one;
  one.node.name = "constant";
  one.node.op = op;
  one.node.version = 17;
  one.node.outputs = {static_cast<ir::ValueId>(inputs.size())};
  std::vector<ir::OperandInfo> operands;
  std::vector<ir::Dims> dims(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    one.node.inputs.push_back(static_cast<ir::ValueId>(k));
    dims[k] = ir::to_dims(inputs[k].shape());
    ir::OperandInfo info;
    info.present = true;
    info.type = inputs[k].type();
    info.dims = dims[k];
    operands.push_back(info);
  }
  one.program = std::make_shared<const ir::Program>(ir::define_node(one.node, operands));
  one.inputs = std::move(inputs);
  one.results = {std::move(result)};
  return one;
}

/// What becomes of nodes that are judged one after another.
std::vector<LoadProgram> judged(std::vector<FoldedNode> nodes) {
  StatusBoard board;
  LoadTimeWork work;
  work.folded = std::move(nodes);
  LoadPrograms programs(std::move(work), board);
  std::atomic<bool> done{false};
  Background background({1, Standing::ordinary, {}}, [&](const Background::Place& place) {
    CandidateTools tools;
    tools.target = host_target();
    WorkerProcess worker{WorkerOptions()};
    while (!programs.done() && !place.stop.requested()) programs.check_next(tools, worker, place);
    done = true;
  });
  background.start();
  for (int k = 0; k < 12000 && !done; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  background.stop();
  EXPECT_TRUE(done);
  return board.snapshot().load_programs;
}

TEST(LoadPrograms, AWrongConstantIsNoticed) {
  const ir::Tensor one = ModelMaker::random({7, 40}, 1), other = ModelMaker::random({40}, 2);
  ir::Tensor sum = ir::Tensor::allocate(ir::ElementType::f32, {7, 40});
  for (int64_t i = 0; i < sum.size(); ++i)
    sum.as<float>()[i] = one.as<float>()[i] + other.as<float>()[i % 40];
  ir::Tensor wrong = sum.clone();
  wrong.as<float>()[123] += 0x1p-22f;
  const auto programs = judged({folded("Add", {one, other}, sum), folded("Add", {one, other}, wrong)});
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].state, ProgramState::verified) << programs[0].reason;
  EXPECT_EQ(programs[1].state, ProgramState::fallback);
  EXPECT_TRUE(programs[1].reason.starts_with("element 123 was folded to")) << programs[1].reason;
}

TEST(LoadPrograms, WhatHasNoProgramStaysTheFallbacks) {
  const ir::Tensor ones = ModelMaker::random({3, 3}, 1);
  const auto programs = judged({folded("Det", {ones}, ir::Tensor::scalar(ir::ElementType::f32, 1))});
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].state, ProgramState::fallback);
  EXPECT_FALSE(programs[0].reason.empty());
}

TEST(LoadPrograms, SizesAreOpenWhereTheyMayBe) {
  const ir::Tensor one = ModelMaker::random({7, 40}, 1);
  SizeValues sizes;
  std::string reason;
  const auto expression = expression_of(folded("Neg", {one}, one), sizes, reason);
  ASSERT_TRUE(expression) << reason;
  EXPECT_EQ(sizes, (SizeValues{{"n0", 7}, {"n1", 40}}));
}

}  // namespace
}  // namespace axrun::tests
