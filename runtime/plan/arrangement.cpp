// How the groups of a form are numbered, and which of their steps serve several plans.
#include "runtime/plan/arrangement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueId;

std::shared_ptr<const Arrangement> Arrangements::find(const std::vector<std::vector<int>>& joined) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& arrangement) { return arrangement->joined == joined; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, std::next(found));
  return kept_.front();
}

void Arrangements::keep(std::shared_ptr<const Arrangement> made) {
  const std::lock_guard lock(mutex_);
  kept_.insert(kept_.begin(), std::move(made));
  if (kept_.size() > most_kept) kept_.pop_back();
}

namespace {

/// The numbers that a group's steps depend on; none where that is more than numbers.
std::optional<std::vector<size_t>> sizes_of(const PlanForm& form, const Group& group) {
  std::set<size_t> places;
  for (const int n : group.nodes) {
    const ir::Node& node = form.graph->nodes[static_cast<size_t>(n)];
    const auto& program = form.programs[static_cast<size_t>(n)];
    // What it becomes depends on where other values are.
    if (!program || node.op == "Concat") return std::nullopt;
    const std::vector<size_t> own = program->values();
    places.insert(own.begin(), own.end());
    for (size_t k = 0; k < node.inputs.size() + node.outputs.size(); ++k) {
      const bool is_input = k < node.inputs.size();
      const ValueId id = is_input ? node.inputs[k] : node.outputs[k - node.inputs.size()];
      const int32_t place = id == ir::absent ? -1 : (*form.places)[static_cast<size_t>(id)];
      if (place < 0) continue;
      const PlanForm::OpenFact& fact = form.open_facts[static_cast<size_t>(place)];
      // Steps know where constants are, and these are the plan's own.
      const auto& operands = program->program().operands;
      if (!fact.elements.empty() && is_input && k < operands.size() && operands[k] != ir::none)
        return std::nullopt;
      places.insert(fact.dims.begin(), fact.dims.end());
      places.insert(fact.elements.begin(), fact.elements.end());
    }
  }
  return std::vector<size_t>(places.begin(), places.end());
}

}  // namespace

std::shared_ptr<const Arrangement> PlanBuilder::arrange(std::vector<Group> groups,
                                                        std::vector<std::vector<int>> joined) const {
  auto made = std::make_shared<Arrangement>();
  made->joined = std::move(joined);
  const auto number = [&](Group& group, const auto& self) -> void {
    group.number = static_cast<int>(made->outlines.size());
    made->outlines.push_back(group.nodes.size() > 1 ? outline_of(group.nodes) : StepOutline());
    for (Group& part : group.parts) self(part, self);
  };
  std::map<std::vector<size_t>, size_t> boards;
  for (Group& group : groups) {
    number(group, number);
    made->shelf_places.resize(made->outlines.size());
    const auto sizes = sizes_of(*form_, group);
    if (!sizes) continue;
    const size_t board = boards.emplace(*sizes, boards.size()).first->second;
    if (board == made->boards.size()) made->boards.push_back({*sizes, 0});
    made->shelf_places[static_cast<size_t>(group.number)] = {board, made->boards[board].groups++};
  }
  made->groups = std::move(groups);
  made->shelf.resize(made->boards.size());
  return made;
}

}  // namespace axrun::runtime
