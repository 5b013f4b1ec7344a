#include "runtime/optimizer/chosen_layouts.h"

#include <algorithm>
#include <utility>

namespace axrun::runtime {

std::shared_ptr<const ChosenLayouts::Choice> ChosenLayouts::choice_for(
    const std::vector<ir::Shape>& shapes) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(choices_.begin(), choices_.end(),
                                  [&](const auto& choice) { return choice->shapes == shapes; });
  return found == choices_.end() ? nullptr : *found;
}

std::shared_ptr<const ir::Graph> ChosenLayouts::graph_for(const std::vector<ir::Shape>& shapes) const {
  const auto choice = choice_for(shapes);
  return choice ? choice->graph : nullptr;
}

void ChosenLayouts::choose(Choice choice) {
  drop(choice.shapes);
  const std::lock_guard lock(mutex_);
  choices_.push_back(std::make_shared<const Choice>(std::move(choice)));
}

void ChosenLayouts::drop(const std::vector<ir::Shape>& shapes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(choices_.begin(), choices_.end(),
                                  [&](const auto& choice) { return choice->shapes == shapes; });
  if (found == choices_.end()) return;
  dropped_.push_back(std::move(*found));
  choices_.erase(found);
}

std::vector<std::shared_ptr<const ChosenLayouts::Choice>> ChosenLayouts::kept() const {
  std::vector<std::shared_ptr<const Choice>> kept;
  for (std::shared_ptr<const Choice> choice : all()) {
    while (choice && choice->is_bilinear) choice = choice->base;
    if (choice) kept.push_back(std::move(choice));
  }
  return kept;
}

std::vector<std::shared_ptr<const ChosenLayouts::Choice>> ChosenLayouts::all() const {
  const std::lock_guard lock(mutex_);
  return choices_;
}

}  // namespace axrun::runtime
