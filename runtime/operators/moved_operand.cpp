#include "runtime/operators/moved_operand.h"

#include <algorithm>
#include <deque>
#include <string_view>

#include "ir/operator.h"

namespace axrun::runtime {
namespace {

using ir::Dims;

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

bool is_prefix(const ir::Node& node) { return node.domain == ir::state_domain && node.op == "Prefix"; }

}  // namespace

bool MovedOperand::moves(const ir::Node& node) {
  if (is_prefix(node)) return true;
  return node.domain.empty() && is_one_of(node.op, {"Transpose", "Expand", "Reshape", "Unsqueeze", "Squeeze",
                                                    "Flatten", "Identity"});
}

std::optional<MovedOperand> MovedOperand::of(const std::vector<const ir::Node*>& nodes,
                                             const std::vector<const ir::Program*>& programs) {
  MovedOperand moved;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const ir::Program& program = *programs[k];
    if (program.operands.empty() || program.operands[0] == ir::none || program.outputs.empty())
      return std::nullopt;
    const Dims& from = program.tensors[static_cast<size_t>(program.operands[0])].dims;
    const Dims& to = program.tensors[static_cast<size_t>(program.outputs[0])].dims;
    if (from.size() > Extents::most || to.size() > Extents::most) return std::nullopt;
    if (k == 0) {
      for (size_t d = 0; d < from.size(); ++d)
        moved.dims_.push_back({Factor{from[d], static_cast<int>(d), 1, false}});
    }
    if (!moves(*nodes[k]) || !moved.follow(*nodes[k], from, to)) return std::nullopt;
  }
  return moved.is_usable() ? std::optional(moved) : std::nullopt;
}

bool MovedOperand::follow(const ir::Node& node, const Dims& from, const Dims& to) {
  if (node.op == "Transpose") {
    const auto given = node.attributes.find("perm");
    std::vector<Dim> turned;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const auto of = given == node.attributes.end() ? dims_.size() - 1 - d
                                                     : static_cast<size_t>(given->second.integers[d]);
      turned.push_back(dims_[of]);
    }
    dims_ = std::move(turned);
    return true;
  }
  if (node.op == "Expand") return expand(from, to);
  if (!is_prefix(node)) return regroup(to);
  const auto axis = static_cast<size_t>(node.attributes.at("axis").integer);
  Dim& dim = dims_[axis];
  if (dim.size() != 1 || dim[0].dim < 0 || dim[0].step != 1) return false;
  dim[0].extent = to[axis];
  dim[0].cut = true;
  return true;
}

bool MovedOperand::expand(const Dims& from, const Dims& to) {
  if (to.size() < from.size()) return false;
  std::vector<Dim> wide;
  for (size_t d = 0; d < to.size(); ++d) {
    const size_t added = to.size() - from.size();
    if (d >= added && from[d - added] == to[d]) {
      wide.push_back(dims_[d - added]);
    } else if (d < added || from[d - added] == ir::Dim(1)) {
      wide.push_back({Factor{to[d], -1, 1, false}});
    } else {
      return false;
    }
  }
  dims_ = std::move(wide);
  return true;
}

bool MovedOperand::regroup(const Dims& to) {
  std::deque<Factor> factors;
  for (const Dim& dim : dims_) {
    for (const Factor& factor : dim) {
      if (factor.extent != ir::Dim(1)) factors.push_back(factor);
    }
  }
  std::vector<Dim> dims;
  for (const ir::Dim& wanted : to) {
    Dim dim;
    ir::Dim taken = 1;
    while (taken != wanted) {
      if (factors.empty()) return false;
      Factor factor = factors.front();
      factors.pop_front();
      if (wanted.is_constant() && taken.is_constant()) {
        // The outer part of what is longer than that; the inner one is left.
        if (!factor.extent.is_constant() || taken.value() == 0 || factor.extent.value() == 0) return false;
        const int64_t room = wanted.value() / taken.value();
        if (factor.extent.value() > room) {
          if (room * taken.value() != wanted.value() || factor.extent.value() % room != 0 || factor.cut)
            return false;
          Factor inner = factor;
          inner.extent = factor.extent.value() / room;
          factor.step *= inner.extent.value();
          factor.extent = room;
          factors.push_front(inner);
        }
      }
      taken = taken * factor.extent;
      dim.push_back(factor);
      if (dim.size() > Extents::most) return false;
    }
    dims.push_back(std::move(dim));
  }
  if (!factors.empty()) return false;
  dims_ = std::move(dims);
  return true;
}

bool MovedOperand::is_usable() const {
  if (dims_.size() < 2) return false;
  size_t axes = 0;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const bool is_matrix = d + 2 >= dims_.size();
    if (is_matrix && dims_[d].size() > 1) return false;
    for (const Factor& factor : dims_[d]) {
      // How long it is has to be known from the source alone.
      const bool is_whole = factor.dim >= 0 && factor.step == 1;
      if (!factor.extent.is_constant() && (!is_whole || dims_[d].size() > 1)) return false;
      if (is_matrix && factor.dim < 0) return false;
    }
    axes += std::max<size_t>(dims_[d].size(), 1);
  }
  return axes <= MatrixStrides::most_axes;
}

MatrixStrides MovedOperand::at(const Extents& source, int64_t length) const {
  const auto axis_of = [&](const Factor& factor) -> MatrixStrides::Axis {
    const auto dim = static_cast<size_t>(factor.dim);
    const int64_t extent = factor.cut                    ? length
                           : factor.extent.is_constant() ? factor.extent.value()
                                                         : source[dim];
    return {extent, factor.dim < 0 ? 0 : factor.step * source.count(dim + 1, source.size())};
  };
  MatrixStrides strides;
  strides.rank = dims_.size() - 2;
  size_t axes = 0;
  for (size_t d = 0; d < strides.rank; ++d) {
    strides.first[d] = axes;
    for (const Factor& factor : dims_[d]) strides.axes[axes++] = axis_of(factor);
  }
  strides.first[strides.rank] = axes;
  if (!dims_[strides.rank].empty()) strides.rows = axis_of(dims_[strides.rank][0]);
  if (!dims_.back().empty()) strides.columns = axis_of(dims_.back()[0]);
  return strides;
}

}  // namespace axrun::runtime
