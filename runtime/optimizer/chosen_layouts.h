#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/optimizer/rewritten_graph.h"
#include "runtime/plan/lay_out.h"

namespace axrun::runtime {

/// Other graphs that compute what the model's does, by the shapes of its inputs: plans for these are made of
/// them, by whoever makes one. Values are stored in other layouts there, or computed in other ways. Any
/// thread may ask.
class ChosenLayouts {
 public:
  struct Choice {
    std::vector<ir::Shape> shapes;
    LayoutRecipe recipe;                           ///< what the graph is made by, of the model's,
    std::shared_ptr<const AlgebraRecipe> algebra;  ///< or this, by algebra, of the model's
    std::shared_ptr<const Choice> base;            ///< or of this one's, which was chosen by layouts
    std::shared_ptr<const ir::Graph> graph;
    bool is_bilinear = false;  ///< the base's convolutions, or the model's, by bilinear algorithms
  };
  /// mutex: one that no fork of the process finds locked.
  explicit ChosenLayouts(std::mutex& mutex) : mutex_(mutex) {}

  /// Null where nothing was chosen.
  std::shared_ptr<const Choice> choice_for(const std::vector<ir::Shape>& shapes) const;
  std::shared_ptr<const ir::Graph> graph_for(const std::vector<ir::Shape>& shapes) const;
  /// In place of what was chosen for these shapes.
  void choose(Choice choice);
  void drop(const std::vector<ir::Shape>& shapes);
  std::vector<std::shared_ptr<const Choice>> all() const;
  /// Those that are kept between processes: of bilinear algorithms, which are chosen anew, what their graphs
  /// were made of.
  std::vector<std::shared_ptr<const Choice>> kept() const;

 private:
  std::mutex& mutex_;
  std::vector<std::shared_ptr<const Choice>> choices_;
  /// What is known of a graph is known by its address: that is no other one's for as long as this lives.
  std::vector<std::shared_ptr<const Choice>> dropped_;
};

}  // namespace axrun::runtime
