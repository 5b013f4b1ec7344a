#include "runtime/kernels/isa/gemm_tile.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Applies the epilogue to the sums and stores them. Every pass is unrolled: the sums stay in registers.
template <int rows, int vectors>
AXRUN_INLINE void finish_tile(const Tile& t, Vector (&sum)[rows][vectors]) {
  const Mask mask = first_lanes(t.columns - (vectors - 1) * lanes);
  const auto read = [&](const float* p, int v) __attribute__((always_inline)) {
    return v == vectors - 1 ? load(p + v * lanes, mask) : load(p + v * lanes);
  };
  const auto each = [&](auto function) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[i][v] = function(sum[i][v], i, v);
    }
  };
  if (t.scale != 1.0f) {
    const Vector scale = broadcast(t.scale);
    each([&](Vector s, int, int) __attribute__((always_inline)) { return s * scale; });
  }
  if (t.row_factor != nullptr) {
    each([&](Vector s, int i, int) __attribute__((always_inline)) { return s * broadcast(t.row_factor[i]); });
  }
  if (t.column_factor != nullptr) {
    each([&](Vector s, int, int v) __attribute__((always_inline)) { return s * read(t.column_factor, v); });
  }
  if (t.accumulate) {
    each([&](Vector s, int i, int v)
             __attribute__((always_inline)) { return s + read(t.c + i * t.c_row_stride, v); });
  } else {
    if (t.row_bias != nullptr) {
      each([&](Vector s, int i, int) __attribute__((always_inline)) { return s + broadcast(t.row_bias[i]); });
    }
    if (t.column_bias != nullptr) {
      each([&](Vector s, int, int v) __attribute__((always_inline)) { return s + read(t.column_bias, v); });
    }
    if (t.residual != nullptr) {
      const Vector scale = broadcast(t.residual_scale);
      each([&](Vector s, int i, int v) __attribute__((always_inline)) {
        return fused(read(t.residual + i * t.residual_row_stride, v), scale, s);
      });
    }
  }
  if (t.finish) {
    if (t.activation == Activation::relu) {
      each([&](Vector s, int, int) __attribute__((always_inline)) { return maximum(Vector{}, s); });
    } else if (t.activation == Activation::clip) {
      const Vector low = broadcast(t.alpha);
      const Vector high = broadcast(t.beta);
      each([&](Vector s, int, int) __attribute__((always_inline)) { return minimum(high, maximum(low, s)); });
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    float* row = t.c + i * t.c_row_stride;
#pragma GCC unroll 4
    for (int v = 0; v < vectors - 1; ++v) store(row + v * lanes, sum[i][v]);
    store(row + (vectors - 1) * lanes, sum[i][vectors - 1], mask);
  }
  if (t.finish && t.activation > Activation::relu && t.activation != Activation::clip) {
    activate_tile(t.activation, rows, t.columns, t.c, t.c_row_stride, t.alpha, t.beta);
  }
}

/// Forms as they are known when a tile begins.
enum class Left {
  rows,
  columns,
  panel,  ///< columns of as many rows as the tile has
};
enum class Right {
  stride,
  panel,       ///< rows of tile_columns
  near_panel,  ///< in the first cache
  offsets,
};

template <Left left, Right right, int rows, int vectors>
void tile(const Tile& t) {
  // Few sums would wait for each other's latency: then several sets take turns along k.
  constexpr int sets = rows * vectors <= 2 ? 4 : rows * vectors <= 5 ? 2 : 1;
  constexpr int groups = (rows + 2) / 3;
  // Where two threads share a core, whatever is not a multiply-add takes the place of one.
  constexpr int unrolled = 4, steps_of_line = rows <= 8 ? 2 : 1;
  Vector sums[sets][rows][vectors] = {};

  // Row form: three rows per pointer, reached as [p], [p + stride] and [p + 2 * stride]; one register per row
  // would not fit.
  const float* a[groups];
#pragma GCC unroll 8
  for (int g = 0; g < groups; ++g) a[g] = left == Left::rows ? t.a + 3 * g * t.a_stride : t.a;
  const float* a_column = t.a;
  const float* b = t.b;
  const int64_t stride = t.a_stride;

  // Step k + at, where the pointers of panels are at k, the others at the step itself.
  const auto step = [&](int64_t k, int at) __attribute__((always_inline)) {
    const float* b_row = right == Right::offsets  ? t.b + t.b_offsets[k + at]
                         : right == Right::stride ? b
                                                  : b + at * tile_columns;
    const float* a_values = left == Left::panel ? a_column + at * rows : a_column;
    if (right == Right::offsets)
      __builtin_prefetch(t.b + t.b_offsets[k + at + offsets_ahead] + vectors * lanes - 1);
    if (right == Right::stride || right == Right::panel) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors * vector_bytes / 64 || v < 1; ++v)
        __builtin_prefetch(b_row + t.b_ahead + v * 16);
    }
    if (left != Left::rows && rows > 4 && at % steps_of_line == 0) __builtin_prefetch(a_values + t.a_ahead);
    Vector b_values[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) b_values[v] = load(b_row + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vector value = broadcast(left == Left::rows ? a[i / 3][(i % 3) * stride + k + at] : a_values[i]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        Vector& sum = sums[at % sets][i][v];
        sum = fused(value, b_values[v], sum);
      }
    }
    if (right == Right::stride) b += t.b_row_stride;
    if (left == Left::columns) a_column += stride;
  };
  const auto advance = [&](int64_t steps) __attribute__((always_inline)) {
    if (right == Right::panel || right == Right::near_panel) b += steps * tile_columns;
    if (left == Left::panel) a_column += steps * rows;
  };

  int64_t k = 0;
  for (; k + unrolled <= t.k; k += unrolled) {
#pragma GCC unroll 4
    for (int at = 0; at < unrolled; ++at) step(k, at);
    advance(unrolled);
  }
  for (; k < t.k; ++k) {
    step(k, 0);
    advance(1);
  }
#pragma GCC unroll 4
  for (int set = 1; set < sets; ++set) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[0][i][v] += sums[set][i][v];
    }
  }
  finish_tile<rows, vectors>(t, sums[0]);
}

typedef void (*TileFunction)(const Tile&);

/// Functions for 1 to tile_rows rows, by recursion over the row count.
struct TileTable {
  TileFunction functions[tile_rows][tile_vectors];
};

template <Left left, Right right, int rows>
constexpr void fill(TileTable& table) {
  table.functions[rows - 1][0] = tile<left, right, rows, 1>;
  table.functions[rows - 1][1] = tile<left, right, rows, 2>;
  if constexpr (rows > 1) fill<left, right, rows - 1>(table);
}

template <Left left, Right right>
constexpr TileTable make_table() {
  TileTable table = {};
  fill<left, right, tile_rows>(table);
  return table;
}

constexpr TileTable rows_by_stride = make_table<Left::rows, Right::stride>();
constexpr TileTable columns_by_stride = make_table<Left::columns, Right::stride>();
constexpr TileTable columns_by_offsets = make_table<Left::columns, Right::offsets>();
constexpr TileTable panel_by_offsets = make_table<Left::panel, Right::offsets>();
constexpr TileTable panel_by_panel = make_table<Left::panel, Right::panel>();
constexpr TileTable panel_by_near_panel = make_table<Left::panel, Right::near_panel>();

}  // namespace

void run_tile(AForm a_form, BForm b_form, int64_t rows, const Tile& t) {
  const bool panel = a_form == AForm::columns && t.a_stride == rows;
  const TileTable* table = &columns_by_stride;
  if (a_form == AForm::rows)
    table = &rows_by_stride;
  else if (b_form == BForm::offsets)
    table = panel ? &panel_by_offsets : &columns_by_offsets;
  else if (panel && t.b_row_stride == tile_columns)
    table = t.b_ahead == 0 ? &panel_by_near_panel : &panel_by_panel;
  table->functions[rows - 1][t.columns > lanes](t);
}

}  // namespace axrun::runtime::AXRUN_ISA
