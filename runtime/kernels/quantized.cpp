#include "runtime/kernels/quantized.h"

#include <algorithm>

#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

constexpr int64_t quantized_per_range = 16 * 1024;
constexpr int64_t byte_work_per_range = 500'000;

int32_t zero_point_at(Byte type, const void* zero_points, int64_t i) {
  if (zero_points == nullptr) return 0;
  return type == Byte::u8 ? static_cast<const uint8_t*>(zero_points)[i]
                          : static_cast<const int8_t*>(zero_points)[i];
}

/// Calls row(start, count, channel) for runs of one channel, or columns(start, count) for rows of all
/// channels.
template <class Row, class Columns>
void for_channels(const QuantizationShape& s, ThreadPool& pool, Row row, Columns columns) {
  if (s.outer == 0 || s.channels == 0 || s.inner == 0) return;
  if (s.channels == 1) {
    pool.parallel_for(s.outer * s.inner, quantized_per_range,
                      [&](int64_t begin, int64_t end) { row(begin, end - begin, 0); });
  } else if (s.inner == 1) {
    pool.parallel_for(s.outer, quantized_per_range / s.channels + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) columns(i * s.channels, s.channels);
    });
  } else {
    pool.parallel_for(s.outer * s.channels, quantized_per_range / s.inner + 1,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) row(i * s.inner, s.inner, i % s.channels);
                      });
  }
}

/// Cells of rows and columns; all but the last ones are of one size.
struct ByteGrid {
  int64_t cell_rows, cell_columns, row_cells, column_cells;

  explicit ByteGrid(const QuantizedGemmArguments& g) {
    const double work =
        static_cast<double>(std::max<int64_t>(g.m, 8)) * static_cast<double>(g.n) * static_cast<double>(g.k);
    const auto wanted =
        static_cast<int64_t>(std::clamp(work / static_cast<double>(byte_work_per_range), 1.0, 32.0));
    const int64_t panel = kernel_table().panel_columns;
    const int64_t panels = std::max<int64_t>(1, divide_up(g.n, panel));
    const int64_t columns_wanted = std::clamp<int64_t>(g.m <= 16 ? panels : panels / 4, 1, wanted);
    cell_columns = divide_up(panels, columns_wanted) * panel;
    column_cells = divide_up(panels * panel, cell_columns);
    const int64_t rows_wanted = std::clamp<int64_t>(g.m / 24, 1, divide_up(wanted, column_cells));
    cell_rows = divide_up(std::max<int64_t>(g.m, 1), rows_wanted);
    row_cells = divide_up(std::max<int64_t>(g.m, 1), cell_rows);
  }
};

QuantizedGemmCell make_cell(const QuantizedGemmArguments& g) {
  QuantizedGemmCell cell = {};
  cell.n = g.n;
  cell.k = g.k;
  cell.a_type = g.a_type;
  cell.a = static_cast<const uint8_t*>(g.a);
  cell.a_row_stride = g.a_row_stride;
  cell.a_zero_point = g.a_zero_point;
  cell.packed_b = g.packed_b;
  cell.c = g.c;
  cell.c_row_stride = g.c_row_stride;
  return cell;
}

int64_t worker_bytes(const QuantizedGemmArguments& g) {
  return divide_up(kernel_table().quantized_scratch_bytes(make_cell(g)), 64) * 64;
}

}  // namespace

void quantize(Byte type, const QuantizationShape& s, const float* x, void* y, ThreadPool& pool) {
  const KernelTable& table = kernel_table();
  auto* const out = static_cast<uint8_t*>(y);
  for_channels(
      s, pool,
      [&](int64_t start, int64_t count, int64_t channel) {
        table.quantize_row(type, count, x + start, s.scale[channel],
                           zero_point_at(type, s.zero_point, channel), out + start);
      },
      [&](int64_t start, int64_t count) {
        table.quantize_columns(type, count, x + start, s.scale, s.zero_point, out + start);
      });
}

void dequantize(Byte type, const QuantizationShape& s, const void* x, float* y, ThreadPool& pool) {
  const KernelTable& table = kernel_table();
  const auto* const in = static_cast<const uint8_t*>(x);
  for_channels(
      s, pool,
      [&](int64_t start, int64_t count, int64_t channel) {
        table.dequantize_row(type, count, in + start, s.scale[channel],
                             zero_point_at(type, s.zero_point, channel), y + start);
      },
      [&](int64_t start, int64_t count) {
        table.dequantize_columns(type, count, in + start, s.scale, s.zero_point, y + start);
      });
}

size_t quantized_gemm_packed_b_bytes(int64_t k, int64_t n) {
  return static_cast<size_t>(kernel_table().quantized_packed_bytes(k, n));
}

void quantized_gemm_pack_b(Byte type, int64_t k, int64_t n, const void* b, int64_t row_stride,
                           int64_t column_stride, const int32_t* zero_points, bool per_column, void* packed) {
  kernel_table().quantized_pack_b(type, k, n, b, row_stride, column_stride, zero_points, per_column, packed);
}

size_t quantized_gemm_scratch_bytes(const QuantizedGemmArguments& g, int threads) {
  return static_cast<size_t>(worker_bytes(g) * std::max(threads, 1));
}

void quantized_gemm(const QuantizedGemmArguments& g, void* scratch, ThreadPool& pool) {
  if (g.m == 0 || g.n == 0) return;
  const ByteGrid grid(g);
  const int64_t bytes = worker_bytes(g);
  pool.parallel_for_workers(grid.row_cells * grid.column_cells, 1,
                            [&](int64_t worker, int64_t begin, int64_t end) {
                              for (int64_t i = begin; i < end; ++i) {
                                QuantizedGemmCell cell = make_cell(g);
                                cell.m0 = i / grid.column_cells * grid.cell_rows;
                                cell.m1 = std::min(g.m, cell.m0 + grid.cell_rows);
                                cell.n0 = i % grid.column_cells * grid.cell_columns;
                                cell.n1 = std::min(g.n, cell.n0 + grid.cell_columns);
                                cell.scratch = static_cast<char*>(scratch) + worker * bytes;
                                kernel_table().quantized_cell(cell);
                              }
                            });
}

void quantized_gemm_columns(const QuantizedGemmArguments& g, int64_t first, int64_t last, void* scratch) {
  QuantizedGemmCell cell = make_cell(g);
  cell.m1 = g.m;
  cell.n0 = first;
  cell.n1 = last;
  cell.scratch = scratch;
  kernel_table().quantized_cell(cell);
}

}  // namespace axrun::runtime
