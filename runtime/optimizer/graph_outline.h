#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ir/infer.h"

namespace axrun::runtime {

/// Whether large constants of an outline can be told from one another by their content: that takes a look at
/// all of their bytes.
enum class ConstantContents : uint8_t { known, unknown };

/// A graph and what is known of its values, as bytes for the worker: numbers of values and places of nodes
/// are those of the graph. Constants of more than a few elements are left out; nodes that have no image
/// (runtime/warm/node_image.h) are there with what they read and make, and nothing else.
std::string write_outline(const ir::Inference& facts, ConstantContents contents);

class GraphOutline {
 public:
  /// Throws Error(user) for bytes that make no sense.
  explicit GraphOutline(std::string_view bytes);
  GraphOutline(const GraphOutline&) = delete;
  GraphOutline& operator=(const GraphOutline&) = delete;

  const ir::Graph& graph() const { return graph_; }
  const ir::Inference& facts() const { return *facts_; }
  /// Of a constant, equal where its bytes are. Of those that were left out nothing else can be asked but type
  /// and shape: whoever reads their elements ends there.
  uint64_t content(const ir::Tensor& constant) const;

 private:
  std::shared_ptr<void> nowhere_;  ///< memory that cannot be touched, for what was left out to lie in
  std::map<const void*, uint64_t> left_out_;
  ir::Graph graph_;
  std::unique_ptr<ir::Inference> facts_;
};

}  // namespace axrun::runtime
