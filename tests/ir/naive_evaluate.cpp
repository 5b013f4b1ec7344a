#include "tests/ir/naive_evaluate.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

struct NaiveValue {
  double real = 0;
  int64_t integer = 0;
};

class Walker {
 public:
  Walker(const Program& program, std::vector<Tensor>& tensors) : program_(program), tensors_(tensors) {}

  std::vector<int64_t> point;
  std::vector<NaiveValue> parameters;

  NaiveValue value(ExprId id) const {
    const Expr& e = program_.exprs[static_cast<size_t>(id)];
    switch (e.op) {
      case ScalarOp::real:
        return {e.real, 0};
      case ScalarOp::integer:
        return {0, e.integer};
      case ScalarOp::extent:
        return {0, e.dim.value()};
      case ScalarOp::axis:
        return {0, point.at(static_cast<size_t>(e.integer))};
      case ScalarOp::parameter:
        return parameters.at(static_cast<size_t>(e.integer));
      case ScalarOp::load:
        return load(e);
      case ScalarOp::select:
        return value(e.args[0]).integer != 0 ? value(e.args[1]) : value(e.args[2]);
      default:
        break;
    }
    const ElementType from = program_.exprs[static_cast<size_t>(e.args[0])].type;
    const NaiveValue a = value(e.args[0]);
    if (e.op == ScalarOp::cast || e.op == ScalarOp::cast_saturate) {
      const bool saturate = e.op == ScalarOp::cast_saturate;
      if (is_float(from) && is_float(e.type)) return {real_to_real(e.type, a.real, saturate), 0};
      if (is_float(from)) return {0, integer_from_real(e.type, a.real)};
      if (is_float(e.type)) return {real_to_real(e.type, integer_to_real(from, a.integer), saturate), 0};
      return {0, integer_to_integer(from, e.type, a.integer, saturate)};
    }
    if (argument_count(e.op) == 1) {
      if (!is_float(from)) return {0, integer_unary(e.op, from, a.integer)};
      return number(e.type, real_unary(e.op, a.real));
    }
    const NaiveValue b = value(e.args[1]);
    if (!is_float(from)) return {0, integer_binary(e.op, from, a.integer, b.integer).value()};
    return number(e.type, real_binary(e.op, a.real, b.real));
  }

 private:
  static NaiveValue number(ElementType type, double value) {
    if (is_float(type)) return {value, 0};
    return {0, static_cast<int64_t>(value)};
  }

  NaiveValue load(const Expr& e) const {
    if (e.args[0] != none && value(e.args[0]).integer == 0) return value(e.args[1]);
    const Tensor& tensor = tensors_[static_cast<size_t>(e.integer)];
    int64_t position = 0;
    for (size_t d = 0; d < e.indices.size(); ++d) {
      const int64_t index = value(e.indices[d]).integer;
      AXRUN_ASSERT(index >= 0 && index < tensor.shape()[d]);
      position = position * tensor.shape()[d] + index;
    }
    if (is_float(tensor.type())) return {tensor.get_real(position), 0};
    return {0, tensor.get_int(position)};
  }

  const Program& program_;
  std::vector<Tensor>& tensors_;
};

/// Calls visit at every point of a space, in lexicographic order.
template <typename Visit>
void for_each_point(const std::vector<int64_t>& extents, Visit visit) {
  const int64_t count = element_count(extents);
  std::vector<int64_t> point(extents.size(), 0);
  for (int64_t k = 0; k < count; ++k) {
    visit(point);
    for (size_t axis = extents.size(); axis-- > 0;) {
      if (++point[axis] < extents[axis]) break;
      point[axis] = 0;
    }
  }
}

std::vector<int64_t> extents_of(const std::vector<Axis>& axes) {
  std::vector<int64_t> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent.value());
  return extents;
}

void store(Tensor& tensor, int64_t position, const NaiveValue& value) {
  if (is_float(tensor.type())) {
    tensor.set_real(position, value.real);
  } else {
    tensor.set_int(position, value.integer);
  }
}

NaiveValue identity(Monoid::Kind kind, ElementType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool integer = is_integer(type);
  switch (kind) {
    case Monoid::Kind::product:
      return {1, 1};
    case Monoid::Kind::min:
      return {infinity, type == ElementType::u64 ? -1 : (integer ? integer_max(type) : 0)};
    case Monoid::Kind::max:
      return {-infinity, integer ? integer_min(type) : 0};
    default:
      return {0, 0};
  }
}

NaiveValue combined(Monoid::Kind kind, ElementType type, const NaiveValue& a, const NaiveValue& b) {
  ScalarOp op = ScalarOp::add;
  if (kind == Monoid::Kind::product) op = ScalarOp::mul;
  if (kind == Monoid::Kind::min) op = ScalarOp::min;
  if (kind == Monoid::Kind::max) op = ScalarOp::max;
  if (is_float(type)) return {real_binary(op, a.real, b.real), 0};
  return {0, integer_binary(op, type, a.integer, b.integer).value()};
}

void run_map_or_reduce(const Program& program, const Stage& stage, std::vector<Tensor>& tensors) {
  Walker walker(program, tensors);
  const Monoid& monoid = stage.monoid;
  const bool tuple = monoid.kind == Monoid::Kind::tuple;
  const ElementType type = program.exprs[static_cast<size_t>(stage.body[0])].type;
  int64_t position = 0;
  for_each_point(extents_of(stage.axes), [&](const std::vector<int64_t>& point) {
    std::vector<NaiveValue> state;
    for (ExprId id : monoid.identity) state.push_back(walker.value(id));
    if (!tuple) state = {identity(monoid.kind, type)};
    for_each_point(extents_of(stage.reduce_axes), [&](const std::vector<int64_t>& inner) {
      walker.point = point;
      walker.point.insert(walker.point.end(), inner.begin(), inner.end());
      std::vector<NaiveValue> values;
      for (ExprId id : stage.body) values.push_back(walker.value(id));
      if (stage.kind == StageKind::map) {
        state = values;
      } else if (!tuple) {
        state[0] = combined(monoid.kind, type, state[0], values[0]);
      } else {
        walker.parameters = state;
        walker.parameters.insert(walker.parameters.end(), values.begin(), values.end());
        for (size_t k = 0; k < state.size(); ++k) state[k] = walker.value(monoid.combine[k]);
      }
    });
    for (size_t k = 0; k < state.size(); ++k) {
      store(tensors[static_cast<size_t>(stage.results[k])], position, state[k]);
    }
    ++position;
  });
}

void run_scatter(const Program& program, const Stage& stage, std::vector<Tensor>& tensors) {
  Walker walker(program, tensors);
  Tensor& result = tensors[static_cast<size_t>(stage.results[0])];
  result = tensors[static_cast<size_t>(stage.base)].clone();
  const Monoid::Kind kinds[] = {Monoid::Kind::sum, Monoid::Kind::sum, Monoid::Kind::product,
                                Monoid::Kind::min, Monoid::Kind::max};
  for_each_point(extents_of(stage.axes), [&](const std::vector<int64_t>& point) {
    walker.point = point;
    if (stage.guard != none && walker.value(stage.guard).integer == 0) return;
    int64_t position = 0;
    for (size_t d = 0; d < stage.target.size(); ++d) {
      position = position * result.shape()[d] + walker.value(stage.target[d]).integer;
    }
    NaiveValue update = walker.value(stage.body[0]);
    if (stage.combine != ScatterCombine::assign) {
      NaiveValue old;
      if (is_float(result.type())) {
        old.real = result.get_real(position);
      } else {
        old.integer = result.get_int(position);
      }
      update = combined(kinds[static_cast<int>(stage.combine)], result.type(), old, update);
    }
    store(result, position, update);
  });
}

}  // namespace

std::vector<Tensor> naive_evaluate(const Program& program, const std::vector<Tensor>& operands) {
  std::vector<Tensor> tensors;
  for (const TensorDecl& tensor : program.tensors) {
    tensors.push_back(Tensor::allocate(tensor.type, *constant_dims(tensor.dims)));
  }
  for (size_t k = 0; k < program.operands.size(); ++k) {
    if (program.operands[k] != none) tensors[static_cast<size_t>(program.operands[k])] = operands[k];
  }
  for (const Stage& stage : program.stages) {
    if (stage.kind == StageKind::scatter) {
      run_scatter(program, stage, tensors);
    } else {
      AXRUN_ASSERT(stage.kind == StageKind::map || stage.kind == StageKind::reduce);
      run_map_or_reduce(program, stage, tensors);
    }
  }
  std::vector<Tensor> outputs;
  for (TensorId id : program.outputs) outputs.push_back(tensors[static_cast<size_t>(id)]);
  return outputs;
}

bool same_tensor(const Tensor& a, const Tensor& b, std::string& difference) {
  if (a.type() != b.type() || a.shape() != b.shape()) {
    difference = std::string(name_of(a.type())) + to_string(a.shape()) + " and " +
                 std::string(name_of(b.type())) + to_string(b.shape());
    return false;
  }
  for (int64_t k = 0; k < a.size(); ++k) {
    bool same = false;
    std::string values;
    if (a.type() == ElementType::string) {
      same = a.strings()[k] == b.strings()[k];
      values = a.strings()[k] + " and " + b.strings()[k];
    } else if (is_float(a.type())) {
      const double x = a.get_real(k);
      const double y = b.get_real(k);
      same = std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y) || (std::isnan(x) && std::isnan(y));
      values = std::to_string(x) + " and " + std::to_string(y);
    } else {
      same = a.get_int(k) == b.get_int(k);
      values = std::to_string(a.get_int(k)) + " and " + std::to_string(b.get_int(k));
    }
    if (same) continue;
    difference = "element " + std::to_string(k) + ": " + values;
    return false;
  }
  return true;
}

}  // namespace axrun::ir
