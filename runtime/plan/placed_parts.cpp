// Values that are written where they will be read as a part of another one: Concat whose inputs follow one
// another in its result computes nothing then.

#include <algorithm>

#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueId;

bool PlanBuilder::has_own_place(ValueId id) {
  const ValueId owner = root(id);
  const auto at = static_cast<size_t>(owner);
  if (slot_[at] || is_constant(owner)) return false;
  const auto shares = [&](ValueId other) { return root(other) == owner; };
  if (std::any_of(live_in_.begin(), live_in_.end(), shares)) return false;
  for (size_t k = 0; k < graph_->outputs.size(); ++k) {
    if (outputs_[k] && shares(graph_->outputs[k])) return false;
  }
  return true;
}

bool PlanBuilder::is_of_one_row(int n) const {
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  const auto attribute = node.attributes.find("axis");
  if (attribute == node.attributes.end()) return false;
  const ir::Shape shape = shape_of(node.outputs[0]);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = attribute->second.integer + (attribute->second.integer < 0 ? rank : 0);
  return std::all_of(shape.begin(), shape.begin() + axis, [](int64_t dim) { return dim == 1; });
}

bool PlanBuilder::place_parts(int n) {
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  if (node.op != "Concat" || !node.domain.empty() || !options_.reuse_buffers) return false;
  if (structure_of(n) == nullptr || node.inputs.size() < 2) return false;
  const ValueId whole = node.outputs[0];
  if (!is_of_one_row(n)) return false;
  if (!has_own_place(whole)) return false;
  std::vector<std::pair<ValueId, Part>> parts;
  std::vector<ValueId> before;
  size_t offset = 0;
  for (const ValueId input : node.inputs) {
    const ValueId part = root(input);
    const bool taken =
        parts_.count(part) != 0 ||
        std::any_of(parts.begin(), parts.end(), [&](const auto& one) { return one.first == part; });
    if (taken || offset % part_alignment != 0 || !has_own_place(part)) return false;
    const size_t bytes = bytes_of(input);
    if (bytes == 0) return false;
    parts.push_back({part, {whole, before}});
    before.push_back(input);
    offset += bytes;
  }
  for (auto& [part, place] : parts) parts_[part] = std::move(place);
  concatenated_.push_back(n);
  return true;
}

ValueId PlanBuilder::outermost(ValueId id) {
  ValueId place = root(id);
  for (auto found = parts_.find(place); found != parts_.end(); found = parts_.find(place))
    place = root(found->second.part);
  return place;
}

}  // namespace axrun::runtime
