#include "tests/algebra/small_terms.h"

namespace axrun::tests {

using search::algebra::Operation;
using search::algebra::Slot;
using search::algebra::TermId;

TermId SmallTerms::input(const std::string& name, const ir::Dims& dims) {
  return terms.leaf(name, {ir::ElementType::f32, dims, false});
}

TermId SmallTerms::constant(const std::string& name, const ir::Dims& dims) {
  return terms.leaf(name, {ir::ElementType::f32, dims, true});
}

TermId SmallTerms::number(double value) { return terms.literal(ir::ElementType::f32, value, {}); }

TermId SmallTerms::call(const std::string& name, const std::vector<TermId>& children,
                        const std::vector<std::pair<std::string, std::vector<int64_t>>>& attributes,
                        const std::vector<ir::Dims>& parameters) {
  Operation operation;
  operation.name = name;
  operation.version = search::algebra::canonical_version("", name, 17);
  for (const auto& [key, list] : attributes) {
    ir::Attribute& attribute = operation.attributes[key];
    const bool single = key == "axis" || key == "keepdims" || key == "group";
    attribute.kind = single ? ir::Attribute::Kind::integer : ir::Attribute::Kind::integers;
    if (single) {
      attribute.integer = list[0];
    } else {
      attribute.integers = list;
    }
  }
  if (!parameters.empty()) {
    operation.slots.assign(children.size(), Slot::child);
    operation.slots.resize(children.size() + parameters.size(), Slot::parameter);
  }
  return terms.make(terms.operation(operation), parameters, children);
}

TermId SmallTerms::softmax(TermId x, int64_t axis) { return call("Softmax", {x}, {{"axis", {axis}}}); }

}  // namespace axrun::tests
