#pragma once

#include <malloc.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/run_state.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/control_models.h"

// Models whose sizes change with every run, and runs of them: hardly a size comes twice.

namespace axrun::tests {

using Draw = std::mt19937;
inline int64_t between(Draw& draw, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(draw);
}

/// As between, every sixth time the least one: 0 and 1 take plans of their own.
inline int64_t often_least(Draw& draw, int64_t low, int64_t high) {
  return between(draw, 0, 5) == 0 ? low : between(draw, low, high);
}

/// A model, and one run of it at drawn sizes.
struct Workload {
  std::string name;
  ModelMaker maker;
  std::function<void(runtime::Session& session, Draw& draw)> run;
};

/// Text, an image and their products, with five open sizes.
inline Workload five_sizes() {
  const auto size = [](const char* name) { return ir::Dim::symbol(name); };
  ModelMaker m;
  const ValueId words = m.input("words", ElementType::f32, {size("batch"), size("length"), 16});
  const ValueId image = m.input("image", ElementType::f32, {size("batch"), 3, size("height"), size("width")});
  const ValueId more = m.input("more", ElementType::f32, {size("batch"), size("rows"), 16});
  const auto pads = ModelMaker::attribute(std::vector<int64_t>{1, 1, 1, 1});
  const auto halves = ModelMaker::attribute(std::vector<int64_t>{2, 2});
  ValueId a = m.node("Conv", {image, m.weights({8, 3, 3, 3}, 1)}, {{"pads", pads}, {"strides", halves}});
  a = m.node("Mul", {a, m.node("Sigmoid", {a})});
  a = m.node("Conv", {a, m.weights({16, 8, 3, 3}, 2)}, {{"pads", pads}});
  a = m.node("Reshape", {m.node("GlobalAveragePool", {a}), m.integers({0, 1, 16})});
  ValueId b = m.node("Relu", {m.node("Add", {m.node("MatMul", {words, m.weights({16, 16}, 3)}), a})});
  const ValueId turned =
      m.node("Transpose", {m.node("Concat", {b, more}, {{"axis", ModelMaker::attribute(1)}})},
             {{"perm", ModelMaker::attribute(std::vector<int64_t>{0, 2, 1})}});
  m.output(m.node("Softmax", {m.node("MatMul", {b, turned})}, {{"axis", ModelMaker::attribute(-1)}}));
  return {"five sizes", m, [](runtime::Session& session, Draw& draw) {
            const int64_t batch = between(draw, 1, 3);
            session.run({RuntimeValue(ModelMaker::random({batch, often_least(draw, 1, 60), 16}, 1)),
                         RuntimeValue(ModelMaker::random(
                             {batch, 3, often_least(draw, 1, 40), often_least(draw, 1, 40)}, 2)),
                         RuntimeValue(ModelMaker::random({batch, often_least(draw, 0, 60), 16}, 3))});
          }};
}

/// Attention over all that has been there: x [batch, fresh, 8], keys and values [batch, past, 8].
inline Workload growing_states() {
  const auto size = [](const char* name) { return ir::Dim::symbol(name); };
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {size("batch"), size("fresh"), 8});
  const ValueId past_keys = m.input("past_keys", ElementType::f32, {size("batch"), size("past"), 8});
  const ValueId past_values = m.input("past_values", ElementType::f32, {size("batch"), size("past"), 8});
  const auto joined = [&](ValueId before, uint64_t seed, const char* name) {
    const ValueId all = m.node("Concat", {before, m.node("MatMul", {x, m.weights({8, 8}, seed)})},
                               {{"axis", ModelMaker::attribute(1)}});
    m.graph().value(all).name = name;
    return all;
  };
  const ValueId keys = joined(past_keys, 2, "keys"), values = joined(past_values, 3, "values");
  const ValueId turned =
      m.node("Transpose", {keys}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{0, 2, 1})}});
  const ValueId weights = m.node("Softmax", {m.node("MatMul", {m.node("Tanh", {x}), turned})},
                                 {{"axis", ModelMaker::attribute(-1)}});
  m.output(m.node("MatMul", {weights, values}));
  m.output(keys);
  m.output(values);
  return {"states", m, [](runtime::Session& session, Draw& draw) {
            // A conversation: some tokens at once, then one by one.
            const int64_t batch = between(draw, 1, 4);
            const auto state = session.new_state({{"keys", "past_keys"}, {"values", "past_values"}}, 128);
            for (int64_t turn = between(draw, 1, 6), fresh = between(draw, 1, 100); turn > 0;
                 --turn, fresh = 1)
              session.run(
                  {RuntimeValue(ModelMaker::random({batch, fresh, 8}, 4)), RuntimeValue(), RuntimeValue()},
                  *state);
          }};
}

/// x [rows, 24] through one of two branches, as often as the run says.
inline Workload bodies() {
  const ir::Dim rows = ir::Dim::symbol("rows");
  ModelMaker m;
  const ValueId trips = m.input("trips", ElementType::i64, {});
  const ValueId choose = m.input("choose", ElementType::boolean, {});
  const ValueId x = m.input("x", ElementType::f32, {rows, 24});
  ModelMaker body;
  body.input("i", ElementType::i64, {});
  const ValueId go_on = body.input("go_on", ElementType::boolean, {});
  const ValueId state = body.input("state", ElementType::f32, {rows, 24});
  const ValueId next = body.node("Tanh", {body.node("MatMul", {state, body.weights({24, 24}, 3)})});
  body.output(body.node("Identity", {go_on}), ElementType::boolean);
  body.output(next);
  const ValueId looped = m.node("Loop", {trips, ir::absent, x}, {{"body", body_of(body, "loop_")}});
  m.output(m.node("If", {choose}, {{"then_branch", branch(looped, 1)}, {"else_branch", branch(x, 5)}}));
  return {"bodies", m, [](runtime::Session& session, Draw& draw) {
            ir::Tensor flag = ir::Tensor::allocate(ElementType::boolean, {});
            flag.set_int(0, between(draw, 0, 1));
            session.run(
                {RuntimeValue(ir::Tensor::scalar(ElementType::i64, static_cast<double>(between(draw, 0, 4)))),
                 RuntimeValue(flag), RuntimeValue(ModelMaker::random({between(draw, 1, 5000), 24}, 9))});
          }};
}

/// Bytes that the process has from malloc and has not freed.
inline size_t allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace axrun::tests
