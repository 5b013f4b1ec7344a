#include "runtime/plan/plan_form.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

namespace {

/// Live-ins as facts tell them.
struct ToldByFacts {
  const std::vector<ValueFact>& given;
  size_t count() const { return given.size(); }
  ir::ElementType type(size_t k) const { return given[k].type; }
  bool has_dims(size_t k) const { return given[k].dims.has_value(); }
  size_t rank(size_t k) const { return given[k].dims->size(); }
  int64_t extent(size_t k, size_t axis) const { return (*given[k].dims)[axis].value(); }
};

/// As a run is given them.
struct ToldByValues {
  const std::vector<RuntimeValue>& given;
  size_t count() const { return given.size(); }
  ir::ElementType type(size_t k) const { return given[k].tensor.type(); }
  bool has_dims(size_t k) const {
    return given[k].kind == ir::ValueKind::tensor && given[k].tensor.defined();
  }
  size_t rank(size_t k) const { return given[k].tensor.shape().size(); }
  int64_t extent(size_t k, size_t axis) const { return given[k].tensor.shape()[axis]; }
};

/// Long ones are compared by where they are: they are weights.
bool holds_the_same(const ir::Tensor& a, const ir::Tensor& b) {
  constexpr size_t most_compared = 4096;
  if (!b.defined() || a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.data() == b.data() || a.size() == 0) return true;
  return a.type() != ir::ElementType::string && a.bytes() <= most_compared &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

template <class Told>
std::optional<std::vector<int64_t>> numbers_of(const PlanForm& form, const Told& given) {
  for (size_t k = 0; k < given.count(); ++k) {
    const ValueFact& own = (*form.facts)[static_cast<size_t>(form.live_in[k])];
    if (given.has_dims(k) != own.dims.has_value()) return std::nullopt;
    const ir::ElementType type = given.has_dims(k) ? given.type(k) : ir::ElementType::undefined;
    if (type != own.type) return std::nullopt;
    if (own.dims && given.rank(k) != own.dims->size()) return std::nullopt;
  }
  for (const PlanForm::FixedAxis& axis : form.fixed) {
    if (given.extent(axis.live_in, axis.axis) != axis.extent) return std::nullopt;
  }
  std::vector<int64_t> values;
  values.reserve(form.sizes.size());
  for (const PlanForm::OpenAxis& axis : form.open) {
    values.push_back(given.extent(axis.live_in, axis.axis));
    if (values.back() <= PlanForm::most_fixed) return std::nullopt;
  }
  form.sizes.run(values);
  for (const PlanForm::Guard& guard : form.guards) {
    if (!ir::SizeGuard::holds(guard.relation, values[guard.value])) return std::nullopt;
  }
  return values;
}

}  // namespace

std::optional<std::vector<int64_t>> PlanForm::numbers(const std::vector<ValueFact>& given) const {
  size_t constants = 0;
  for (const ValueFact& fact : given) constants += fact.constant.defined() ? 1 : 0;
  if (constants != values.size()) return std::nullopt;
  for (const FixedValue& fixed : values) {
    if (!holds_the_same(fixed.value, given[fixed.live_in].constant)) return std::nullopt;
  }
  return numbers_of(*this, ToldByFacts{given});
}

std::optional<std::vector<int64_t>> PlanForm::numbers(const std::vector<RuntimeValue>& values) const {
  return numbers_of(*this, ToldByValues{values});
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
