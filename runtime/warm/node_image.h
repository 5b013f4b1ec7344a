#pragma once

#include "ir/graph.h"
#include "runtime/cache/bytes.h"

namespace axrun::runtime {

/// Whether the node can be written: not where it has bodies, tensors as attributes, or is a custom operator.
bool has_image(const ir::Node& node);

void write_node(cache::Writer& out, const ir::Node& node);
/// The reader fails at what makes no node.
ir::Node read_node(cache::Reader& in);

void write_dims(cache::Writer& out, const std::optional<ir::Dims>& dims);
/// Throws Error(user) for what is no size.
std::optional<ir::Dims> read_dims(cache::Reader& in);

}  // namespace axrun::runtime
