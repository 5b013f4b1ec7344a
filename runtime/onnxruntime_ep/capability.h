#pragma once

#include <string>
#include <vector>

#include "runtime/onnxruntime_ep/examined_parts.h"
#include "runtime/onnxruntime_ep/host.h"
#include "runtime/onnxruntime_ep/model_writer.h"

namespace axrun::ort {

/// A node that stays with ONNX Runtime.
struct LeftNode {
  std::string name, op, reason;
};

/// What the provider takes of a graph.
struct Claims {
  std::vector<GraphPart> parts;
  std::vector<LeftNode> left;
  std::size_t nodes = 0;    ///< of the graph
  std::size_t claimed = 0;  ///< of them, in parts
};

/// Maximal convex parts of a graph that axrun runs. What enters and leaves a part are tensors of types that
/// mean the same on both sides, and each part has been imported once, in this session or in one before it. A
/// node with bodies belongs to a part with all of them or not at all; of a body whose node will be taken
/// nothing is claimed.
///
/// The answer depends on the graph alone. Throws HostError.
Claims claims_of(const Host& host, const Graph* graph, ExaminedParts& examined);

}  // namespace axrun::ort
