#include "runtime/plan/plan_form.h"

#include <fmt/format.h>

#include <utility>

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

std::optional<std::vector<int64_t>> PlanForm::numbers(const std::vector<ValueFact>& given) const {
  const auto extent = [&](size_t k, size_t axis) { return (*given[k].dims)[axis].value(); };
  for (size_t k = 0; k < given.size(); ++k) {
    const ValueFact& own = (*facts)[static_cast<size_t>(live_in[k])];
    if (given[k].type != own.type || given[k].dims.has_value() != own.dims.has_value()) return std::nullopt;
    if (own.dims && given[k].dims->size() != own.dims->size()) return std::nullopt;
  }
  for (const FixedAxis& axis : fixed) {
    if (extent(axis.live_in, axis.axis) != axis.extent) return std::nullopt;
  }
  std::vector<int64_t> values;
  values.reserve(sizes.size());
  for (const OpenAxis& axis : open) {
    values.push_back(extent(axis.live_in, axis.axis));
    if (values.back() <= most_fixed) return std::nullopt;
  }
  sizes.run(values);
  for (const Guard& guard : guards) {
    if (!ir::SizeGuard::holds(guard.relation, values[guard.value])) return std::nullopt;
  }
  return values;
}

ir::Tensor PlanForm::constant_at(const OpenFact& fact, const std::vector<int64_t>& numbers) const {
  const ValueFact& over_names = (*facts)[static_cast<size_t>(fact.id)];
  ir::Shape shape;
  if (fact.dims.empty()) shape = *ir::constant_dims(*over_names.dims);
  for (const size_t place : fact.dims) shape.push_back(numbers[place]);
  ir::Tensor constant = ir::Tensor::allocate(over_names.type, shape);
  for (size_t k = 0; k < fact.elements.size(); ++k)
    constant.set_int(static_cast<int64_t>(k), numbers[fact.elements[k]]);
  return constant;
}

std::optional<FactTable> PlanForm::facts_at(const std::vector<int64_t>& numbers) const {
  std::vector<ValueFact> own;
  own.reserve(open_facts.size());
  for (const OpenFact& open_fact : open_facts) {
    const ValueFact& over_names = (*facts)[static_cast<size_t>(open_fact.id)];
    ValueFact& fact = own.emplace_back();
    fact.type = over_names.type;
    fact.constant = over_names.constant;
    if (open_fact.dims.empty()) {
      fact.dims = over_names.dims;
    } else {
      ir::Dims& dims = fact.dims.emplace();
      dims.reserve(open_fact.dims.size());
      for (const size_t place : open_fact.dims) {
        if (numbers[place] < 0) return std::nullopt;
        dims.emplace_back(numbers[place]);
      }
    }
    if (!open_fact.elements.empty()) fact.constant = constant_at(open_fact, numbers);
  }
  return FactTable(facts, places, std::move(own));
}

FormCounts::Form PlanForm::describe() const {
  FormCounts::Form said;
  for (const OpenAxis& axis : open) said.sizes.push_back(axis.name);
  for (const FixedAxis& axis : fixed) {
    said.guards.push_back(
        fmt::format("{}[{}] = {}", graph->value(live_in[axis.live_in]).name, axis.axis, axis.extent));
  }
  for (const OpenAxis& axis : open)
    said.guards.push_back(fmt::format("{} - {} >= 0", axis.name, most_fixed + 1));
  for (const Guard& guard : guards) said.guards.push_back(guard.text);
  return said;
}

}  // namespace axrun::runtime
