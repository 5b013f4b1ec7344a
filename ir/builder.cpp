#include "ir/builder.h"

#include <algorithm>
#include <utility>

#include "ir/arithmetic.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

std::string axis_name(bool reduced, size_t number) { return (reduced ? "r" : "i") + std::to_string(number); }

std::vector<Axis> named_axes(const Dims& extents, bool reduced) {
  std::vector<Axis> axes;
  for (size_t k = 0; k < extents.size(); ++k) axes.push_back({axis_name(reduced, k), extents[k]});
  return axes;
}

std::vector<std::vector<int>> one_group_each(size_t count) {
  std::vector<std::vector<int>> groups;
  for (size_t k = 0; k < count; ++k) groups.push_back({static_cast<int>(k)});
  return groups;
}

/// The dims of a result whose dimension d merges the axes groups[d].
Dims merged(const Dims& axes, const std::vector<std::vector<int>>& groups) {
  Dims dims;
  for (const auto& group : groups) {
    Dim extent = 1;
    for (int axis : group) extent = extent * axes[static_cast<size_t>(axis)];
    dims.push_back(extent);
  }
  return dims;
}

Scalar as_index(const Scalar& index) {
  if (!is_integer(index.type())) {
    throw Error(Fault::model, "'" + index.builder().program().name + "': an index of type " +
                                  std::string(name_of(index.type())) + " is not an integer");
  }
  return cast(ElementType::i64, index);
}

}  // namespace

/// Puts the axes of a stage in scope while its body is built; bodies may nest.
class Builder::Scope {
 public:
  Scope(Builder& builder, Dims extents) : builder_(builder), outer_(std::move(extents)) {
    std::swap(builder_.scope_, outer_);
  }
  ~Scope() { std::swap(builder_.scope_, outer_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Builder& builder_;
  Dims outer_;
};

Builder::Builder(std::string name) { program_.name = std::move(name); }

TensorRef Builder::operand(int position, ElementType type, const Dims& dims, const std::string& name) {
  AXRUN_ASSERT(position >= 0);
  auto k = static_cast<size_t>(position);
  if (k >= program_.operands.size()) program_.operands.resize(k + 1, none);
  TensorId& id = program_.operands[k];
  if (id == none) id = declare(type, dims, name.empty() ? "x" + std::to_string(position) : name);
  return {this, id};
}

void Builder::output(const TensorRef& tensor) { program_.outputs.push_back(tensor.id()); }

TensorRef Builder::take_output() {
  AXRUN_ASSERT(!program_.outputs.empty());
  const TensorId id = program_.outputs.back();
  program_.outputs.pop_back();
  return {this, id};
}

TensorId Builder::declare(ElementType type, const Dims& dims, const std::string& name) {
  auto id = static_cast<TensorId>(program_.tensors.size());
  std::string unique = name.empty() ? "t" + std::to_string(id) : name;
  for (int copy = 2; !names_.insert(unique).second; ++copy) {
    unique = (name.empty() ? "t" + std::to_string(id) : name) + "_" + std::to_string(copy);
  }
  program_.tensors.push_back({unique, type, dims});
  dims_.push_back(dims);
  return id;
}

Indices Builder::axes_of(size_t first, size_t count) {
  Indices axes;
  for (size_t k = first; k < first + count; ++k) {
    if (scope_[k] == Dim(1)) {
      axes.push_back(integer(0));
      continue;
    }
    Expr expr;
    expr.op = ScalarOp::axis;
    expr.integer = static_cast<int64_t>(k);
    axes.emplace_back(this, append(std::move(expr)));
  }
  return axes;
}

Scalar Builder::real(ElementType type, double value) {
  AXRUN_ASSERT(is_float(type));
  Expr expr;
  expr.op = ScalarOp::real;
  expr.type = type;
  expr.real = value;
  return {this, append(std::move(expr))};
}

Scalar Builder::integer(int64_t value, ElementType type) { return {this, literal_id(type, value)}; }

ExprId Builder::literal_id(ElementType type, int64_t value) {
  AXRUN_ASSERT(is_integer(type) || type == ElementType::boolean);
  Expr expr;
  expr.op = ScalarOp::integer;
  expr.type = type;
  expr.integer = type == ElementType::boolean ? (value != 0 ? 1 : 0) : wrap_to(type, value);
  return intern(std::move(expr));
}

Scalar Builder::extent(const Dim& dim) {
  if (auto value = dim.constant()) return integer(*value);
  Expr expr;
  expr.op = ScalarOp::extent;
  expr.dim = dim;
  return {this, append(std::move(expr))};
}

Scalar Builder::literal(ElementType type, double value) {
  if (is_float(type)) return real(type, real_to_real(type, value, false));
  if (type == ElementType::string || type == ElementType::undefined) {
    throw Error(Fault::model,
                "'" + program_.name + "': no number can be converted to type " + std::string(name_of(type)));
  }
  return integer(integer_from_real(type, value), type);
}

Scalar Builder::time() {
  Expr expr;
  expr.op = ScalarOp::time;
  return {this, append(std::move(expr))};
}

TensorRef Builder::map(const Dims& dims, const MapBody& body, const std::string& name) {
  return map_grouped(dims, one_group_each(dims.size()), body, name);
}

TensorRef Builder::map_grouped(const Dims& axes, const std::vector<std::vector<int>>& groups,
                               const MapBody& body, const std::string& name) {
  Stage stage;
  stage.kind = StageKind::map;
  stage.axes = named_axes(axes, false);
  stage.groups = groups;
  ElementType type = ElementType::undefined;
  {
    Scope scope(*this, axes);
    Scalar value = body(axes_of(0, axes.size()));
    type = value.type();
    stage.body = {value.id()};
  }
  stage.results = {declare(type, merged(axes, groups), name)};
  stage.name = program_.tensors.back().name;
  program_.stages.push_back(std::move(stage));
  return {this, program_.stages.back().results[0]};
}

TensorRef Builder::reduce(Monoid::Kind kind, const Dims& dims, const Dims& reduce_dims,
                          const ReduceBody& body, const std::string& name) {
  return reduce_grouped(kind, dims, one_group_each(dims.size()), reduce_dims, body, name);
}

TensorRef Builder::reduce_grouped(Monoid::Kind kind, const Dims& axes,
                                  const std::vector<std::vector<int>>& groups, const Dims& reduce_dims,
                                  const ReduceBody& body, const std::string& name) {
  AXRUN_ASSERT(kind != Monoid::Kind::tuple);
  Stage stage;
  stage.kind = StageKind::reduce;
  stage.axes = named_axes(axes, false);
  stage.groups = groups;
  stage.reduce_axes = named_axes(reduce_dims, true);
  stage.monoid.kind = kind;
  Dims extents = axes;
  extents.insert(extents.end(), reduce_dims.begin(), reduce_dims.end());
  ElementType type = ElementType::undefined;
  {
    Scope scope(*this, extents);
    Indices points = axes_of(0, axes.size());
    Scalar value = body(points, axes_of(axes.size(), reduce_dims.size()));
    type = value.type();
    stage.body = {value.id()};
  }
  const Dims dims = merged(axes, groups);
  stage.results = {declare(type, dims, name)};
  stage.name = program_.tensors.back().name;
  program_.stages.push_back(std::move(stage));
  return {this, program_.stages.back().results[0]};
}

std::vector<TensorRef> Builder::reduce_tuple(
    const Dims& dims, const Dims& reduce_dims, const std::vector<Scalar>& identity,
    const std::function<std::vector<Scalar>(const Indices&, const Indices&)>& body,
    const std::function<std::vector<Scalar>(const std::vector<Scalar>&, const std::vector<Scalar>&)>& combine,
    const std::string& name) {
  Stage stage;
  stage.kind = StageKind::reduce;
  stage.axes = named_axes(dims, false);
  stage.groups = one_group_each(dims.size());
  stage.reduce_axes = named_axes(reduce_dims, true);
  stage.monoid.kind = Monoid::Kind::tuple;
  std::vector<Scalar> left;
  std::vector<Scalar> right;
  for (size_t k = 0; k < 2 * identity.size(); ++k) {
    Expr expr;
    expr.op = ScalarOp::parameter;
    expr.type = identity[k % identity.size()].type();
    expr.integer = static_cast<int64_t>(k);
    (k < identity.size() ? left : right).emplace_back(this, append(std::move(expr)));
  }
  for (const Scalar& component : identity) stage.monoid.identity.push_back(component.id());
  Dims extents = dims;
  extents.insert(extents.end(), reduce_dims.begin(), reduce_dims.end());
  std::vector<Scalar> values;
  {
    Scope scope(*this, extents);
    Indices axes = axes_of(0, dims.size());
    values = body(axes, axes_of(dims.size(), reduce_dims.size()));
  }
  std::vector<Scalar> combined;
  {
    Scope scope(*this, {});
    combined = combine(left, right);
  }
  AXRUN_ASSERT(values.size() == identity.size() && combined.size() == identity.size());
  std::vector<TensorRef> results;
  for (size_t k = 0; k < identity.size(); ++k) {
    stage.body.push_back(values[k].id());
    stage.monoid.combine.push_back(combined[k].id());
    std::string result_name = name.empty() || k == 0 ? name : name + "_" + std::to_string(k);
    stage.results.push_back(declare(identity[k].type(), dims, result_name));
    results.emplace_back(this, stage.results.back());
  }
  stage.name = program_.tensors[static_cast<size_t>(stage.results[0])].name;
  program_.stages.push_back(std::move(stage));
  return results;
}

TensorRef Builder::scatter(const TensorRef& base, const Dims& update_dims, ScatterCombine combine,
                           const std::function<Update(const Indices&)>& body, const std::string& name) {
  Stage stage;
  stage.kind = StageKind::scatter;
  stage.axes = named_axes(update_dims, false);
  stage.base = base.id();
  stage.combine = combine;
  {
    Scope scope(*this, update_dims);
    Update update = body(axes_of(0, update_dims.size()));
    AXRUN_ASSERT(update.target.size() == base.dims().size());
    for (const Scalar& index : update.target) stage.target.push_back(as_index(index).id());
    stage.body = {update.value.id()};
    if (update.guard.defined()) stage.guard = update.guard.id();
  }
  stage.results = {declare(base.type(), Dims(base.dims()), name)};
  stage.name = program_.tensors.back().name;
  program_.stages.push_back(std::move(stage));
  return {this, program_.stages.back().results[0]};
}

std::vector<TensorRef> Builder::scan(const Dim& length, const std::vector<TensorRef>& captures,
                                     const std::vector<TensorRef>& initial,
                                     const std::function<StepResult(Builder&, const std::vector<TensorRef>&,
                                                                    const std::vector<TensorRef>&)>& step,
                                     const std::string& name) {
  Stage stage;
  stage.kind = StageKind::scan;
  stage.length = length;
  Builder inner(program_.name + ".step");
  std::vector<TensorRef> inner_captures;
  std::vector<TensorRef> inner_states;
  auto declare_all = [&](const std::vector<TensorRef>& outer, std::vector<TensorRef>& declared,
                         std::vector<TensorId>& ids) {
    for (const TensorRef& tensor : outer) {
      int position = static_cast<int>(stage.captures.size() + stage.initial.size());
      declared.push_back(inner.operand(position, tensor.type(), tensor.dims(),
                                       program_.tensors[static_cast<size_t>(tensor.id())].name));
      ids.push_back(tensor.id());
    }
  };
  declare_all(captures, inner_captures, stage.captures);
  declare_all(initial, inner_states, stage.initial);
  StepResult result = step(inner, inner_captures, inner_states);
  AXRUN_ASSERT(result.states.size() == initial.size());

  std::vector<TensorRef> results;
  auto add_result = [&](ElementType type, const Dims& dims) {
    std::string result_name =
        name.empty() || results.empty() ? name : name + "_" + std::to_string(results.size());
    stage.results.push_back(declare(type, dims, result_name));
    results.emplace_back(this, stage.results.back());
  };
  for (size_t k = 0; k < initial.size(); ++k) {
    ElementType type = initial[k].type();
    Dims dims = initial[k].dims();
    if (result.states[k].type() != type || result.states[k].dims() != dims) {
      throw Error(Fault::model, "'" + program_.name + "': a state of " + std::string(name_of(type)) +
                                    to_string(dims) + " becomes " +
                                    std::string(name_of(result.states[k].type())) +
                                    to_string(result.states[k].dims()) + " after one step");
    }
    inner.output(result.states[k]);
    add_result(type, dims);
  }
  for (const TensorRef& emitted : result.emitted) {
    Dims dims = emitted.dims();
    dims.insert(dims.begin(), length);
    inner.output(emitted);
    add_result(emitted.type(), dims);
  }
  stage.name = results.empty() ? name : program_.tensors[static_cast<size_t>(stage.results[0])].name;
  stage.step = std::make_shared<const Program>(inner.finish());
  program_.stages.push_back(std::move(stage));
  return results;
}

std::vector<TensorRef> Builder::opaque(const std::string& function, const std::vector<TensorRef>& arguments,
                                       const std::vector<std::pair<ElementType, Dims>>& results,
                                       std::shared_ptr<const void> payload) {
  Stage stage;
  stage.kind = StageKind::opaque;
  stage.function = function;
  stage.payload = std::move(payload);
  for (const TensorRef& argument : arguments) {
    stage.arguments.push_back(argument.defined() ? argument.id() : none);
  }
  std::vector<TensorRef> declared;
  for (const auto& [type, dims] : results) {
    stage.results.push_back(declare(type, dims, {}));
    declared.emplace_back(this, stage.results.back());
  }
  stage.name = function;
  program_.stages.push_back(std::move(stage));
  return declared;
}

ElementType Scalar::type() const { return builder_->program_.exprs[static_cast<size_t>(id_)].type; }

ElementType TensorRef::type() const { return builder_->program_.tensors[static_cast<size_t>(id_)].type; }

const Dims& TensorRef::dims() const { return builder_->dims_[static_cast<size_t>(id_)]; }

Scalar TensorRef::operator()(const Indices& indices) const { return guarded(indices, {}, {}); }

Scalar TensorRef::guarded(const Indices& indices, const Scalar& guard, const Scalar& otherwise) const {
  AXRUN_ASSERT(indices.size() == dims().size());
  Expr expr;
  expr.op = ScalarOp::load;
  expr.type = type();
  expr.integer = id_;
  for (const Scalar& index : indices) expr.indices.push_back(as_index(index).id());
  if (guard.defined()) {
    const Expr& condition = builder_->program_.exprs[static_cast<size_t>(guard.id())];
    AXRUN_ASSERT(condition.type == ElementType::boolean);
    Scalar substitute = cast(type(), otherwise);
    if (condition.op == ScalarOp::integer && condition.integer == 0) return substitute;
    if (condition.op != ScalarOp::integer) expr.args = {guard.id(), substitute.id(), none};
  }
  return {builder_, builder_->append(std::move(expr))};
}

Scalar TensorRef::padded(const Indices& indices, const Scalar& otherwise) const {
  AXRUN_ASSERT(indices.size() == dims().size());
  Scalar guard = builder_->boolean(true);
  Dims sizes = dims();
  for (size_t k = 0; k < indices.size(); ++k) {
    Scalar index = as_index(indices[k]);
    auto range = builder_->index_range(index.id());
    auto known_at_least = [](const Dim& value, int64_t bound) {
      auto constant = value.constant();
      return constant && *constant >= bound;
    };
    // Half of a guard that the axes' extents imply is left out.
    if (!range || !known_at_least(range->first, 0)) guard = logical_and(guard, index >= 0);
    if (!range || !known_at_least(sizes[k] - range->second, 1)) guard = logical_and(guard, index < sizes[k]);
  }
  return guarded(indices, guard, otherwise);
}

Scalar TensorRef::padded(const Indices& indices, double otherwise) const {
  return padded(indices, builder_->literal(type(), otherwise));
}

}  // namespace axrun::ir
