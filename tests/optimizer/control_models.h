#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/runtime/models.h"

// Models whose plans have others inside: bodies, and what follows once a run knows shapes.

namespace axrun::tests {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;
inline ValueId capture(ModelMaker& body, ValueId outer) {
  ir::Value value;
  value.name = "captured_" + std::to_string(outer);
  const ValueId inner = body.graph().add_value(value);
  body.graph().captures.emplace_back(outer, inner);
  return inner;
}

/// Two steps, with the outer graph's x and weights of its own.
inline ir::Attribute branch(ValueId x, uint64_t seed) {
  ModelMaker body;
  const ValueId product = body.node("MatMul", {capture(body, x), body.weights({24, 40}, seed)});
  const ValueId sum = body.node("Add", {product, body.weights({40}, seed + 1)});
  body.output(body.node("Softmax", {sum}, {{"axis", ModelMaker::attribute(int64_t{-1})}}));
  return body_of(body, "branch" + std::to_string(seed) + "_");
}

/// choose: bool, x [rows, 24].
inline ModelMaker choosing_model(const ir::Dim& rows) {
  ModelMaker m;
  const ValueId choose = m.input("choose", ElementType::boolean, {});
  const ValueId x = m.input("x", ElementType::f32, {rows, 24});
  m.output(m.node("If", {choose}, {{"then_branch", branch(x, 1)}, {"else_branch", branch(x, 5)}}));
  return m;
}

inline Values choosing(bool first, int64_t rows, uint64_t seed = 9) {
  ir::Tensor flag = ir::Tensor::allocate(ElementType::boolean, {});
  flag.set_int(0, first ? 1 : 0);
  return {RuntimeValue(flag), RuntimeValue(ModelMaker::random({rows, 24}, seed))};
}

/// x [8, 8] goes `trips` times through a product and a hyperbolic tangent; every result is stacked.
inline ModelMaker looping_model() {
  ModelMaker m;
  const ValueId trips = m.input("trips", ElementType::i64, {});
  const ValueId x = m.input("x", ElementType::f32, {8, 8});
  ModelMaker body;
  body.input("i", ElementType::i64, {});
  const ValueId go_on = body.input("go_on", ElementType::boolean, {});
  const ValueId state = body.input("state", ElementType::f32, {8, 8});
  const ValueId next = body.node("Tanh", {body.node("MatMul", {state, body.weights({8, 8}, 3)})});
  body.output(body.node("Identity", {go_on}), ElementType::boolean);
  body.output(next);
  body.output(body.node("Mul", {next, body.weights({8}, 4)}));
  ir::Value stacked;
  stacked.name = "stacked";
  m.node("Loop", {trips, ir::absent, x}, {{"body", body_of(body, "loop_")}});
  m.graph().nodes.back().outputs.push_back(m.graph().add_value(stacked));
  m.output(m.graph().nodes.back().outputs[1]);
  return m;
}

inline Values looping(int64_t trips, uint64_t seed = 9) {
  return {RuntimeValue(ir::Tensor::scalar(ElementType::i64, static_cast<double>(trips))),
          RuntimeValue(ModelMaker::random({8, 8}, seed))};
}

/// x [8, 16], of which the run says which four columns are taken: the same shapes, but not the same elements.
inline ModelMaker slicing_model() {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {8, 16});
  const ValueId start = m.input("start", ElementType::i64, {1});
  const ValueId end = m.node("Add", {start, m.integers({4})});
  const ValueId part = m.node("Slice", {x, start, end, m.integers({1})});
  m.output(m.node("Tanh", {part}));
  return m;
}

inline Values slicing(int64_t start, uint64_t seed = 9) {
  return {RuntimeValue(ModelMaker::random({8, 16}, seed)), RuntimeValue(ir::Tensor::from_i64({start}))};
}

/// x [6, 4, 8], of which each slice is added to a state, and their product with weights stacked.
inline ModelMaker scanning_model() {
  ModelMaker m;
  const ValueId start = m.weights({4, 8}, 11);
  const ValueId x = m.input("x", ElementType::f32, {6, 4, 8});
  ModelMaker body;
  const ValueId state = body.input("state", ElementType::f32, {4, 8});
  const ValueId slice = body.input("slice", ElementType::f32, {4, 8});
  const ValueId next = body.node("Tanh", {body.node("Add", {state, slice})});
  body.output(next);
  body.output(body.node("MatMul", {next, body.weights({8, 8}, 3)}));
  ir::Value stacked;
  stacked.name = "stacked";
  m.node("Scan", {start, x},
         {{"body", body_of(body, "scan_")}, {"num_scan_inputs", ModelMaker::attribute(int64_t{1})}});
  m.graph().nodes.back().outputs.push_back(m.graph().add_value(stacked));
  m.output(m.graph().nodes.back().outputs[1]);
  return m;
}

inline Values scanning() { return {RuntimeValue(ModelMaker::random({6, 4, 8}, 9))}; }

/// x [6, 24] goes through one of two branches, `trips` times: a body inside of a body.
inline ModelMaker choosing_loop(uint64_t seed = 1) {
  ModelMaker m;
  const ValueId trips = m.input("trips", ElementType::i64, {});
  const ValueId x = m.input("x", ElementType::f32, {6, 24});
  const auto branch = [](ValueId state, uint64_t weights) {
    ModelMaker body;
    const ValueId product = body.node("MatMul", {capture(body, state), body.weights({24, 24}, weights)});
    body.output(body.node("Tanh", {product}));
    return body_of(body, "branch" + std::to_string(weights) + "_");
  };
  ModelMaker body;
  const ValueId i = body.input("i", ElementType::i64, {});
  const ValueId go_on = body.input("go_on", ElementType::boolean, {});
  const ValueId state = body.input("state", ElementType::f32, {6, 24});
  const ValueId odd =
      body.node("Cast", {body.node("Mod", {i, body.constant(ir::Tensor::scalar(ElementType::i64, 2))})},
                {{"to", ModelMaker::attribute(int64_t{9})}});
  const ValueId next = body.node(
      "If", {odd}, {{"then_branch", branch(state, seed)}, {"else_branch", branch(state, seed + 1)}});
  body.output(body.node("Identity", {go_on}), ElementType::boolean);
  body.output(next);
  m.output(m.node("Loop", {trips, ir::absent, x}, {{"body", body_of(body, "loop_")}}));
  return m;
}

inline Values choosing_in_turn(int64_t trips) {
  return {RuntimeValue(ir::Tensor::scalar(ElementType::i64, static_cast<double>(trips))),
          RuntimeValue(ModelMaker::random({6, 24}, 9))};
}

}  // namespace axrun::tests
