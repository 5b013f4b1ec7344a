#include "search/window_tile.h"

#include <algorithm>

namespace axrun::search {
namespace {

/// Written-out multiply-adds (or other steps) of a tile: code is as long.
constexpr int64_t most_steps = 1024;

class Chooser {
 public:
  Chooser(const WindowShape& shape, const jit::Target& target)
      : shape_(shape), target_(target), lanes_(target.lanes(4)) {}

  WindowTile run() {
    choose(false);
    constexpr int64_t most_factors = 10;
    const bool few = shape_.factors > 0 && shape_.factors * shape_.taps <= most_factors;
    if (few && shape_.unrolled == shape_.taps && target_.vector_registers > 16) choose(true);
    return best_;
  }

 private:
  void choose(bool factors_in_registers) {
    WindowTile tile;
    tile.factors_in_registers = factors_in_registers;
    tile.rows_outside = shape_.step > 1 && (shape_.factors == 0 || factors_in_registers);
    constexpr int64_t most_rows = 8;
    const int64_t most_vectors = shape_.rows == 1 ? 8 : 4;
    for (int64_t vectors = 1; vectors <= most_vectors; ++vectors) {
      if (vectors > 1 && (vectors - 1) * lanes_ >= shape_.columns) break;
      for (tile.rows = 1; tile.rows <= std::min(shape_.rows, most_rows); ++tile.rows) {
        const bool fits = registers(tile, vectors) <= target_.vector_registers &&
                          tile.rows * vectors * shape_.unrolled <= most_steps;
        if (tile.rows * vectors > 1 && !fits) break;
        tile.columns = vectors * lanes_;
        tile.cycles = all_tiles(tile, vectors);
        if (best_.cycles == 0 || tile.cycles < best_.cycles) best_ = tile;
      }
    }
  }

  /// Accumulators, what the next row reads again, factors, and what passes through.
  int64_t registers(const WindowTile& tile, int64_t vectors) const {
    const int64_t again = std::min(tile.rows - 1, shape_.row_taps);
    // Lanes with a step are made of two vectors for each, and the order in which they are taken.
    const int64_t read = tile.rows_outside ? vectors * (shape_.column_taps + 2 * shape_.step) + shape_.step
                                           : again * vectors + 2;
    const int64_t factors = tile.factors_in_registers ? shape_.taps : shape_.row_taps;
    constexpr int64_t spare = 1;
    return tile.rows * vectors + read + shape_.factors * factors +
           shape_.lane_factors * shape_.row_taps * vectors + spare;
  }

  double all_tiles(const WindowTile& tile, int64_t vectors) const {
    const int64_t across = (shape_.columns + tile.columns - 1) / tile.columns;
    const int64_t down = (shape_.rows + tile.rows - 1) / tile.rows;
    const int64_t last_vectors = (shape_.columns - (across - 1) * tile.columns + lanes_ - 1) / lanes_;
    const int64_t last_rows = shape_.rows - (down - 1) * tile.rows;
    const auto all_columns = [&](int64_t rows) {
      return static_cast<double>(across - 1) * one_tile(tile, rows, vectors) +
             one_tile(tile, rows, last_vectors);
    };
    return static_cast<double>(down - 1) * all_columns(tile.rows) + all_columns(last_rows);
  }

  /// Cycles for so much of a tile, by what limits it. Vectors that are read cross cache lines.
  double one_tile(const WindowTile& tile, int64_t rows, int64_t vectors) const {
    constexpr double start = 12, vector_start = 1.5, latency = 4, permutation = 0.5;
    // Instructions that processors look ahead: the chains of the next tile begin meanwhile.
    constexpr double window = 400;
    const int64_t lines = std::min(rows * shape_.row_taps, shape_.row_step * (rows - 1) + shape_.row_taps);
    const int64_t columns_read = shape_.taps / shape_.row_taps;
    auto read = static_cast<double>(columns_read);
    if (tile.rows_outside) {
      const int64_t shared = (shape_.column_taps + shape_.step - 1) / shape_.step * shape_.step;
      read = static_cast<double>(columns_read / shape_.column_taps * shared);
    } else if (shape_.step > 1) {
      read *= static_cast<double>(shape_.step);
    }
    if (shape_.step > 1) read += permutation * static_cast<double>(columns_read * (shape_.step - 1));
    const auto accumulated = static_cast<double>(rows * vectors), taps = static_cast<double>(shape_.taps);
    const double arithmetic = accumulated * taps / std::max(1, target_.fma_ports);
    const double factors = tile.factors_in_registers ? 0 : 0.5 * taps * static_cast<double>(shape_.factors);
    const double lane_factors = 0.5 * taps * static_cast<double>(shape_.lane_factors * vectors);
    const double reading = static_cast<double>(lines * vectors) * read + factors + lane_factors;
    const double overlap = std::clamp(window / (2 * accumulated * taps), 1.0, 2.0);
    return std::max({arithmetic, reading, taps * latency / overlap}) + start + vector_start * accumulated;
  }

  const WindowShape& shape_;
  const jit::Target& target_;
  const int64_t lanes_;
  WindowTile best_;
};

}  // namespace

WindowTile window_tile(const WindowShape& shape, const jit::Target& target) {
  return Chooser(shape, target).run();
}

}  // namespace axrun::search
