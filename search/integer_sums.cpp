#include "search/integer_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>

#include "ir/bounded_scales.h"
#include "search/integer_product.h"
#include "search/product_form.h"
#include "search/rebuild.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::ScalarOp;
using ir::Stage;
using ir::TensorId;
using ir::TensorRef;

namespace {

/// A factor of a sum's terms: an element of what a map makes of integers.
struct Side {
  ExprId load = ir::none;      ///< in the sum's body
  const Stage* map = nullptr;  ///< what it reads
  ExprId integer = ir::none;   ///< of the map, i32
  double scale = 1;            ///< the literal factor of the map
  ExprId scales = ir::none;    ///< the factor of the map that varies, but not along the sum
  int64_t shift = 0;           ///< `integer` less this is what the map had
};

class Rewriter {
 public:
  Rewriter(const Program& from, bool bytes) : from_(from), bytes_(bytes), builder_(from.name) {}

  std::optional<Program> run() {
    tensors_ = copy_operands(builder_, from_, [&](TensorId id) { return tensor(id).dims; });
    bool changed = false;
    for (const Stage& stage : from_.stages) {
      if (stage.kind != ir::StageKind::map && stage.kind != ir::StageKind::reduce) return std::nullopt;
      const auto sides = sides_of(stage);
      changed = changed || sides.has_value();
      tensors_[stage.results[0]] =
          sides ? rewritten(stage, *sides) : copy_stage(builder_, from_, stage, tensors_);
    }
    if (!changed) return std::nullopt;
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  const Expr& expr(ExprId id) const { return from_.exprs[static_cast<size_t>(id)]; }
  const ir::TensorDecl& tensor(TensorId id) const { return from_.tensors[static_cast<size_t>(id)]; }

  std::optional<std::vector<Side>> sides_of(const Stage& stage) const {
    if (stage.kind != ir::StageKind::reduce || stage.monoid.kind != ir::Monoid::Kind::sum)
      return std::nullopt;
    if (expr(stage.body[0]).type != ElementType::f32 || expr(stage.body[0]).op != ScalarOp::mul)
      return std::nullopt;
    double most = 1;
    for (const ir::Axis& axis : stage.reduce_axes) {
      if (!axis.extent.is_constant()) return std::nullopt;
      most *= static_cast<double>(axis.extent.value());
    }
    std::vector<Side> sides;
    for (const ExprId factor : factors_of(from_, stage.body[0])) {
      const auto side = side_of(stage, factor);
      const auto bounds = side ? integer_bounds(from_, side->integer) : std::nullopt;
      if (!bounds) return std::nullopt;
      most *= static_cast<double>(std::max(std::abs(bounds->low), std::abs(bounds->high)));
      sides.push_back(*side);
    }
    if (sides.size() != 2 || most > std::numeric_limits<int32_t>::max()) return std::nullopt;
    return sides;
  }

  /// map: [one axis per dimension] { integer as f32, times scales }.
  std::optional<Side> side_of(const Stage& sum, ExprId factor) const {
    Side side;
    side.load = factor;
    const Expr& load = expr(factor);
    if (load.op != ScalarOp::load) return std::nullopt;
    const bool guarded = load.args[0] != ir::none;
    if (guarded && (expr(load.args[1]).op != ScalarOp::real || expr(load.args[1]).real != 0))
      return std::nullopt;
    for (const Stage& stage : from_.stages) {
      if (stage.results[0] == static_cast<TensorId>(load.integer)) side.map = &stage;
    }
    if (side.map == nullptr || side.map->kind != ir::StageKind::map) return std::nullopt;
    for (size_t d = 0; d < side.map->groups.size(); ++d) {
      if (side.map->groups[d] != std::vector<int>{static_cast<int>(d)}) return std::nullopt;
    }
    for (const ExprId part : factors_of(from_, side.map->body[0])) {
      const Expr& one = expr(part);
      const bool integer = one.op == ScalarOp::cast && one.type == ElementType::f32 &&
                           expr(one.args[0]).type == ElementType::i32;
      if (integer && side.integer == ir::none) {
        side.integer = one.args[0];
        continue;
      }
      if (is_scale(one) && side.scale == 1) {
        side.scale = one.real;
      } else if (is_bounded(one) && side.scales == ir::none && !guarded && is_same_along(sum, load, part)) {
        side.scales = part;
      } else {
        return std::nullopt;
      }
    }
    return side.integer != ir::none ? std::optional(side) : std::nullopt;
  }

  /// Whether an expression of the map that is loaded is the same for all terms of the sum.
  bool is_same_along(const Stage& sum, const Expr& load, ExprId part) const {
    for (const int axis : axes_of(from_, part)) {
      const std::set<int> used = axes_of(from_, load.indices[static_cast<size_t>(axis)]);
      if (!used.empty() && *used.rbegin() >= static_cast<int>(sum.axes.size())) return false;
    }
    return true;
  }

  /// Literals whose products with such sums neither overflow nor lose digits: only of these it is known that
  /// they are finite.
  static bool is_scale(const Expr& one) {
    const double size = std::abs(one.real);
    return one.op == ScalarOp::real && size <= ir::largest_scale && size >= ir::least_scale;
  }

  /// A value between two of these, of one sign (ir/bounded_scales.h).
  bool is_bounded(const Expr& outer) const {
    if (outer.op != ScalarOp::max) return false;
    for (const size_t k : {0, 1}) {
      const Expr &low = expr(outer.args[1 - k]), &inner = expr(outer.args[k]);
      if (inner.op != ScalarOp::min || !is_scale(low) || low.real < 0) continue;
      for (const ExprId bound : {inner.args[0], inner.args[1]}) {
        const Expr& high = expr(bound);
        if (is_scale(high) && high.real >= low.real) return true;
      }
    }
    return false;
  }

  /// An expression of `from` at a point of its stage, which reads operands and what is there already.
  Scalar value(ExprId id, const Indices& point) {
    ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ExprId, const Expr& one) {
      if (one.op == ScalarOp::axis) return point[static_cast<size_t>(one.integer)];
      if (one.op != ScalarOp::load) return Scalar();
      Indices indices;
      for (const ExprId index : one.indices) indices.push_back(copy(index));
      const TensorRef& source = tensors_.at(static_cast<TensorId>(one.integer));
      if (one.args[0] == ir::none) return source(indices);
      return source.guarded(indices, copy(one.args[0]), copy(one.args[1]));
    });
    return copier(id);
  }

  bool is_within(ExprId id, ElementType type) const {
    const auto bounds = integer_bounds(from_, id);
    return bounds && bounds->low >= ir::integer_min(type) && bounds->high <= ir::integer_max(type);
  }

  /// The side of unsigned bytes without what is subtracted from them, where the other one is of signed bytes
  /// that are there for all terms; false where it is not so.
  bool take_bytes(Side& one, const Side& other) const {
    if (!is_within(other.integer, ElementType::i8) || expr(other.load).args[0] != ir::none) return false;
    const Expr& difference = expr(one.integer);
    if (is_within(one.integer, ElementType::u8)) return true;
    if (difference.op != ScalarOp::sub || !is_within(difference.args[0], ElementType::u8)) return false;
    const auto shift = integer_bounds(from_, difference.args[1]);
    if (!shift || shift->low != shift->high || !is_within(difference.args[1], ElementType::u8)) return false;
    one.integer = difference.args[0];
    one.shift = shift->low;
    return true;
  }

  /// The sums of what is subtracted from bytes, times the other side, for the dimensions of the result on
  /// which that depends; at(index of the result) reads them.
  std::function<Scalar(const Indices&)> sums_of_shifts(const Stage& stage, const Side& shifted,
                                                       const TensorRef& factors, const Side& other) {
    const std::set<int> used = axes_of(from_, other.load);
    std::vector<size_t> dims;
    std::vector<int> axes;
    Dims extents, reduced;
    std::vector<std::vector<int>> groups;
    for (size_t d = 0; d < stage.groups.size(); ++d) {
      const auto is_used = [&](int axis) { return used.count(axis) != 0; };
      if (std::none_of(stage.groups[d].begin(), stage.groups[d].end(), is_used)) continue;
      dims.push_back(d);
      groups.emplace_back();
      for (const int axis : stage.groups[d]) {
        groups.back().push_back(static_cast<int>(axes.size()));
        axes.push_back(axis);
        extents.push_back(stage.axes[static_cast<size_t>(axis)].extent);
      }
    }
    for (const ir::Axis& axis : stage.reduce_axes) reduced.push_back(axis.extent);
    const TensorRef sums = builder_.reduce_grouped(
        ir::Monoid::Kind::sum, extents, groups, reduced, [&](const Indices& i, const Indices& r) {
          Indices point(stage.axes.size());
          for (size_t k = 0; k < axes.size(); ++k) point[static_cast<size_t>(axes[k])] = i[k];
          point.insert(point.end(), r.begin(), r.end());
          Indices indices;
          for (const ExprId index : expr(other.load).indices) indices.push_back(value(index, point));
          return factors(indices) * builder_.literal(ElementType::i32, shifted.shift);
        });
    return [sums, dims](const Indices& i) {
      Indices place;
      for (const size_t d : dims) place.push_back(i[d]);
      return sums(place);
    };
  }

  TensorRef rewritten(const Stage& stage, std::vector<Side> sides) {
    constexpr int64_t neighbours = 4;
    if (bytes_ && stage.reduce_axes[0].extent.value() % neighbours == 0)
      static_cast<void>(take_bytes(sides[0], sides[1]) || take_bytes(sides[1], sides[0]));
    std::vector<TensorRef> integers;
    for (const Side& side : sides) {
      Dims dims;
      for (const ir::Axis& axis : side.map->axes) dims.push_back(axis.extent);
      integers.push_back(builder_.map(dims, [&](const Indices& i) { return value(side.integer, i); }));
    }
    NewStage now;
    for (const ir::Axis& axis : stage.axes) now.axes.push_back(axis.extent);
    for (const ir::Axis& axis : stage.reduce_axes) now.reduce_axes.push_back(axis.extent);
    now.groups = stage.groups;
    now.body = [&](const Indices& point) {
      std::vector<Scalar> factors;
      for (size_t k = 0; k < sides.size(); ++k) {
        const Expr& load = expr(sides[k].load);
        Indices indices;
        for (const ExprId index : load.indices) indices.push_back(value(index, point));
        const bool guarded = load.args[0] != ir::none;
        factors.push_back(guarded ? integers[k].guarded(indices, value(load.args[0], point),
                                                        builder_.literal(ElementType::i32, sides[k].shift))
                                  : integers[k](indices));
      }
      return factors[0] * factors[1];
    };
    std::function<Scalar(const Indices&)> shifts;
    for (size_t k = 0; k < sides.size(); ++k) {
      if (sides[k].shift != 0) shifts = sums_of_shifts(stage, sides[k], integers[1 - k], sides[1 - k]);
    }
    const TensorRef plain = rebuild_stage(builder_, from_, stage, now);
    const auto sum = [&](const Indices& i) { return shifts ? plain(i) - shifts(i) : plain(i); };
    return builder_.map(tensor(stage.results[0]).dims, [&](const Indices& i) {
      const Scalar scales = varying_scales(stage, sides, i);
      if (gives_integers() && scales.defined()) {
        // One factor per channel, which is worked out once.
        Scalar factor = scales;
        for (const Side& side : sides) factor = side.scale == 1 ? factor : factor * side.scale;
        return cast(ElementType::f32, sum(i)) * factor;
      }
      if (gives_integers() && is_rounded_twice(sides))
        return cast(ElementType::f32, sum(i)) * sides[0].scale * sides[1].scale;
      // Exact: two of f32. Rounded once, as the result of a single term may be.
      const double scale = sides[0].scale * sides[1].scale;
      const Scalar exact = cast(ElementType::f64, sum(i)) * scale;
      return cast(ElementType::f32, scales.defined() ? exact * cast(ElementType::f64, scales) : exact);
    });
  }

  /// The product of the factors that vary, at an index of the sum's result; undefined where there are none.
  Scalar varying_scales(const Stage& stage, const std::vector<Side>& sides, const Indices& index) {
    Indices point(stage.axes.size() + stage.reduce_axes.size());
    for (size_t d = 0; d < stage.groups.size(); ++d) {
      Scalar rest = index[d];
      for (size_t k = stage.groups[d].size(); k-- > 0;) {
        const auto axis = static_cast<size_t>(stage.groups[d][k]);
        const Dim& extent = stage.axes[axis].extent;
        const bool last = k == 0 || rest_is_one(stage, stage.groups[d], k);
        point[axis] = extent == Dim(1) ? builder_.integer(0)
                      : last           ? rest
                                       : floor_mod(rest, builder_.extent(extent));
        if (extent != Dim(1)) rest = last ? builder_.integer(0) : floor_div(rest, builder_.extent(extent));
      }
    }
    Scalar product;
    for (const Side& side : sides) {
      if (side.scales == ir::none) continue;
      Indices place;
      for (const ExprId at : expr(side.load).indices) {
        const std::set<int> used = axes_of(from_, at);
        const bool along = !used.empty() && *used.rbegin() >= static_cast<int>(stage.axes.size());
        place.push_back(along ? Scalar() : value(at, point));
      }
      const Scalar one = value(side.scales, place);
      product = product.defined() ? product * one : one;
    }
    return product;
  }

  /// Whether the axes of a group before the k-th are of extent 1.
  static bool rest_is_one(const Stage& stage, const std::vector<int>& group, size_t k) {
    return std::all_of(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(k),
                       [&](int axis) { return stage.axes[static_cast<size_t>(axis)].extent == Dim(1); });
  }

  /// Whether what becomes of the sums is rounded much more roughly in the end.
  bool gives_integers() const {
    return std::all_of(from_.outputs.begin(), from_.outputs.end(),
                       [this](TensorId id) { return ir::is_integer(tensor(id).type); });
  }

  /// Whether the result of a single term (a * s) * (b * t) is rounded twice, as (a * b) * s * t is, or the
  /// latter once: the former may be exact up to the last product where s and t have few digits.
  static bool is_rounded_twice(const std::vector<Side>& sides) {
    constexpr int many = 20;
    const int first = digits(sides[0].scale), second = digits(sides[1].scale);
    return first == 1 || second == 1 || std::min(first, second) >= many;
  }

  /// Binary digits from the first to the last that is not 0.
  static int digits(double scale) {
    int exponent = 0, count = 0;
    for (double rest = std::frexp(scale, &exponent); rest != 0; rest -= std::trunc(rest), ++count) rest *= 2;
    return count;
  }

  const Program& from_;
  const bool bytes_;
  ir::Builder builder_;
  std::map<TensorId, TensorRef> tensors_;
};

}  // namespace

Program use_integer_sums(const Program& program, bool bytes) {
  return Rewriter(program, bytes).run().value_or(program);
}

}  // namespace axrun::search
