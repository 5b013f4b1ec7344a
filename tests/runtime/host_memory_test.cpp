// Sessions inside of a host that has memory and threads of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "runtime/parallel.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

runtime::SessionOptions fallback(int threads = 1) {
  runtime::SessionOptions options;
  options.tier = runtime::Tier::fallback;
  options.threads = threads;
  return options;
}

/// Gives memory, and notes for what.
struct Maker {
  std::vector<std::pair<size_t, ir::Shape>> asked;
  std::vector<Tensor> given;
  runtime::Session::OutputMaker make = [this](size_t output, ElementType type, const ir::Shape& shape) {
    asked.emplace_back(output, shape);
    given.push_back(Tensor::allocate(type, shape));
    return given.back();
  };
};

TEST(HostMemory, ResultsAreWrittenWhereTheHostSays) {
  const auto session = residual_network(ir::Dim::symbol("batch")).session(fallback());
  for (const int64_t batch : {2, 3, 2}) {
    const Tensor x = ModelMaker::random({batch, 3, 12, 12}, 9);
    const Tensor want = session->run({x})[0].tensor;
    Maker maker;
    std::vector<Tensor> outputs;
    session->run_into({x}, outputs, nullptr, &maker.make);
    ASSERT_EQ(maker.asked, (std::vector<std::pair<size_t, ir::Shape>>{{0, {batch, 16}}}));
    ASSERT_EQ(outputs[0].data(), maker.given[0].data());
    for (int64_t k = 0; k < want.size(); ++k) EXPECT_EQ(outputs[0].get_real(k), want.get_real(k));
  }
}

TEST(HostMemory, NobodyIsAskedForWhatIsThere) {
  const auto session = residual_network(1).session(fallback());
  Maker maker;
  std::vector<Tensor> outputs = {Tensor::allocate(ElementType::f32, {1, 16})};
  session->run_into({ModelMaker::random({1, 3, 12, 12}, 9)}, outputs, nullptr, &maker.make);
  EXPECT_TRUE(maker.asked.empty());
}

TEST(HostMemory, NobodyIsAskedForWhatOnlyTheRunCanTell) {
  ModelMaker m;
  const auto x = m.input("x", ElementType::f32, {4});
  m.output(m.node("NonZero", {x}), ElementType::i64);
  m.output(m.node("Neg", {x}));
  const auto session = m.session(fallback());
  Tensor values = Tensor::allocate(ElementType::f32, {4});
  values.as<float>()[2] = 5;
  Maker maker;
  std::vector<Tensor> outputs;
  session->run_into({values}, outputs, nullptr, &maker.make);
  ASSERT_EQ(maker.asked, (std::vector<std::pair<size_t, ir::Shape>>{{1, {4}}}));
  EXPECT_EQ(outputs[0].shape(), (ir::Shape{1, 1}));
  EXPECT_EQ(outputs[0].get_int(0), 2);
  EXPECT_EQ(outputs[1].data(), maker.given[0].data());
  EXPECT_EQ(outputs[1].get_real(2), -5);
}

/// Two outputs that are one value, one that is the input, and a constant: all of them where the host says.
TEST(HostMemory, ResultsThatNoStepWritesAreCopied) {
  ModelMaker m;
  const auto x = m.input("x", ElementType::f32, {2});
  m.output(m.node("Identity", {x}));
  const auto sum = m.node("Add", {x, x});
  m.output(sum);
  m.output(m.node("Identity", {sum}));
  m.output(m.node("Mul", {m.weights({2}, 3), m.weights({2}, 4)}));
  const auto session = m.session(fallback());
  const Tensor x_value = ModelMaker::random({2}, 1);
  const auto want = session->run({x_value});
  Maker maker;
  std::vector<Tensor> outputs;
  session->run_into({x_value}, outputs, nullptr, &maker.make);
  ASSERT_EQ(maker.asked.size(), 4u);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(outputs[k].data(), maker.given[k].data()) << "output " << k;
    for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(outputs[k].get_real(i), want[k].tensor.get_real(i));
  }
}

class CountingPool final : public runtime::ThreadPool {
 public:
  static inline std::atomic<int> spreads{0}, alive{0};
  explicit CountingPool(int threads) : ThreadPool(threads) { ++alive; }
  ~CountingPool() override { --alive; }

 private:
  void spread(int64_t count, int64_t, runtime::RangeBody body) override {
    ++spreads;
    body(0, count / 2);
    body(count / 2, count);
  }
};

TEST(HostThreads, WorkIsSpreadByTheHostsPool) {
  ModelMaker m;
  m.output(m.node("MatMul", {m.input("x", ElementType::f32, {256, 256}), m.weights({256, 256}, 1)}));
  const Tensor x = ModelMaker::random({256, 256}, 2);
  const Tensor want = m.session(fallback(2))->run({x})[0].tensor;
  runtime::SessionOptions options = fallback(2);
  options.make_pool = [](int threads) { return std::make_unique<CountingPool>(threads); };
  {
    const auto session = m.session(options);
    EXPECT_EQ(CountingPool::alive, 1);
    const Tensor got = session->run({x})[0].tensor;
    EXPECT_GT(CountingPool::spreads, 0);
    for (int64_t k = 0; k < want.size(); ++k) ASSERT_NEAR(got.get_real(k), want.get_real(k), 1e-3);
  }
  EXPECT_EQ(CountingPool::alive, 0);
}

}  // namespace
}  // namespace axrun::tests
