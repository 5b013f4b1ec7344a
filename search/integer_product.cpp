#include "search/integer_product.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "search/integer_neighbours.h"
#include "search/prepared_parts.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

constexpr int64_t pair = 2;

using Bounds = IntegerBounds;

/// Of an integer expression, from the types of what it reads.
std::optional<Bounds> bounds_of(const Program& program, const Expr& expr, int depth);
std::optional<Bounds> bounds_of(const Program& program, ExprId id, int depth = 0) {
  return bounds_of(program, program.exprs[static_cast<size_t>(id)], depth);
}

std::optional<Bounds> bounds_of(const Program& program, const Expr& expr, int depth) {
  constexpr int deepest = 8;
  if (!ir::is_integer(expr.type) || ir::bits_of(expr.type) > 32 || depth > deepest) return std::nullopt;
  const Bounds all{ir::integer_min(expr.type), ir::integer_max(expr.type)};
  const auto argument = [&](int k) {
    return bounds_of(program, expr.args[static_cast<size_t>(k)], depth + 1);
  };
  switch (expr.op) {
    case ScalarOp::integer:
      return Bounds{expr.integer, expr.integer};
    case ScalarOp::cast: {
      const auto a = argument(0);
      return a && a->low >= all.low && a->high <= all.high ? *a : all;
    }
    case ScalarOp::add:
    case ScalarOp::sub: {
      const auto a = argument(0), b = argument(1);
      if (!a || !b) return std::nullopt;
      const bool adds = expr.op == ScalarOp::add;
      const Bounds sum{adds ? a->low + b->low : a->low - b->high,
                       adds ? a->high + b->high : a->high - b->low};
      return sum.low >= all.low && sum.high <= all.high ? sum : all;
    }
    case ScalarOp::select: {
      const auto a = argument(1), b = argument(2);
      if (!a || !b) return std::nullopt;
      return Bounds{std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    case ScalarOp::load:
      if (expr.args[0] != ir::none) {
        // Of an element, whatever it is, and of what stands for it.
        const auto otherwise = argument(1);
        Expr plain = expr;
        plain.args = {ir::none, ir::none, ir::none};
        const auto element = bounds_of(program, plain, depth);
        if (!element || !otherwise) return std::nullopt;
        return Bounds{std::min(element->low, otherwise->low), std::max(element->high, otherwise->high)};
      }
      for (const ir::Stage& stage : program.stages) {
        if (stage.results[0] != static_cast<ir::TensorId>(expr.integer)) continue;
        if (stage.kind != ir::StageKind::map) return std::nullopt;
        return bounds_of(program, stage.body[0], depth + 1);
      }
      return all;
    default:
      return std::nullopt;
  }
}

class IntegerProductWriter {
 public:
  IntegerProductWriter(PieceContext& context, const IntegerProductForm& form)
      : context_(context),
        form_(form.product),
        sum_(*form.product.sum),
        w_(context.writer),
        values_(context.values),
        depth_(form.depth),
        rows_(extent(form_.row)),
        columns_(extent(form_.column)),
        point_(sum_.axes.size() + 1, Dim(0)) {
    const int64_t lanes = context.target.lanes(4), typical = context.facts.typical(columns_);
    const bool many = context.target.vector_registers > 16;
    width_ = lanes * std::clamp<int64_t>((typical + lanes - 1) / lanes, 1, many ? 4 : 2);
    // Sums, a row of the right side, and an element of the left one; without dot products, words of them too.
    const int64_t vectors = width_ / lanes, others = many ? vectors + 2 : 2 * vectors + 4;
    const int64_t rows = std::max<int64_t>(1, context.facts.typical(rows_));
    const int64_t most = (context.target.vector_registers - others) / vectors;
    const int64_t tiles = (rows + most - 1) / most;
    height_ = (rows + tiles - 1) / tiles;
    row_tail_ = !context.facts.is_multiple(rows_, height_);
    column_tail_ = !context.facts.is_multiple(columns_, width_);
    if (height_ == 1) right_ = narrowest();
    padded_ = right_ != ElementType::i16;
  }

  void run() {
    if (form_.epilogue != nullptr)
      prepare_parts(context_, *form_.epilogue, [this]() -> const Dims& { return map_point_; });
    w_.at_beginning([&] { pack_right(); });
    double flops = 2.0 * static_cast<double>(depth_);
    for (const ir::Axis& axis : sum_.axes) flops *= static_cast<double>(context_.facts.typical(axis.extent));
    const bool spread = is_worth_spreading(flops / 2, context_.target);
    constexpr double good = 0.8;
    const bool by_rows =
        spread && !form_.outer.empty() &&
        balance_of_axis(context_.facts, extent(form_.outer[0]), 1, context_.target.cores) < good &&
        context_.facts.typical(rows_) > height_;
    const auto rows = rows_.substitute(context_.facts.known()).constant();
    // What one tile has of rows is packed before the columns are spread.
    const bool by_columns = spread && form_.outer.empty() && rows && *rows <= height_;
    if (by_columns) {
      pack_left(Dim(0));
      w_.loop(LoopKind::parallel, "jt", ceil_div(columns_, Dim(width_)),
              [&](const Dim& jt) { tile(Dim(0), jt); });
    } else if (by_rows) {
      row_tiles(LoopKind::parallel, [&](const Dim& it) {
        outer_loops(0, LoopKind::sequential, [&](LoopKind) { tiles_of(it); });
      });
    } else {
      outer_loops(0, spread ? LoopKind::parallel : LoopKind::sequential,
                  [&](LoopKind kind) { row_tiles(kind, [&](const Dim& it) { tiles_of(it); }); });
    }
    values_.clear_values();
  }

 private:
  Dim extent(int axis) const {
    return axis == ir::none ? Dim(1) : sum_.axes[static_cast<size_t>(axis)].extent;
  }
  void move_to(int axis, const Dim& place) {
    if (axis != ir::none) point_[static_cast<size_t>(axis)] = place;
  }
  Dim columns_of(const Dim& jt) const {
    return column_tail_ ? min(Dim(width_), columns_ - width_ * jt) : Dim(width_);
  }
  Dim rows_of(const Dim& it) const {
    return row_tail_ ? min(Dim(height_), rows_ - height_ * it) : Dim(height_);
  }

  /// A row waits for the right side, which is read once: as bytes, where they are, it is half as much.
  ElementType narrowest() const {
    const auto bounds = bounds_of(context_.program, form_.right[0]);
    for (const ElementType type : {ElementType::i8, ElementType::u8}) {
      if (bounds && bounds->low >= ir::integer_min(type) && bounds->high <= ir::integer_max(type))
        return type;
    }
    return ElementType::i16;
  }
  /// Columns of a tile that are computed: where zeros are packed beyond the last one, all.
  Dim computed(const Dim& jt) const { return padded_ ? Dim(width_) : columns_of(jt); }

  int word(ExprId id) { return w_.operation(ScalarOp::cast, ElementType::i16, {values_.value(id, point_)}); }
  int widened(const Access& access) { return search::widened(w_, access); }

  /// [tile of columns, pair, column, neighbour]
  void pack_right() {
    const Dim tiles = ceil_div(columns_, Dim(width_));
    packed_ = w_.allocate("packed_" + sum_.name, right_, {tiles, Dim(depth_ / pair), Dim(width_), Dim(pair)},
                          Level::memory);
    w_.loop(LoopKind::sequential, "jt", tiles, [&](const Dim& jt) {
      w_.loop(LoopKind::sequential, "p", Dim(depth_ / pair), [&](const Dim& p) {
        w_.loop(LoopKind::sequential, "q", Dim(pair), [&](const Dim& q) {
          w_.loop(LoopKind::vector, "j1", columns_of(jt), [&](const Dim& j1) {
            move_to(form_.column, width_ * jt + j1);
            point_.back() = pair * p + q;
            w_.store({packed_, {jt, p, j1, q}}, Combine::assign,
                     narrowed(context_, form_.right[0], right_, point_));
          });
          if (!padded_ || !column_tail_) return;
          w_.loop(LoopKind::vector, "z1", Dim(width_) - columns_of(jt), [&](const Dim& z1) {
            w_.store({packed_, {jt, p, columns_of(jt) + z1, q}}, Combine::assign, w_.integer(0, right_));
          });
        });
      });
    });
  }

  /// The outermost loop is of this kind; body(kind of what is outermost where there is none).
  void outer_loops(size_t k, LoopKind kind, const std::function<void(LoopKind kind)>& body) {
    if (k == form_.outer.size()) return body(kind);
    w_.loop(kind, "o" + std::to_string(k), extent(form_.outer[k]), [&](const Dim& o) {
      move_to(form_.outer[k], o);
      outer_loops(k + 1, LoopKind::sequential, body);
    });
  }

  void row_tiles(LoopKind kind, const std::function<void(const Dim& it)>& body) {
    w_.loop(kind, "it", ceil_div(rows_, Dim(height_)), body);
  }

  void tiles_of(const Dim& it) {
    pack_left(it);
    w_.loop(LoopKind::sequential, "jt", ceil_div(columns_, Dim(width_)),
            [&](const Dim& jt) { tile(it, jt); });
  }

  /// Rows beyond the last one are that one again.
  void pack_left(const Dim& it) {
    const int64_t lanes = context_.target.lanes(4),
                  step = std::min<int64_t>(4 * lanes, (depth_ + lanes - 1) / lanes * lanes);
    left_ = w_.allocate("left_" + sum_.name, ElementType::i16, {Dim(height_), Dim(depth_)}, Level::cache);
    w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
      const Dim row = height_ * it + i1;
      w_.loop(LoopKind::sequential, "kb", ceil_div(Dim(depth_), Dim(step)), [&](const Dim& kb) {
        const Dim rest = depth_ % step == 0 ? Dim(step) : min(Dim(step), Dim(depth_) - step * kb);
        w_.loop(LoopKind::vector, "k1", rest, [&](const Dim& k1) {
          move_to(form_.row, row_tail_ ? min(row, rows_ - 1) : row);
          point_.back() = step * kb + k1;
          w_.store({left_, {i1, point_.back()}}, Combine::assign, word(form_.left[0]));
        });
      });
    });
  }

  void for_tile(const Dim& jt, const std::function<void(const Dim& i1, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", computed(jt), [&](const Dim& j1) { body(i1, j1); });
    });
  }

  void tile(const Dim& it, const Dim& jt) {
    const int sums =
        w_.allocate("tile_" + sum_.name, ElementType::i32, {Dim(height_), Dim(width_)}, Level::registers);
    for_tile(jt, [&](const Dim& i1, const Dim& j1) {
      w_.store({sums, {i1, j1}}, Combine::assign, w_.integer(0, ElementType::i32));
    });
    const auto products = [&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
        w_.loop(LoopKind::unrolled, "q", Dim(pair), [&](const Dim& q) {
          w_.loop(LoopKind::vector, "j1", computed(jt), [&](const Dim& j1) {
            move_to(form_.row, height_ * it + i1);
            move_to(form_.column, width_ * jt + j1);
            point_.back() = pair * p + q;
            const int left = widened({left_, {i1, point_.back()}}),
                      right = widened({packed_, {jt, p, j1, q}});
            if (padded_ && column_tail_) return w_.store({sums, {i1, j1}}, Combine::add, w_.mul(left, right));
            w_.store({sums, {i1, j1}}, Combine::add, w_.mul(left, right), sum_.name, point_);
          });
        });
      });
    };
    if (padded_)
      a_few_at_a_time(w_, depth_ / pair, products);
    else
      w_.loop(LoopKind::sequential, "p", Dim(depth_ / pair), products);
    w_.loop(LoopKind::unrolled, "i1", rows_of(it), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", columns_of(jt), [&](const Dim& j1) {
        move_to(form_.row, height_ * it + i1);
        move_to(form_.column, width_ * jt + j1);
        finish({sums, {i1, j1}});
      });
    });
  }

  void finish(const Access& element) {
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
  const int64_t depth_;
  const Dim rows_, columns_;
  int64_t width_ = 0, height_ = 0;
  bool row_tail_ = false, column_tail_ = false;
  ElementType right_ = ElementType::i16;  ///< as which it is packed
  bool padded_ = false;
  Dims point_;      ///< of the sum: axes, then the reduce axis
  Dims map_point_;  ///< of the epilogue, where it is computed
  int packed_ = ir::none, left_ = ir::none;
};

}  // namespace

std::optional<IntegerBounds> integer_bounds(const Program& program, ExprId id) {
  return bounds_of(program, id);
}

bool is_word(const Program& program, ExprId id) {
  const auto bounds = bounds_of(program, id);
  return bounds && bounds->low >= ir::integer_min(ElementType::i16) &&
         bounds->high <= ir::integer_max(ElementType::i16);
}

FoundIntegerProduct find_integer_product(const Program& program, const ir::Stage& sum,
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
  if (!depth || *depth % pair != 0) return no("a sum over what are no pairs");
  if (!form.right_constant || form.left_constant) return no("a product of two that vary");
  if (form.left.size() != 1 || form.right.size() != 1) return no("a product of more than two");
  if (!is_word(program, form.left[0]) || !is_word(program, form.right[0]))
    return no("factors of more than 16 bits");
  const std::set<int> right = axes_of(program, form.right[0]);
  for (const int axis : form.outer) {
    if (right.count(axis) != 0) return no("several products");
  }
  result.form.depth = *depth;
  result.found = true;
  return result;
}

void write_integer_product(PieceContext& context, const IntegerProductForm& form) {
  IntegerProductWriter(context, form).run();
}

}  // namespace axrun::search
