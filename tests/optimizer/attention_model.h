#pragma once

#include <vector>

#include "tests/runtime/models.h"

namespace axrun::tests {

/// Queries, keys and values of one input, x [24, 32], and attention over them: many identities.
inline ModelMaker attention() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {24, 32});
  std::vector<ir::ValueId> parts;
  for (const uint64_t seed : {1, 3, 5})
    parts.push_back(
        m.node("Add", {m.node("MatMul", {x, m.weights({32, 16}, seed)}), m.weights({16}, seed + 1)}));
  const ir::ValueId turned =
      m.node("Transpose", {parts[1]}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{1, 0})}});
  const ir::ValueId scores = m.node("Softmax", {m.node("MatMul", {parts[0], turned})});
  m.output(m.node("MatMul", {scores, parts[2]}));
  return m;
}

}  // namespace axrun::tests
