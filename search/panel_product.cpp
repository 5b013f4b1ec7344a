#include "search/panel_product.h"

#include <string>

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class PanelProductWriter {
 public:
  PanelProductWriter(const PieceContext& context, const PanelProduct& product, const Dims& point)
      : context_(context),
        product_(product),
        sum_(product.sum),
        w_(context.writer),
        lanes_(context.target.lanes(4)),
        point_(point) {}

  /// What rows of tiles read of a tile's columns stays in the nearest cache.
  void run() {
    const int64_t wide = product_.tile.columns, whole = product_.columns / wide;
    if (whole != 0) {
      w_.loop(LoopKind::sequential, "jt", Dim(whole),
              [&](const Dim& jt) { column_of_tiles(Dim(wide) * jt, wide); });
    }
    const int64_t rest = product_.columns % wide;
    if (rest != 0) column_of_tiles(Dim(wide * whole), rest);
  }

 private:
  void column_of_tiles(const Dim& first, int64_t columns) {
    first_column_ = first;
    columns_ = columns;
    held_ = (columns + lanes_ - 1) / lanes_ * lanes_;
    w_.loop(LoopKind::sequential, "it", product_.rows.tiles(product_.tile.rows, context_.facts),
            [&](const Dim& it) {
              first_row_ = product_.rows.first + Dim(product_.tile.rows) * it;
              row_tile_ = first_tile() + it;
              tile();
            });
  }

  Dim first_tile() const {
    if (product_.rows.block == 0) return Dim(0);
    return Dim(product_.rows.block / product_.tile.rows) * product_.rows.number;
  }

  void for_tile(const std::function<void(const Dim& i1, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i1", Dim(product_.tile.rows), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", Dim(product_.padded ? held_ : columns_),
              [&](const Dim& j1) { body(i1, j1); });
    });
  }

  void tile() {
    const Dims dims = {Dim(product_.tile.rows), Dim(held_)};
    const int tile = w_.allocate("tile_" + sum_.name, ElementType::f32, dims, Level::registers);
    for_tile([&](const Dim& i1, const Dim& j1) { w_.store({tile, {i1, j1}}, Combine::assign, w_.real(0)); });
    terms(0, [&] {
      for_tile([&](const Dim& i1, const Dim& j1) {
        const int left = w_.load(product_.left.at(point_, row_tile_, i1));
        w_.store({tile, {i1, j1}}, Combine::add, w_.mul(left, product_.right(point_, first_column_ + j1)));
      });
    });
    // A single column is no vector, and lanes in registers are not elements.
    if (!product_.copied && columns_ != 1) return finish(tile, LoopKind::unrolled);
    const int copy = w_.allocate("copy_" + sum_.name, ElementType::f32, dims, Level::cache);
    for_tile([&](const Dim& i1, const Dim& j1) {
      w_.store({copy, {i1, j1}}, Combine::assign, w_.load({tile, {i1, j1}}));
    });
    finish(copy, product_.copied ? LoopKind::sequential : LoopKind::unrolled);
  }

  /// The loops along the sum, the innermost one unrolled.
  void terms(size_t k, const std::function<void()>& body) {
    const Dim all = sum_.reduce_axes[k].extent, by(product_.unroll);
    const std::string name = "p" + std::to_string(k);
    Dim& here = point_[sum_.axes.size() + k];
    if (k + 1 < sum_.reduce_axes.size()) {
      return w_.loop(LoopKind::sequential, name, all, [&](const Dim& p) {
        here = p;
        terms(k + 1, body);
      });
    }
    const bool whole = floor_mod(all, by) == Dim(0);
    w_.loop(LoopKind::sequential, name, ceil_div(all, by), [&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "u", whole ? by : min(by, all - by * p), [&](const Dim& u) {
        here = by * p + u;
        body();
      });
    });
  }

  void finish(int buffer, LoopKind kind) {
    const Dim height(product_.tile.rows);
    const bool whole = product_.rows.has_whole_tiles(product_.tile.rows, context_.facts);
    const Dim rows_left = product_.rows.rest - (first_row_ - product_.rows.first);
    w_.loop(kind, "i1", whole ? height : min(height, rows_left), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", Dim(columns_), [&](const Dim& j1) {
        point_[static_cast<size_t>(product_.row)] = first_row_ + i1;
        product_.store(point_, {buffer, {i1, j1}}, first_column_ + j1);
      });
    });
  }

  const PieceContext& context_;
  const PanelProduct& product_;
  const ir::Stage& sum_;
  LoopWriter& w_;
  const int64_t lanes_;
  Dims point_;
  // The tile at hand.
  Dim first_row_, row_tile_, first_column_;
  int64_t columns_ = 1,
          held_ = 1;  ///< that exist, and with the rest of the last vector
};

}  // namespace

void write_panel_product(const PieceContext& context, const PanelProduct& product, const Dims& point) {
  PanelProductWriter(context, product, point).run();
}

}  // namespace axrun::search
