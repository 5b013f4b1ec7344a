#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace axrun::runtime {

/// A graph that was made of another one, as what it has that this one has not: nodes, values, and constants
/// that were computed when it was made.
struct GraphImage {
  std::string text;
  std::vector<ir::Tensor> constants;  ///< in the order of the text

  /// Of the text and the constants in one file.
  size_t bytes() const;
  void write(std::span<std::byte> file) const;
  std::string bytes_in_one() const;
};

/// Nothing where what is new has no such text: bodies, tensors as attributes, custom operators.
std::optional<GraphImage> image_of(const ir::Graph& made, const ir::Graph& from);

/// The graph again, with constants that lie in these bytes, which the owner keeps. Null for bytes that make
/// no sense with `from`: whoever wrote them is trusted with nothing but that.
std::shared_ptr<ir::Graph> read_graph(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                      const ir::Graph& from);
/// The same, with constants of its own.
std::shared_ptr<ir::Graph> read_graph(std::string_view bytes, const ir::Graph& from);

}  // namespace axrun::runtime
