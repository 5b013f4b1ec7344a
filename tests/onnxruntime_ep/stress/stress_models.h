#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/runtime/models.h"

namespace axrun::tests {

constexpr int64_t stress_classes = 16;

/// The state of the body around it, through a product and what `op` says.
inline ir::Attribute stress_branch(ir::ValueId state, const std::string& op, uint64_t seed) {
  ModelMaker branch;
  ir::Value outer;
  outer.name = "captured";
  const ir::ValueId inner = branch.graph().add_value(outer);
  branch.graph().captures.emplace_back(state, inner);
  branch.output(branch.node(
      op, {branch.node("MatMul", {inner, branch.weights({stress_classes, stress_classes}, seed)})}));
  return body_of(branch, op + "_");
}

/// x [batch, 3, 12, 12] becomes a state [batch, 16] that goes five times through one of two branches in a
/// loop; the states are joined, so that the body has other shapes in every iteration, and their mean is the
/// result.
inline ModelMaker bodies_within_bodies(const ir::Dim& batch) {
  const auto f32 = ir::ElementType::f32, i64 = ir::ElementType::i64, boolean = ir::ElementType::boolean;
  ModelMaker body;
  const ir::ValueId i = body.input("i", i64, {});
  const ir::ValueId go_on = body.input("go_on", boolean, {});
  const ir::ValueId state = body.input("state", f32, {batch, stress_classes});
  const ir::ValueId joined = body.input("joined", f32, {batch, ir::Dim::symbol("so_far")});
  const ir::ValueId even =
      body.node("Equal", {body.node("Mod", {i, body.constant(ir::Tensor::scalar(i64, 2))}),
                          body.constant(ir::Tensor::scalar(i64, 0))});
  const ir::ValueId next = body.node("If", {even},
                                     {{"then_branch", stress_branch(state, "Tanh", 3)},
                                      {"else_branch", stress_branch(state, "Sigmoid", 4)}});
  body.output(body.node("Identity", {go_on}), boolean);
  body.output(next);
  body.output(body.node("Concat", {joined, next}, {{"axis", ModelMaker::attribute(int64_t{1})}}));

  ModelMaker m;
  const ir::ValueId x = m.input("x", f32, {batch, 3, 12, 12});
  const ir::ValueId row = m.node("Reshape", {x, m.integers({-1, 3 * 12 * 12})});
  const ir::ValueId start =
      m.node("Tanh", {m.node("MatMul", {row, m.weights({3 * 12 * 12, stress_classes}, 1)})});
  m.node("Loop", {m.constant(ir::Tensor::scalar(i64, 5)), ir::absent, start, start},
         {{"body", body_of(body, "loop_")}});
  ir::Value all;
  all.name = "all";
  const ir::ValueId all_id = m.graph().add_value(all);
  m.graph().nodes.back().outputs.push_back(all_id);
  const ir::ValueId states = m.node("Reshape", {all_id, m.integers({0, -1, stress_classes})});
  m.output(m.node("ReduceMean", {states},
                  {{"axes", ModelMaker::attribute(std::vector<int64_t>{1})},
                   {"keepdims", ModelMaker::attribute(int64_t{0})}}));
  return m;
}

}  // namespace axrun::tests
