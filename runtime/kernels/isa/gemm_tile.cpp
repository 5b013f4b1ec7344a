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
    for (int i = 0; i < rows; ++i) {
      float* row = t.c + i * t.c_row_stride;
      activate(t.activation, t.columns, row, row, t.alpha, t.beta);
    }
  }
}

template <AForm a_form, BForm b_form, int rows, int vectors>
void tile(const Tile& t) {
  // Few sums would wait for each other's latency: then several sets take turns along k.
  constexpr int sets = rows * vectors <= 2 ? 4 : rows * vectors <= 5 ? 2 : 1;
  constexpr int groups = (rows + 2) / 3;
  Vector sums[sets][rows][vectors] = {};

  // Row form: three rows per pointer, reached as [p], [p + stride] and [p + 2 * stride]; one register per row
  // would not fit.
  const float* a[groups];
#pragma GCC unroll 8
  for (int g = 0; g < groups; ++g) a[g] = a_form == AForm::rows ? t.a + 3 * g * t.a_stride : t.a;
  const float* a_column = t.a;
  const float* b = t.b;
  const int64_t stride = t.a_stride;

  const auto step = [&](int set, int64_t k) __attribute__((always_inline)) {
    const float* b_row = b_form == BForm::offsets ? t.b + t.b_offsets[k] : b;
    if (b_form == BForm::offsets)
      __builtin_prefetch(t.b + t.b_offsets[k + offsets_ahead] + vectors * lanes - 1);
    if (b_form == BForm::stride) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors * vector_bytes / 64 || v < 1; ++v)
        __builtin_prefetch(b + t.b_ahead + v * 16);
    }
    if (a_form == AForm::columns && rows > 4) __builtin_prefetch(a_column + t.a_ahead);
    Vector b_values[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) b_values[v] = load(b_row + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vector value = broadcast(a_form == AForm::rows ? a[i / 3][(i % 3) * stride + k] : a_column[i]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[set][i][v] = fused(value, b_values[v], sums[set][i][v]);
    }
    if (b_form == BForm::stride) b += t.b_row_stride;
    if (a_form == AForm::columns) a_column += stride;
  };

  int64_t k = 0;
  if constexpr (sets > 1) {
    for (; k + sets <= t.k; k += sets) {
#pragma GCC unroll 4
      for (int set = 0; set < sets; ++set) step(set, k + set);
    }
  }
  for (; k < t.k; ++k) step(0, k);
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

template <AForm a_form, BForm b_form, int rows>
constexpr void fill(TileTable& table) {
  table.functions[rows - 1][0] = tile<a_form, b_form, rows, 1>;
  table.functions[rows - 1][1] = tile<a_form, b_form, rows, 2>;
  if constexpr (rows > 1) fill<a_form, b_form, rows - 1>(table);
}

template <AForm a_form, BForm b_form>
constexpr TileTable make_table() {
  TileTable table = {};
  fill<a_form, b_form, tile_rows>(table);
  return table;
}

constexpr TileTable columns_by_stride = make_table<AForm::columns, BForm::stride>();
constexpr TileTable rows_by_stride = make_table<AForm::rows, BForm::stride>();
constexpr TileTable columns_by_offsets = make_table<AForm::columns, BForm::offsets>();

}  // namespace

void run_tile(AForm a_form, BForm b_form, int64_t rows, const Tile& t) {
  const TileTable& table = b_form == BForm::offsets ? columns_by_offsets
                           : a_form == AForm::rows  ? rows_by_stride
                                                    : columns_by_stride;
  table.functions[rows - 1][t.columns > lanes](t);
}

}  // namespace axrun::runtime::AXRUN_ISA
