#include "search/windows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "search/monoid_values.h"
#include "search/uniform_parts.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ExprId;
using ir::Stage;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class WindowsWriter {
 public:
  WindowsWriter(PieceContext& context, const WindowsForm& form, const WindowsPlan& plan)
      : context_(context),
        program_(context.program),
        form_(form),
        stage_(*form.reduction),
        plan_(plan),
        w_(context.writer),
        values_(context.values),
        lanes_(context.target.lanes(4)),
        type_(program_.tensors[static_cast<size_t>(stage_.results[0])].type),
        point_(stage_.axes.size() + stage_.reduce_axes.size(), Dim(0)),
        column_tiles_(plan.column_tiles) {}

  void run() {
    std::vector<int> outer = form_.outer;
    if (plan_.spread == WindowsPlan::Spread::outer) {
      const auto place = std::find(outer.begin(), outer.end(), plan_.spread_axis);
      std::rotate(outer.begin(), place, place + 1);
    }
    for_outer(outer, 0);
    values_.clear_values();
  }

 private:
  using Body = std::function<void()>;

  Dim extent(int axis) const { return stage_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  int reduce_axis(int number) const { return static_cast<int>(stage_.axes.size()) + number; }

  // --- the loops over tiles ---

  void for_outer(const std::vector<int>& outer, size_t k) {
    if (k == outer.size()) {
      hoist();
      return for_tiles();
    }
    const LoopKind kind =
        k == 0 && plan_.spread == WindowsPlan::Spread::outer ? LoopKind::parallel : LoopKind::sequential;
    const AxisPart part = part_of(context_, stage_, outer[k]);
    if (outer[k] == form_.line && context_.parts.count({&stage_, form_.line}) == 0) {
      return for_column_blocks([&] {
        for (const Tiles& lines : plan_.line_tiles) {
          w_.loop(lines.apart ? LoopKind::unrolled : kind, "o" + std::to_string(k), lines.count,
                  [&](const Dim& o) {
                    coordinate(outer[k]) = lines.start + o;
                    for_outer(outer, k + 1);
                  });
        }
      });
    }
    w_.loop(kind, "o" + std::to_string(k), part.tiles(1, context_.facts), [&](const Dim& o) {
      coordinate(outer[k]) = part.first + o;
      for_outer(outer, k + 1);
    });
  }

  /// Tiles of columns that pass over all lines before the next ones do.
  void for_column_blocks(const Body& body) {
    if (plan_.column_block == 0) return body();
    const LoopKind kind =
        plan_.spread == WindowsPlan::Spread::column_blocks ? LoopKind::parallel : LoopKind::sequential;
    const Dim block(plan_.column_block);
    for (const Tiles& all : plan_.column_tiles) {
      w_.loop(kind, "jb", ceil_div(all.count, block), [&](const Dim& jb) {
        const bool whole = floor_mod(all.count, block) == Dim(0);
        Tiles here = all;
        here.start = all.start + Dim(all.size) * block * jb;
        here.count = whole ? block : min(block, all.count - block * jb);
        column_tiles_ = {here};
        body();
      });
    }
  }

  void for_tiles() {
    for (const Tiles& rows : plan_.row_tiles) {
      const bool spread = plan_.spread == WindowsPlan::Spread::rows && !rows.apart;
      const LoopKind kind = spread       ? LoopKind::parallel
                            : rows.apart ? LoopKind::unrolled
                                         : LoopKind::sequential;
      w_.loop(kind, "it", rows.count, [&](const Dim& it) {
        first_row_ = rows.start + Dim(rows.size) * it;
        rows_ = size_of(rows, form_.row, first_row_);
        height_ = rows.size;
        if (plan_.strips) make_strips();
        for (const Tiles& columns : column_tiles_) {
          w_.loop(columns.apart ? LoopKind::unrolled : LoopKind::sequential, "jt", columns.count,
                  [&](const Dim& jt) {
                    first_column_ = columns.start + Dim(columns.size) * jt;
                    columns_ = size_of(columns, form_.column, first_column_);
                    width_ = (columns.size + lanes_ - 1) / lanes_ * lanes_;
                    tile();
                  });
        }
      });
    }
  }

  Dim size_of(const Tiles& tiles, int axis, const Dim& start) const {
    return tiles.partial ? min(Dim(tiles.size), extent(axis) - start) : Dim(tiles.size);
  }

  // --- what tiles have in common ---

  /// Parts that do not vary within a tile are computed before the tiles: of the reduction one value for each
  /// tap, where registers last; of the epilogue what costs something.
  void hoist() {
    values_.clear_values();
    if (plan_.tile.factors_in_registers) {
      for (const ExprId id : uniform_parts(program_, stage_.body[0], tile_axes(), 0)) hoist_taps(id);
    }
    if (form_.epilogue == nullptr) return;
    std::set<int> varying;
    for (size_t k = 0; k < form_.epilogue_axes.size(); ++k) {
      if (tile_axes().count(form_.epilogue_axes[k]) != 0) varying.insert(static_cast<int>(k));
    }
    const ExprId body = form_.epilogue->body[0];
    for (const ExprId id : uniform_parts(program_, body, varying, 1)) {
      const int buffer = allocate_registers("h", program_.exprs[static_cast<size_t>(id)].type, {});
      w_.store({buffer, {}}, Combine::assign, values_.value(id, epilogue_point()));
      values_.take_value(id, [buffer] { return Access{buffer, {}}; });
    }
  }

  std::set<int> tile_axes() const { return {form_.row, form_.column}; }

  void hoist_taps(ExprId id) {
    std::vector<int> taps;
    Dims dims;
    for (size_t k = 0; k < stage_.reduce_axes.size(); ++k) {
      const int axis = reduce_axis(static_cast<int>(k));
      if (axes_of(program_, id).count(axis) == 0) continue;
      taps.push_back(axis);
      dims.push_back(stage_.reduce_axes[k].extent);
    }
    const int buffer = allocate_registers("taps", program_.exprs[static_cast<size_t>(id)].type, dims);
    const auto place = [this, buffer, taps] {
      Access access{buffer, {}};
      for (const int axis : taps) access.indices.push_back(coordinate(axis));
      return access;
    };
    const std::function<void(size_t)> each = [&](size_t k) {
      if (k == taps.size()) return w_.store(place(), Combine::assign, values_.value(id, point_));
      w_.loop(LoopKind::unrolled, "k" + std::to_string(k), dims[k], [&](const Dim& tap) {
        coordinate(taps[k]) = tap;
        each(k + 1);
      });
    };
    each(0);
    values_.take_value(id, place);
  }

  int allocate_registers(const std::string& what, ir::ElementType type, const Dims& dims) {
    return w_.allocate(what + "_" + stage_.name, type, dims, Level::registers);
  }

  // --- one tile ---

  void tile() {
    tile_ = allocate_registers("tile", type_, {Dim(height_), Dim(width_)});
    const int identity = identity_value(w_, stage_.monoid.kind, type_);
    for_rows([&] { for_lanes([&] { w_.store({tile_, {i1_, j1_}}, Combine::assign, identity); }); });
    if (plan_.strips) {
      reduce_strips();
    } else {
      reduce_taps();
    }
    for_rows([&] { for_lanes([&] { finish({tile_, {i1_, j1_}}); }); });
  }

  void reduce_taps() {
    const Body each = [&] {
      for_lanes([&] {
        w_.store({tile_, {i1_, j1_}}, combine_of(stage_.monoid.kind), values_.value(stage_.body[0], point_),
                 stage_.name, point_);
      });
    };
    const auto across_rows = [&](const Body& body) { for_rows([&] { taps(form_.row_taps, 0, body); }); };
    const auto along_column = [&](const Body& body) { taps(form_.column_taps, 0, body); };
    taps(form_.other_taps, 0, [&] {
      if (plan_.tile.rows_outside)
        across_rows([&] { along_column(each); });
      else
        along_column([&] { across_rows(each); });
    });
  }

  void for_rows(const Body& body) {
    w_.loop(LoopKind::unrolled, "i1", rows_, [&](const Dim& i1) {
      i1_ = i1;
      if (form_.row != ir::none) coordinate(form_.row) = first_row_ + i1;
      body();
    });
  }

  void for_lanes(const Body& body) {
    w_.loop(LoopKind::vector, "j1", columns_, [&](const Dim& j1) {
      j1_ = j1;
      coordinate(form_.column) = first_column_ + j1;
      body();
    });
  }

  void taps(const std::vector<int>& numbers, size_t k, const Body& body) {
    if (k == numbers.size()) return body();
    const auto number = static_cast<size_t>(numbers[k]);
    w_.loop(plan_.unrolled[number] ? LoopKind::unrolled : LoopKind::sequential, "k" + std::to_string(number),
            stage_.reduce_axes[number].extent, [&](const Dim& tap) {
              coordinate(reduce_axis(numbers[k])) = tap;
              taps(numbers, k + 1, body);
            });
  }

  // --- two passes ---

  /// A strip for each row of the tile: the taps across rows reduced, for every column that exists, and the
  /// identity for the others.
  void make_strips() {
    const Strips& strips = *plan_.strips;
    strips_ = w_.allocate("strips_" + stage_.name, type_, {Dim(height_), Dim(strips.length)}, Level::cache);
    identities(0, strips.begin);
    identities(strips.end, strips.length);
    const int64_t width = plan_.tile.columns, existing = strips.end - strips.begin;
    const int64_t whole = existing / width;
    if (whole > 0) {
      w_.loop(LoopKind::sequential, "ct", Dim(whole),
              [&](const Dim& ct) { part_of_strips(Dim(strips.begin) + Dim(width) * ct, width); });
    }
    if (existing % width != 0) part_of_strips(strips.begin + whole * width, existing % width);
  }

  void identities(int64_t begin, int64_t end) {
    const int identity = identity_value(w_, stage_.monoid.kind, type_);
    for (; begin < end; begin += lanes_) {
      for_rows([&] {
        w_.loop(LoopKind::vector, "z", Dim(std::min(lanes_, end - begin)), [&](const Dim& z) {
          w_.store({strips_, {i1_, begin + z}}, Combine::assign, identity);
        });
      });
    }
  }

  void part_of_strips(const Dim& begin, int64_t width) {
    const Strips& strips = *plan_.strips;
    const int source = context_.buffers.at(strips.operand);
    const int part =
        w_.allocate("part_" + stage_.name, type_, {Dim(height_), Dim((width + lanes_ - 1) / lanes_ * lanes_)},
                    Level::registers);
    const auto for_columns = [&](const std::function<void(const Access& sum, const Dim& column)>& body) {
      w_.loop(LoopKind::vector, "c1", Dim(width), [&](const Dim& c1) {
        body({part, {i1_, c1}}, begin + c1);
      });
    };
    const int identity = identity_value(w_, stage_.monoid.kind, type_);
    for_rows([&] {
      for_columns([&](const Access& sum, const Dim&) { w_.store(sum, Combine::assign, identity); });
    });
    assume(strips.column_guards);
    for_rows([&] {
      taps(form_.row_taps, 0, [&] {
        for_columns([&](const Access& sum, const Dim& column) {
          values_.read_at(strips.operand, [&](Dims indices) {
            indices.back() = strips.first + column;
            return Access{source, indices};
          });
          w_.store(sum, combine_of(stage_.monoid.kind), values_.value(stage_.body[0], point_));
        });
      });
    });
    assume({});
    values_.read_buffer(strips.operand, source);
    for_rows([&] {
      for_columns([&](const Access& sum, const Dim& column) {
        w_.store({strips_, {i1_, column}}, Combine::assign, w_.load(sum));
      });
    });
  }

  void reduce_strips() {
    const Strips& strips = *plan_.strips;
    const int source = context_.buffers.at(strips.operand);
    std::vector<ExprId> guards = strips.row_guards;
    guards.insert(guards.end(), strips.column_guards.begin(), strips.column_guards.end());
    assume(guards);
    values_.read_at(strips.operand, [&](const Dims& indices) {
      return Access{strips_, {i1_, indices.back() - strips.first}};
    });
    for_rows([&] {
      taps(form_.column_taps, 0, [&] {
        for_lanes([&] {
          w_.store({tile_, {i1_, j1_}}, combine_of(stage_.monoid.kind),
                   values_.value(stage_.body[0], point_));
        });
      });
    });
    assume({});
    values_.read_buffer(strips.operand, source);
  }

  void assume(const std::vector<ExprId>& guards) {
    std::map<ExprId, bool> known;
    for (const ExprId guard : guards) known[guard] = true;
    values_.assume(std::move(known));
  }

  Dims epilogue_point() {
    Dims point;
    for (const int axis : form_.epilogue_axes) point.push_back(axis == -1 ? Dim(0) : coordinate(axis));
    return point;
  }

  void finish(const Access& element) {
    if (form_.epilogue == nullptr) {
      const Dims point(point_.begin(), point_.begin() + static_cast<std::ptrdiff_t>(stage_.axes.size()));
      return w_.store(result_at(context_, stage_, point), Combine::assign, w_.load(element));
    }
    const Stage& map = *form_.epilogue;
    const Dims point = epilogue_point();
    values_.read_at(stage_.results[0], [element](const Dims&) { return element; });
    w_.store(result_at(context_, map, point), Combine::assign, values_.value(map.body[0], point), map.name,
             point);
  }

  const PieceContext& context_;
  const ir::Program& program_;
  const WindowsForm& form_;
  const Stage& stage_;
  const WindowsPlan& plan_;
  LoopWriter& w_;
  StageValues& values_;
  const int64_t lanes_;
  const ir::ElementType type_;
  Dims point_;                       ///< of the reduction: axes, then reduce axes
  std::vector<Tiles> column_tiles_;  ///< of the block at hand
  // The tile at hand.
  Dim first_row_, first_column_, rows_, columns_;
  int64_t height_ = 1, width_ = 1;
  int tile_ = ir::none, strips_ = ir::none;
  Dim i1_, j1_;  ///< the element of it
};

}  // namespace

void write_windows(PieceContext& context, const WindowsForm& form, const WindowsPlan& plan) {
  if (plan.planes) return write_planes(context, form, *plan.planes);
  WindowsWriter(context, form, plan).run();
}

}  // namespace axrun::search
