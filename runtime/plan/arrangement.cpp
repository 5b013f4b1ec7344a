// How the groups of a form are numbered.
#include "runtime/plan/arrangement.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

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

std::shared_ptr<const Arrangement> Arrangements::of(uint64_t version) {
  const std::lock_guard lock(mutex_);
  return version == version_ ? wanted_ : nullptr;
}

void Arrangements::note(uint64_t version, std::shared_ptr<const Arrangement> wanted) {
  const std::lock_guard lock(mutex_);
  version_ = version;
  wanted_ = std::move(wanted);
}

std::shared_ptr<const Arrangement> PlanBuilder::arrange(std::vector<Group> groups,
                                                        std::vector<std::vector<int>> joined) const {
  auto made = std::make_shared<Arrangement>();
  made->joined = std::move(joined);
  const auto number = [&](Group& group, const auto& self) -> void {
    group.number = static_cast<int>(made->outlines.size());
    made->outlines.push_back(group.nodes.size() > 1 ? outline_of(group.nodes) : StepOutline());
    for (Group& part : group.parts) self(part, self);
  };
  for (Group& group : groups) number(group, number);
  made->groups = std::move(groups);
  return made;
}

}  // namespace axrun::runtime
