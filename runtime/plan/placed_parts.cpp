// Values that are written where they will be read as a part of another one: Concat whose inputs follow one
// another in its result computes nothing then.

#include <algorithm>

#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueId;

namespace {

/// Kernels are given buffers that begin at such addresses.
constexpr size_t part_alignment = 64;

}  // namespace

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

bool PlanBuilder::place_parts(int n) {
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  if (node.op != "Concat" || !node.domain.empty() || !options_.reuse_buffers) return false;
  if (structure_of(n) == nullptr || node.inputs.size() < 2) return false;
  const ValueId whole = node.outputs[0];
  const ir::Shape shape = *ir::constant_dims(*fact(whole).dims);
  const auto attribute = node.attributes.find("axis");
  if (attribute == node.attributes.end()) return false;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = attribute->second.integer + (attribute->second.integer < 0 ? rank : 0);
  if (std::any_of(shape.begin(), shape.begin() + axis, [](int64_t dim) { return dim != 1; })) return false;
  if (!has_own_place(whole)) return false;
  std::vector<Part> parts;
  size_t offset = 0;
  for (const ValueId input : node.inputs) {
    const ValueId part = root(input);
    const bool taken =
        parts_.count(part) != 0 ||
        std::any_of(parts.begin(), parts.end(), [&](const Part& one) { return one.part == part; });
    if (taken || offset % part_alignment != 0 || !has_own_place(part)) return false;
    const ir::ValueFact& known = fact(input);
    const int64_t count = ir::element_count(*ir::constant_dims(*known.dims));
    if (count == 0) return false;
    parts.push_back({part, offset});
    offset += static_cast<size_t>(count) * ir::size_of(known.type);
  }
  for (const Part& one : parts) parts_[one.part] = {whole, one.offset};
  return true;
}

PlanBuilder::Part PlanBuilder::outermost(ValueId id) {
  Part place{root(id), 0};
  for (auto found = parts_.find(place.part); found != parts_.end(); found = parts_.find(place.part)) {
    place.part = root(found->second.part);
    place.offset += found->second.offset;
  }
  return place;
}

}  // namespace axrun::runtime
