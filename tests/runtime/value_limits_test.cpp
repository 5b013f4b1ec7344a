// Graphs that are right for values up to a magnitude only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "runtime/parallel.h"
#include "runtime/plan/plan.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;
using Values = std::vector<RuntimeValue>;

constexpr float limit = 10;
constexpr int64_t count = int64_t{3} << 16;

/// Writes a model whose input is x; the value is the one to be watched. Some result is x times the factor.
using Write = ValueId (*)(ModelMaker& m, const ir::Shape& x, float factor);

/// With a factor of 2 where no element of the value is beyond the limit, and of 3 otherwise: which of the two
/// was at work shows.
std::shared_ptr<const Plan> limited(Write write, const ir::Shape& shape, float most, int threads = 1) {
  ModelMaker model, otherwise;
  write(otherwise, shape, 3);
  auto limits = std::make_shared<ir::GraphLimits>();
  limits->most = {{write(model, shape, 2), most}};
  limits->otherwise = std::make_shared<ir::Graph>(otherwise.graph());
  auto graph = std::make_shared<ir::Graph>(model.graph());
  graph->limits = limits;
  ir::ValueFact fact;
  fact.type = ElementType::f32;
  fact.dims = ir::to_dims(shape);
  PlanOptions options;
  options.packs = std::make_shared<PackCache>();
  options.threads = threads;
  return build_plan(graph, graph->inputs, {fact}, options);
}

ValueId times(ModelMaker& m, ValueId x, float factor) {
  return m.node("Mul", {x, m.constant(ir::Tensor::scalar(ElementType::f32, factor))});
}

/// y = (x + 1) f, x + 1 or x watched.
template <bool of_input>
ValueId sum_and_product(ModelMaker& m, const ir::Shape& shape, float factor) {
  const ValueId x = m.input("x", ElementType::f32, ir::to_dims(shape));
  const ValueId sum = m.node("Add", {x, m.constant(ir::Tensor::scalar(ElementType::f32, 1))});
  m.output(times(m, sum, factor));
  return of_input ? x : sum;
}

std::shared_ptr<const Plan> limited(bool of_input) {
  return limited(of_input ? sum_and_product<true> : sum_and_product<false>, {count}, limit, 2);
}

float factor_of(const Plan& plan, ThreadPool& pool, float value, int64_t at) {
  ir::Tensor x = ir::Tensor::allocate(ElementType::f32, {count});
  x.as<float>()[at] = value;
  Values results(1);
  plan.run({RuntimeValue(x)}, results, {pool});
  // All of a run is done by one of the graphs.
  const float factor = results[0].tensor.as<float>()[at == 0 ? 1 : 0];
  for (int64_t k = 0; k < count; ++k) {
    const float own = results[0].tensor.as<float>()[k];
    if (k != at) {
      EXPECT_EQ(own, factor) << k;
    }
  }
  const float there = results[0].tensor.as<float>()[at];
  if (!std::isnan(value)) {
    EXPECT_EQ(there, (value + 1) * factor);
  }
  return factor;
}

TEST(ValueLimits, SayWhichGraphComputes) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto one = ThreadPool::make(1), two = ThreadPool::make(2);
  for (const bool of_input : {false, true}) {
    const std::shared_ptr<const Plan> plan = limited(of_input);
    const float most = of_input ? limit : limit - 1;
    for (ThreadPool* pool : {one.get(), two.get()}) {
      for (const int64_t at : {int64_t{0}, count / 2 + 1, count - 1}) {
        EXPECT_EQ(factor_of(*plan, *pool, most, at), 2);
        EXPECT_EQ(factor_of(*plan, *pool, std::nextafter(limit, infinity), at), 3);
        EXPECT_EQ(factor_of(*plan, *pool, -limit, at), 2);
        EXPECT_EQ(factor_of(*plan, *pool, -limit - 2, at), 3);
        EXPECT_EQ(factor_of(*plan, *pool, infinity, at), 3);
        EXPECT_EQ(factor_of(*plan, *pool, -infinity, at), 3);
        EXPECT_EQ(factor_of(*plan, *pool, std::numeric_limits<float>::quiet_NaN(), at), 3);
        EXPECT_EQ(factor_of(*plan, *pool, 1, at), 2);  // what was beyond before counts no more
      }
    }
  }
}

TEST(ValueLimits, HoldForRunsSideBySide) {
  const std::shared_ptr<const Plan> plan = limited(false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto pool = ThreadPool::make(1);
      for (int k = 0; k < 20; ++k)
        EXPECT_EQ(factor_of(*plan, *pool, (t + k) % 2 == 0 ? 1.0F : 50.0F, k), (t + k) % 2 == 0 ? 2 : 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// What is watched is there, though nobody else reads it.
TEST(ValueLimits, TheirValuesAreNotFusedAway) {
  const std::shared_ptr<const Plan> plan = limited(false);
  const auto pool = ThreadPool::make(1);
  const ValueId sum = plan->graph().nodes[0].outputs[0];
  bool given = false;
  for (const Step& step : plan->steps())
    given |= std::count(step.work->outputs.begin(), step.work->outputs.end(), sum) != 0;
  EXPECT_TRUE(given);
  EXPECT_EQ(factor_of(*rebuilt(*plan, nullptr), *pool, 50, 3), 3);
}

/// What it is computed of may be in the same place before, and what is computed of it after.
TEST(ValueLimits, AreOfTheValueNotOfItsPlace) {
  const Write write = [](ModelMaker& m, const ir::Shape& shape, float factor) {
    const ValueId x = m.input("x", ElementType::f32, ir::to_dims(shape));
    const ValueId sum = m.node("MatMul", {x, m.constant(ModelMaker::random({64, 64}, 1))});
    const ValueId middle = m.node("Softmax", {sum});
    m.output(m.node("MatMul", {times(m, middle, 1000), m.constant(ModelMaker::random({64, 8}, 2))}));
    m.output(times(m, x, factor));
    return middle;
  };
  const auto plan = limited(write, {8, 64}, 1);  // it is within that, what is before and after it is not
  const auto pool = ThreadPool::make(1);
  ir::Tensor x = ModelMaker::random({8, 64}, 7);
  for (int64_t k = 0; k < x.size(); ++k) x.as<float>()[k] *= 20;
  Values results(2);
  plan->run({RuntimeValue(x)}, results, {*pool});
  EXPECT_EQ(results[1].tensor.as<float>()[6], 2 * x.as<float>()[6]);
}

/// Nobody writes the whole of a value that is joined where its parts are written.
TEST(ValueLimits, AreWatchedInPartsThatAreWrittenInPlace) {
  const Write write = [](ModelMaker& m, const ir::Shape& shape, float factor) {
    const ValueId x = m.input("x", ElementType::f32, ir::to_dims(shape));
    const ValueId a = m.node("Softmax", {x}), b = m.node("Softmax", {m.node("Neg", {x})});
    const ValueId whole = m.node("Concat", {a, b}, {{"axis", ModelMaker::attribute(int64_t{1})}});
    m.output(m.node("MatMul", {whole, m.constant(ModelMaker::random({128, 8}, 1))}));
    m.output(times(m, x, factor));
    return whole;
  };
  const auto plan = limited(write, {1, 64}, 0.5F);
  const auto pool = ThreadPool::make(1);
  for (const Step& step : plan->steps()) EXPECT_NE(step.work->ops, "Concat");
  for (const float high : {0.0F, 20.0F, -20.0F}) {  // one probability is near 1, of either part
    ir::Tensor x = ir::Tensor::allocate(ElementType::f32, {1, 64});
    x.as<float>()[5] = high;
    x.as<float>()[6] = 1;
    Values results(2);
    plan->run({RuntimeValue(x)}, results, {*pool});
    EXPECT_EQ(results[1].tensor.as<float>()[6], high == 0 ? 2 : 3) << high;
  }
}

TEST(ValueLimits, WhatCannotBeWatchedIsRefused) {
  const Write write = [](ModelMaker& m, const ir::Shape& shape, float) {
    m.output(m.node("Relu", {m.input("x", ElementType::f32, ir::to_dims(shape))}));
    ir::Value nowhere;
    nowhere.name = "nowhere";
    nowhere.type = ElementType::f32;
    nowhere.dims = ir::to_dims(shape);
    return m.graph().add_value(nowhere);
  };
  EXPECT_THROW(limited(write, {4}, limit), Error);
}

}  // namespace
}  // namespace axrun::tests
