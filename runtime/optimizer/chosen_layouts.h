#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/plan/lay_out.h"

namespace axrun::runtime {

/// In which layouts the model's values are stored, by the shapes of its inputs: plans for these are made of
/// the graph that is laid out so, by whoever makes one. Any thread may ask.
class ChosenLayouts {
 public:
  struct Choice {
    std::vector<ir::Shape> shapes;
    LayoutRecipe recipe;
    std::shared_ptr<const ir::Graph> graph;  ///< made of the model's by the recipe
  };
  /// mutex: one that no fork of the process finds locked.
  explicit ChosenLayouts(std::mutex& mutex) : mutex_(mutex) {}

  /// Null where nothing was chosen.
  std::shared_ptr<const ir::Graph> graph_for(const std::vector<ir::Shape>& shapes) const;
  /// In place of what was chosen for these shapes.
  void choose(Choice choice);
  void drop(const std::vector<ir::Shape>& shapes);
  std::vector<std::shared_ptr<const Choice>> all() const;

 private:
  std::mutex& mutex_;
  std::vector<std::shared_ptr<const Choice>> choices_;
  /// What is known of a graph is known by its address: that is no other one's for as long as this lives.
  std::vector<std::shared_ptr<const Choice>> dropped_;
};

}  // namespace axrun::runtime
