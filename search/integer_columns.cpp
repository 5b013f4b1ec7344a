#include "search/integer_columns.h"

#include <algorithm>
#include <functional>

#include "search/epilogue.h"
#include "search/integer_neighbours.h"
#include "search/prepared_parts.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::ExprId;
using ir::Program;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class IntegerColumnsWriter {
 public:
  IntegerColumnsWriter(PieceContext& context, const IntegerProductForm& form)
      : context_(context),
        form_(form.product),
        sum_(*form.product.sum),
        w_(context.writer),
        values_(context.values),
        lanes_(context.target.lanes(4)),
        rows_(extent(form_.row)),
        columns_(extent(form_.column)),
        point_(sum_.axes.size() + 1, Dim(0)),
        groups_(neighbours_of(context, form_.left[0], form_.right[0], form.depth)),
        depth_(form.depth / groups_.count) {
    for (const int axis : form_.outer) {
      if (axes_of(context.program, form_.left[0]).count(axis) != 0) left_outer_.push_back(axis);
    }
    choose_tile();
    double flops = 2.0 * static_cast<double>(form.depth);
    for (const ir::Axis& axis : sum_.axes) flops *= static_cast<double>(context.facts.typical(axis.extent));
    const bool spread = is_worth_spreading(flops / 2, context.target);
    constexpr double good = 0.8;
    const auto balanced = [&](const Dim& all, int64_t step) {
      return balance_of_axis(context.facts, all, step, context.target.cores) >= good;
    };
    if (!spread) return;
    if (!form_.outer.empty() && balanced(extent(form_.outer[0]), 1))
      spread_ = Spread::outer;
    else if (balanced(columns_, width_) || context.facts.typical(rows_) < height_ * context.target.cores)
      spread_ = Spread::panels;
    else
      spread_ = Spread::rows;
  }

  void run() {
    if (form_.epilogue != nullptr)
      prepare_parts(context_, *form_.epilogue, [this]() -> const Dims& { return map_point_; });
    w_.at_beginning([&] { pack_left(0); });
    outer(0, spread_ == Spread::outer, [&] {
      if (spread_ != Spread::rows) return panels(Dim(0), row_tiles());
      const int64_t blocks = context_.target.cores;
      const Dim each = ceil_div(row_tiles(), Dim(blocks));
      w_.loop(LoopKind::parallel, "ib", Dim(blocks),
              [&](const Dim& ib) { panels(each * ib, max(min(each, row_tiles() - each * ib), Dim(0))); });
    });
    values_.clear_values();
  }

 private:
  using Body = std::function<void()>;
  enum class Spread : uint8_t { nothing, outer, panels, rows };

  Dim extent(int axis) const { return sum_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  Dim row_tiles() const { return ceil_div(rows_, Dim(height_)); }

  void choose_tile() {
    const bool many = context_.target.vector_registers > 16;
    const int64_t vectors =
        std::clamp<int64_t>(ceil_of(context_.facts.typical(columns_), lanes_), 1, many ? 4 : 2);
    height_ = tile_rows(context_.target, vectors, context_.facts.typical(rows_));
    width_ = vectors * lanes_;
    row_tail_ = !context_.facts.is_multiple(rows_, height_);
    copied_ = form_.epilogue != nullptr && is_long(context_.program, *form_.epilogue);
  }

  // --- the left side: [outer..., tiles of rows, groups of k, row, neighbour] ---

  Access left(const Dim& tile, const Dim& p, const Dim& row, const Dim& q) {
    Access access{left_, {}};
    for (const int axis : left_outer_) access.indices.push_back(coordinate(axis));
    access.indices.insert(access.indices.end(), {tile, p, row, q});
    return access;
  }

  /// Rows of the last tile that do not exist are the last one again.
  void pack_left(size_t k) {
    if (k == 0) {
      Dims dims;
      for (const int axis : left_outer_) dims.push_back(extent(axis));
      dims.insert(dims.end(), {row_tiles(), Dim(depth_), Dim(height_), Dim(groups_.count)});
      left_ = w_.allocate("left_" + sum_.name, groups_.left, dims, Level::memory);
    }
    if (k < left_outer_.size()) {
      return w_.loop(LoopKind::sequential, "o" + std::to_string(k), extent(left_outer_[k]),
                     [&](const Dim& o) {
                       coordinate(left_outer_[k]) = o;
                       pack_left(k + 1);
                     });
    }
    w_.loop(LoopKind::sequential, "it", row_tiles(), [&](const Dim& it) {
      w_.loop(LoopKind::sequential, "p", Dim(depth_), [&](const Dim& p) {
        w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
          w_.loop(LoopKind::unrolled, "q", Dim(groups_.count), [&](const Dim& q) {
            const Dim row = height_ * it + i1;
            coordinate(form_.row) = row_tail_ ? min(row, rows_ - 1) : row;
            point_.back() = groups_.count * p + q;
            w_.store(left(it, p, i1, q), Combine::assign,
                     narrowed(context_, form_.left[0], groups_.left, point_));
          });
        });
      });
    });
  }

  // --- panels of columns ---

  void outer(size_t k, bool spread, const Body& body) {
    if (k == form_.outer.size()) return body();
    w_.loop(spread ? LoopKind::parallel : LoopKind::sequential, "o" + std::to_string(k),
            extent(form_.outer[k]), [&](const Dim& o) {
              coordinate(form_.outer[k]) = o;
              outer(k + 1, false, body);
            });
  }

  /// Of all columns, for so many tiles of rows from the first one on. Whole ones, and the rest apart: what is
  /// in its place must not cost the others anything.
  void panels(const Dim& first_tile, const Dim& tiles) {
    const auto panel = [&](const Dim& jt, const Dim& present) {
      first_column_ = Dim(width_) * jt;
      present_ = present;
      const auto literal = present.constant();
      vectors_ = literal ? ceil_of(*literal, lanes_) : width_ / lanes_;
      gather();
      w_.loop(LoopKind::sequential, "it", tiles, [&](const Dim& it) {
        row_tile_ = first_tile + it;
        tile();
      });
    };
    const LoopKind kind = spread_ == Spread::panels ? LoopKind::parallel : LoopKind::sequential;
    const Dim whole = floor_div(columns_, Dim(width_));
    if (whole != Dim(0)) w_.loop(kind, "jt", whole, [&](const Dim& jt) { panel(jt, Dim(width_)); });
    const Dim rest = columns_ - Dim(width_) * whole;
    if (rest == Dim(0)) return;
    if (rest.is_constant()) return panel(whole, rest);
    w_.loop(LoopKind::sequential, "jr", ceil_div(columns_, Dim(width_)) - whole,
            [&](const Dim& jr) { panel(whole + jr, min(rest, Dim(width_))); });
  }

  /// [group of k, column, neighbour]; columns that do not exist are 0.
  void gather() {
    const int64_t computed = vectors_ * lanes_;
    panel_ = w_.allocate("panel_" + sum_.name, groups_.right,
                         {Dim(depth_), Dim(computed), Dim(groups_.count)}, Level::cache);
    w_.loop(LoopKind::sequential, "p", Dim(depth_), [&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "q", Dim(groups_.count), [&](const Dim& q) {
        point_.back() = groups_.count * p + q;
        w_.loop(LoopKind::vector, "j1", present_, [&](const Dim& j1) {
          coordinate(form_.column) = first_column_ + j1;
          w_.store({panel_, {p, j1, q}}, Combine::assign,
                   narrowed(context_, form_.right[0], groups_.right, point_));
        });
      });
      if (present_ == Dim(computed)) return;
      w_.loop(LoopKind::unrolled, "q", Dim(groups_.count), [&](const Dim& q) {
        w_.loop(LoopKind::vector, "z1", Dim(computed) - present_, [&](const Dim& z1) {
          w_.store({panel_, {p, present_ + z1, q}}, Combine::assign, w_.integer(0, groups_.right));
        });
      });
    });
  }

  // --- tiles ---

  void for_tile(const std::function<void(const Dim& i1, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", Dim(vectors_ * lanes_), [&](const Dim& j1) { body(i1, j1); });
    });
  }

  void tile() {
    const int sums = w_.allocate("tile_" + sum_.name, ElementType::i32,
                                 {Dim(height_), Dim(vectors_ * lanes_)}, Level::registers);
    for_tile([&](const Dim& i1, const Dim& j1) {
      w_.store({sums, {i1, j1}}, Combine::assign, w_.integer(0, ElementType::i32));
    });
    a_few_at_a_time(w_, depth_, [&](const Dim& p) { add_products(sums, p); });
    if (!copied_ && present_ != Dim(1)) return finish(sums, LoopKind::unrolled);
    // Lanes in registers are not elements; a single column is no vector.
    const int elements = w_.allocate("elements_" + sum_.name, ElementType::i32,
                                     {Dim(height_), Dim(vectors_ * lanes_)}, Level::cache);
    for_tile([&](const Dim& i1, const Dim& j1) {
      w_.store({elements, {i1, j1}}, Combine::assign, w_.load({sums, {i1, j1}}));
    });
    finish(elements, copied_ ? LoopKind::sequential : LoopKind::unrolled);
  }

  void add_products(int sums, const Dim& p) {
    w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
      w_.loop(LoopKind::unrolled, "q", Dim(groups_.count), [&](const Dim& q) {
        w_.loop(LoopKind::vector, "j1", Dim(vectors_ * lanes_), [&](const Dim& j1) {
          const int one = widened(w_, left(row_tile_, p, i1, q)), each = widened(w_, {panel_, {p, j1, q}});
          w_.store({sums, {i1, j1}}, Combine::add, w_.mul(one, each));
        });
      });
    });
  }

  void finish(int sums, LoopKind kind) {
    const Dim rows = row_tail_ ? min(Dim(height_), rows_ - Dim(height_) * row_tile_) : Dim(height_);
    w_.loop(kind, "i1", rows, [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", present_, [&](const Dim& j1) {
        coordinate(form_.row) = Dim(height_) * row_tile_ + i1;
        coordinate(form_.column) = first_column_ + j1;
        store({sums, {i1, j1}});
      });
    });
  }

  void store(const Access& element) {
    if (form_.epilogue == nullptr) {
      const Dims point(point_.begin(), point_.end() - 1);
      return w_.store(result_at(context_, sum_, point), Combine::assign, w_.load(element));
    }
    const ir::Stage& map = *form_.epilogue;
    map_point_.clear();
    for (const int axis : form_.epilogue_axes)
      map_point_.push_back(axis == -1 ? Dim(0) : point_[static_cast<size_t>(axis)]);
    values_.read_at(sum_.results[0], [element](const Dims&) { return element; });
    w_.store(result_at(context_, map, map_point_), Combine::assign, values_.value(map.body[0], map_point_),
             map.name, map_point_);
  }

  PieceContext& context_;
  const ProductForm& form_;
  const ir::Stage& sum_;
  LoopWriter& w_;
  StageValues& values_;
  const int64_t lanes_;
  const Dim rows_, columns_;
  Dims point_;  ///< of the sum: axes, then the reduce axis
  const Neighbours groups_;
  const int64_t depth_;          ///< groups along the sum
  std::vector<int> left_outer_;  ///< of the outer axes, those on which the left side depends
  int64_t height_ = 1, width_ = 1;
  Spread spread_ = Spread::nothing;
  bool row_tail_ = false;
  bool copied_ = false;  ///< tiles are, to the cache, before a long epilogue reads them
  Dims map_point_;       ///< of the epilogue, where it is computed
  int left_ = ir::none, panel_ = ir::none;
  Dim row_tile_, first_column_, present_;
  int64_t vectors_ = 1;  ///< of the panel at hand
};

}  // namespace

FoundIntegerProduct find_integer_columns(const Program& program, const ir::Stage& sum,
                                         const ir::Stage* epilogue, const std::vector<bool>& constant) {
  FoundIntegerProduct result;
  FoundProduct found = find_product(program, sum, epilogue, constant, ElementType::i32);
  const ProductForm& form = result.form.product = std::move(found.form);
  result.reason = found.reason;
  if (!found.found) return result;
  const auto no = [&](const std::string& reason) {
    result.reason = reason;
    return result;
  };
  if (sum.reduce_axes.size() != 1) return no("a sum over several axes");
  const auto depth = sum.reduce_axes[0].extent.constant();
  constexpr int64_t pair = 2;
  if (!depth || *depth % pair != 0) return no("a sum over what are no pairs");
  if (!form.left_constant || form.right_constant) return no("its rows are not constant");
  if (form.row == ir::none) return no("a single row");
  if (form.left.size() != 1 || form.right.size() != 1) return no("a product of more than two");
  if (!is_word(program, form.left[0]) || !is_word(program, form.right[0]))
    return no("factors of more than 16 bits");
  ProductForm one = form;
  for (const ExprId load : loads_of(program, form.right[0])) {
    one.right = {load};
    if (axes_of(program, load).count(form.column) != 0 && !columns_are_contiguous(program, one))
      return no("columns that do not follow one another");
  }
  result.form.depth = *depth;
  result.found = true;
  return result;
}

void write_integer_columns(PieceContext& context, const IntegerProductForm& form) {
  IntegerColumnsWriter(context, form).run();
}

}  // namespace axrun::search
