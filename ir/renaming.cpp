#include "ir/renaming.h"

#include <algorithm>
#include <numeric>

namespace axrun::ir {

Renaming::Renaming(size_t values) : target_(values) { std::iota(target_.begin(), target_.end(), 0); }

ValueId Renaming::resolve(ValueId id) const {
  if (id == absent) return absent;
  while (static_cast<size_t>(id) < target_.size() && target_[static_cast<size_t>(id)] != id)
    id = target_[static_cast<size_t>(id)];
  return id;
}

void Renaming::apply(Node& node) const {
  for (ValueId& id : node.inputs) id = resolve(id);
  for (auto& [name, attribute] : node.attributes) {
    if (attribute.graph) recapture(attribute.graph);
    for (auto& body : attribute.graphs) recapture(body);
  }
}

void Renaming::recapture(std::shared_ptr<Graph>& body) const {
  const auto stays = [&](const auto& capture) { return resolve(capture.first) == capture.first; };
  if (std::all_of(body->captures.begin(), body->captures.end(), stays)) return;
  body = std::make_shared<Graph>(*body);
  for (auto& capture : body->captures) capture.first = resolve(capture.first);
}

}  // namespace axrun::ir
