// What Terms makes of operations that only move elements, and of sums and products.
#include <algorithm>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {
namespace {

ir::Attribute integer(int64_t value) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integer;
  attribute.integer = value;
  return attribute;
}

ir::Attribute integers(const std::vector<int64_t>& list) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integers;
  attribute.integers = list;
  return attribute;
}

Operation mover(const std::string& name, int version, int parameters) {
  Operation operation;
  operation.name = name;
  operation.version = version;
  if (parameters > 0) {
    operation.slots.assign(static_cast<size_t>(parameters) + 1, Slot::parameter);
    operation.slots[0] = Slot::child;
  }
  return operation;
}

bool is_empty(const ir::Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](const ir::Dim& dim) { return dim == ir::Dim(0); });
}

}  // namespace

TermId Terms::reshape(TermId x, const ir::Dims& dims) {
  while (is(x, "Reshape")) x = at(x).children[0];
  if (at(x).facts.dims == dims) return x;
  // 0 and -1 have a meaning of their own there.
  if (is_empty(dims) || ir::product(dims) != ir::product(at(x).facts.dims)) return no_term;
  return intern(operation(mover("Reshape", 5, 1)), {dims}, {x});
}

TermId Terms::transpose(TermId x, const std::vector<int64_t>& permutation) {
  std::vector<int64_t> total = permutation;
  if (is(x, "Transpose")) {
    const std::vector<int64_t> first = operation(at(x).operation).attributes.at("perm").integers;
    for (int64_t& d : total) d = first[static_cast<size_t>(d)];
    x = at(x).children[0];
  }
  const ir::Dims from = at(x).facts.dims;
  ir::Dims to;
  int64_t last = -1;
  bool in_order = true;  // of the dims that are not 1
  for (const int64_t d : total) {
    to.push_back(from[static_cast<size_t>(d)]);
    if (to.back() == ir::Dim(1)) continue;
    in_order = in_order && d > last;
    last = d;
  }
  if (in_order) return reshape(x, to);
  Operation turned = mover("Transpose", 1, 0);
  turned.attributes.emplace("perm", integers(total));
  return intern(operation(turned), {}, {x});
}

TermId Terms::slice(TermId x, const ir::Dims& begin, const ir::Dims& size) {
  ir::Dims first = begin;
  if (is(x, "Slice") && at(x).parameters.size() == 3) {
    const std::vector<ir::Dims> inner = at(x).parameters;
    x = at(x).children[0];
    for (size_t k = 0; k < inner[2].size(); ++k) {
      ir::Dim& d = first[static_cast<size_t>(inner[2][k].value())];
      d = d + inner[0][k];
    }
  }
  ir::Dims starts, ends, axes;
  for (size_t d = 0; d < size.size(); ++d) {
    if (first[d] == ir::Dim(0) && size[d] == at(x).facts.dims[d]) continue;
    starts.push_back(first[d]);
    ends.push_back(first[d] + size[d]);
    axes.emplace_back(static_cast<int64_t>(d));
  }
  if (axes.empty()) return x;
  return intern(operation(mover("Slice", 10, 3)), {starts, ends, axes}, {x});
}

TermId Terms::expand(TermId x, const ir::Dims& dims) {
  if (is(x, "Expand")) x = at(x).children[0];
  if (at(x).facts.dims == dims) return x;
  return intern(operation(mover("Expand", 8, 1)), {dims}, {x});
}

TermId Terms::concat(const std::vector<TermId>& list, int64_t axis) {
  Operation joined = mover("Concat", 1, 0);
  joined.attributes.emplace("axis", integer(axis));
  const int id = operation(joined);
  std::vector<TermId> flat;
  for (const TermId x : list) {
    if (at(x).operation == id) {
      flat.insert(flat.end(), at(x).children.begin(), at(x).children.end());
    } else {
      flat.push_back(x);
    }
  }
  return flat.size() == 1 ? flat[0] : intern(id, {}, flat);
}

/// Step 1 only: others stay as they are.
TermId Terms::normal_slice(int id, const std::vector<ir::Dims>& parameters, TermId x) {
  const Definition* definition = define(id, parameters, {x});
  if (definition == nullptr || parameters.size() < 2) return no_term;
  const ir::Dims size = definition->results[0].dims, from = at(x).facts.dims;
  ir::Dims begin(size.size(), ir::Dim(0));
  for (size_t k = 0; k < parameters[0].size(); ++k) {
    if (parameters.size() > 3 && parameters[3][k] != ir::Dim(1)) return intern(id, parameters, {x});
    int64_t axis = static_cast<int64_t>(k);
    if (parameters.size() > 2) {
      if (!parameters[2][k].is_constant()) return no_term;
      axis = parameters[2][k].value();
    }
    const auto d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(size.size()) : axis);
    ir::Dim start = parameters[0][k];
    if (start.is_constant() && start.value() < 0) start = max(from[d] + start, ir::Dim(0));
    begin[d] = min(start, from[d]);
    // So that no clamp blurs it: what is read lies inside.
    if (start.is_constant() && !from[d].is_constant()) begin[d] = start;
  }
  return slice(x, begin, size);
}

TermId Terms::normal_split(int id, const std::vector<ir::Dims>& parameters, TermId x) {
  const Definition* definition = define(id, parameters, {x});
  if (definition == nullptr) return no_term;
  const Operation& split = operation(id);
  const auto found = split.attributes.find("axis");
  int64_t axis = found == split.attributes.end() ? 0 : found->second.integer;
  const auto rank = static_cast<int64_t>(at(x).facts.dims.size());
  if (axis < 0) axis += rank;
  ir::Dims begin(static_cast<size_t>(rank), ir::Dim(0));
  const auto result = static_cast<size_t>(split.result);
  for (size_t k = 0; k < result; ++k) {
    ir::Dim& first = begin[static_cast<size_t>(axis)];
    first = first + definition->results[k].dims[static_cast<size_t>(axis)];
  }
  const ir::Dims size = definition->results[result].dims;
  return slice(x, begin, size);
}

TermId Terms::make(int id, const std::vector<ir::Dims>& parameters, const std::vector<TermId>& children) {
  const Operation op = operation(id);
  if (std::any_of(children.begin(), children.end(), [](TermId child) { return child == no_term; }))
    return no_term;
  if (!op.domain.empty()) return intern(id, parameters, children);
  const std::string& name = op.name;
  if (name == "Identity" && children.size() == 1) return children[0];
  if (name == "Add" || name == "Mul" || name == "Sum") {
    int common = id;
    if (op.version < 7) return intern(id, parameters, children);  // broadcasts as they were
    if (name == "Sum") {
      Operation add = op;
      add.name = "Add";
      add.version = 7;
      add.attributes.clear();
      common = operation(add);
    }
    std::vector<TermId> flat;
    for (const TermId child : children) {
      if (at(child).operation == common) {
        flat.insert(flat.end(), at(child).children.begin(), at(child).children.end());
      } else {
        flat.push_back(child);
      }
    }
    std::sort(flat.begin(), flat.end());
    if (flat.size() == 1) return flat[0];
    return flat.size() > 8 ? no_term : intern(common, {}, flat);
  }
  const bool one = children.size() == 1;
  const auto result_dims = [&]() -> std::optional<ir::Dims> {
    const Definition* definition = define(id, parameters, children);
    if (definition == nullptr) return std::nullopt;
    return definition->results[static_cast<size_t>(op.result)].dims;
  };
  if (one && (name == "Reshape" || name == "Squeeze" || name == "Unsqueeze" || name == "Flatten")) {
    const auto dims = result_dims();
    return dims ? reshape(children[0], *dims) : no_term;
  }
  if (one && name == "Transpose") {
    std::vector<int64_t> permutation;
    const auto rank = static_cast<int64_t>(at(children[0]).facts.dims.size());
    if (const auto found = op.attributes.find("perm"); found != op.attributes.end()) {
      permutation = found->second.integers;
    } else {
      for (int64_t d = rank; d-- > 0;) permutation.push_back(d);
    }
    return result_dims() ? transpose(children[0], permutation) : no_term;
  }
  if (one && name == "Expand") {
    const auto dims = result_dims();
    return dims ? expand(children[0], *dims) : no_term;
  }
  if (one && name == "Slice" && op.slots.size() > 1) return normal_slice(id, parameters, children[0]);
  if (one && name == "Split") return normal_split(id, parameters, children[0]);
  if (name == "Concat" && !children.empty()) {
    const auto found = op.attributes.find("axis");
    int64_t axis = found == op.attributes.end() ? 1 : found->second.integer;
    if (axis < 0) axis += static_cast<int64_t>(at(children[0]).facts.dims.size());
    return result_dims() ? concat(children, axis) : no_term;
  }
  return intern(id, parameters, children);
}

}  // namespace axrun::search::algebra
