#pragma once

#include "tests/operators/case.h"

namespace axrun::runtime {

/// Appends up to three nodes to the last one's result of shape `shape`: scales and biases per channel, a
/// residual, an activation, as exporters put them behind contractions.
void append_epilogue(Case& c, Random& random, const ir::Shape& shape, size_t channel_axis);

/// Appends one activation to the last node's result.
void append_activation(Case& c, Random& random);

}  // namespace axrun::runtime
