#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace axrun::runtime {

/// An input of a graph that is the memory of a value which grows in place (ir/ops/state.cpp): what lies in it
/// behind that value may be anything, and others may be writing there.
struct StateBuffer {
  size_t input;  ///< of the graph, by position
  size_t past;   ///< the input that is as long as what is there
  size_t axis;
};

std::vector<StateBuffer> state_buffers(const ir::Graph& graph);

/// Copies so many positions along the axis between tensors that are as long there, or longer, and otherwise
/// alike.
void copy_positions(const ir::Tensor& from, ir::Tensor& to, size_t axis, int64_t positions);

}  // namespace axrun::runtime
