// Reshape as a copy over the named factors that the old and the new dimensions have in common.
#include <algorithm>
#include <deque>
#include <optional>

#include "ir/builder.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

/// A row-major part of an old dimension, and how its index is computed.
struct Piece {
  Dim extent;
  int axis = none;   ///< the index is this axis; or
  size_t group = 0;  ///< the index is flat index of this group / stride mod extent
  Dim stride;
  bool leading = false;  ///< the group's first piece, which needs no mod
};

/// Factors of a dimension that are still to be matched, outermost first.
struct Part {
  size_t dimension;
  Dim extent;
};

struct Plan {
  Dims axes;
  std::vector<std::vector<int>> groups;        ///< axes of each new dimension
  std::vector<std::vector<Piece>> old_pieces;  ///< pieces of each old dimension
  std::vector<std::vector<int>> flat_groups;   ///< axes whose merge is a group's flat index
};

/// a / b where that is exact for every value of the sizes.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (auto divisor = b.constant(); divisor && *divisor <= 0) return std::nullopt;
  if (a == b) return Dim(1);
  Dim quotient = floor_div(a, b);
  if (quotient == Dim(0) || quotient * b != a) return std::nullopt;
  return quotient;
}

class Matcher {
 public:
  Matcher(const Dims& from, const Dims& to) {
    plan_.groups.resize(to.size());
    plan_.old_pieces.resize(from.size());
    for (size_t k = 0; k < from.size(); ++k) {
      if (from[k] != Dim(1)) old_.push_back({k, from[k]});
    }
    for (size_t k = 0; k < to.size(); ++k) {
      if (to[k] != Dim(1)) new_.push_back({k, to[k]});
    }
  }

  Plan run() {
    while (!old_.empty() && !new_.empty()) {
      if (!match_leading()) match_group();
    }
    // Sizes left over on either side have product 1, though that could not be proved; old ones are read at 0.
    for (const Part& part : new_) new_axis(part);
    return std::move(plan_);
  }

 private:
  int new_axis(const Part& part) {
    auto axis = static_cast<int>(plan_.axes.size());
    plan_.axes.push_back(part.extent);
    plan_.groups[part.dimension].push_back(axis);
    return axis;
  }

  static void consume_leading(std::deque<Part>& parts, const Dim& rest) {
    parts.front().extent = rest;
    if (rest == Dim(1)) parts.pop_front();
  }

  /// One common factor at the front of both sides.
  bool match_leading() {
    Part& from = old_.front();
    Part& to = new_.front();
    Dim factor = to.extent;
    auto old_rest = exact_quotient(from.extent, factor);
    auto new_rest = std::optional<Dim>(1);
    if (!old_rest) {
      factor = from.extent;
      old_rest = Dim(1);
      new_rest = exact_quotient(to.extent, factor);
      if (!new_rest) return false;
    }
    int axis = new_axis({to.dimension, factor});
    plan_.old_pieces[from.dimension].push_back({factor, axis, 0, 1, false});
    consume_leading(old_, *old_rest);
    consume_leading(new_, *new_rest);
    return true;
  }

  /// The shortest fronts of both sides with equal products, or everything.
  std::pair<size_t, size_t> shortest_group() const {
    for (size_t total = 2; total <= old_.size() + new_.size(); ++total) {
      for (size_t from_count = 1; from_count < total; ++from_count) {
        size_t to_count = total - from_count;
        if (from_count > old_.size() || to_count > new_.size()) continue;
        if (product_of(old_, from_count) == product_of(new_, to_count)) return {from_count, to_count};
      }
    }
    return {old_.size(), new_.size()};
  }

  static Dim product_of(const std::deque<Part>& parts, size_t count) {
    Dim result = 1;
    for (size_t k = 0; k < count; ++k) result = result * parts[k].extent;
    return result;
  }

  /// Factors that do not align: one flat index over the group, after common factors at its end are split off.
  void match_group() {
    auto [from_count, to_count] = shortest_group();
    std::deque<Part> from(old_.begin(), old_.begin() + static_cast<std::ptrdiff_t>(from_count));
    std::deque<Part> to(new_.begin(), new_.begin() + static_cast<std::ptrdiff_t>(to_count));
    old_.erase(old_.begin(), old_.begin() + static_cast<std::ptrdiff_t>(from_count));
    new_.erase(new_.begin(), new_.begin() + static_cast<std::ptrdiff_t>(to_count));
    // Taken off innermost first; declared after the group.
    struct Trailing {
      Dim factor;
      size_t old_dimension, new_dimension;
    };
    std::vector<Trailing> trailing;
    while (from.size() > 1 || to.size() > 1) {
      if (from.empty() || to.empty()) break;
      Dim factor = to.back().extent;
      auto old_rest = exact_quotient(from.back().extent, factor);
      auto new_rest = std::optional<Dim>(1);
      if (!old_rest) {
        factor = from.back().extent;
        old_rest = Dim(1);
        new_rest = exact_quotient(to.back().extent, factor);
        if (!new_rest) break;
      }
      trailing.push_back({factor, from.back().dimension, to.back().dimension});
      from.back().extent = *old_rest;
      to.back().extent = *new_rest;
      if (*old_rest == Dim(1)) from.pop_back();
      if (*new_rest == Dim(1)) to.pop_back();
    }
    size_t group = plan_.flat_groups.size();
    plan_.flat_groups.emplace_back();
    for (const Part& part : to) plan_.flat_groups[group].push_back(new_axis(part));
    Dim stride = 1;
    for (size_t k = from.size(); k-- > 0;) {
      // Pieces of a dimension run outermost first and each dimension has at most one in a group.
      plan_.old_pieces[from[k].dimension].push_back({from[k].extent, none, group, stride, k == 0});
      stride = stride * from[k].extent;
    }
    for (size_t k = trailing.size(); k-- > 0;) {
      int axis = new_axis({trailing[k].new_dimension, trailing[k].factor});
      plan_.old_pieces[trailing[k].old_dimension].push_back({trailing[k].factor, axis, 0, 1, false});
    }
  }

  Plan plan_;
  std::deque<Part> old_;
  std::deque<Part> new_;
};

Scalar merge(Builder& b, const Indices& indices, const Dims& extents) {
  Scalar flat = b.integer(0);
  for (size_t k = 0; k < indices.size(); ++k) flat = flat * extents[k] + indices[k];
  return flat;
}

}  // namespace

TensorRef Builder::reshape(const TensorRef& x, const Dims& dims) {
  const Dims from = x.dims();
  bool empty = std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim == Dim(0); });
  if (empty) return map(dims, [&](const Indices&) { return x(Indices(from.size(), integer(0))); });
  Plan plan = Matcher(from, dims).run();
  return map_grouped(plan.axes, plan.groups, [&](const Indices& axes) {
    std::vector<Scalar> flat;
    for (const auto& group : plan.flat_groups) {
      Indices indices;
      Dims extents;
      for (int axis : group) {
        indices.push_back(axes[static_cast<size_t>(axis)]);
        extents.push_back(plan.axes[static_cast<size_t>(axis)]);
      }
      flat.push_back(merge(*this, indices, extents));
    }
    Indices source;
    for (const auto& pieces : plan.old_pieces) {
      Indices indices;
      Dims extents;
      for (const Piece& piece : pieces) {
        extents.push_back(piece.extent);
        if (piece.axis != none) {
          indices.push_back(axes[static_cast<size_t>(piece.axis)]);
          continue;
        }
        Scalar index = floor_div(flat[piece.group], extent(piece.stride));
        indices.push_back(piece.leading ? index : floor_mod(index, extent(piece.extent)));
      }
      source.push_back(merge(*this, indices, extents));
    }
    return x(source);
  });
}

}  // namespace axrun::ir
