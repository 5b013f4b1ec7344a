#include "search/register_tile.h"

#include <algorithm>

namespace axrun::search {
namespace {

constexpr double latency = 4;  // cycles of a multiply-add
constexpr double loads_per_cycle = 2;
constexpr double second_cache_bytes = 24;  // per cycle: where panels of b come from
// What is left of a load beside multiply-adds that hide it. Rows of a are read from as many places, or lie
// side by side.
constexpr double row_cycles = 0.3, packed_row_cycles = 0.05;
constexpr double vector_cycles = 0.1;

/// Cycles for one step along k of one tile.
double cycles(int64_t rows, int64_t vectors, int64_t ports, int64_t vector_bytes, bool packed) {
  const auto r = static_cast<double>(rows), v = static_cast<double>(vectors);
  const double multiply = r * v / static_cast<double>(ports);
  const double load = (r + v) / loads_per_cycle;
  const double stream = v * static_cast<double>(vector_bytes) / second_cache_bytes;
  return std::max({multiply, load, stream, latency}) + (packed ? packed_row_cycles : row_cycles) * r +
         vector_cycles * v;
}

}  // namespace

RegisterTile register_tile(int64_t rows, int64_t columns, const jit::Target& target, bool packed,
                           int64_t highest, int64_t lines) {
  const int64_t lanes = target.lanes(4);
  const int64_t ports = std::max(1, target.fma_ports);
  const int64_t spare = target.vector_registers > 16 ? 3 : 1;
  constexpr int64_t widest = 8;
  RegisterTile best;
  double least = 0;
  for (int64_t vectors = 1; vectors <= widest; ++vectors) {
    if (vectors > 1 && (vectors - 1) * lanes >= columns) break;
    for (int64_t height = 1; height <= std::min({rows, highest, int64_t{target.vector_registers}});
         ++height) {
      if (height * vectors + vectors + spare > target.vector_registers) break;
      const int64_t width = vectors * lanes;
      const auto down = static_cast<double>((rows + height - 1) / height);
      // Every tile costs some cycles besides its steps along k, and the last one of a column more.
      constexpr double start = 0.1, ragged = 1.01;
      const auto step = [&](int64_t wide) {
        return wide == 0 ? 0 : cycles(height, wide, ports, target.vector_bytes, packed) + start;
      };
      // The last tile of a row has vectors only where there are columns.
      const int64_t rest = (columns % width + lanes - 1) / lanes;
      const auto waiting = [&](int64_t wide) {
        return wide == 0
                   ? 0
                   : std::max(0.0, latency - static_cast<double>(height * wide) / static_cast<double>(ports));
      };
      const int64_t together = waiting(rest) > 0 ? std::clamp<int64_t>(lines, 1, vectors / rest) : 1;
      const double across = static_cast<double>(columns / width) * step(vectors) +
                            step(rest * together) / static_cast<double>(together);
      const double cost = down * across * (rows % height == 0 ? 1 : ragged);
      if (least == 0 || cost < least ||
          (cost == least && height * vectors > best.rows * best.columns / lanes)) {
        least = cost;
        best = {height, width, cost, together,
                down * waiting(rest * together) / static_cast<double>(together)};
      }
    }
  }
  return best;
}

}  // namespace axrun::search
