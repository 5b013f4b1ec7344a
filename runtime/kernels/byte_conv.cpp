#include "runtime/kernels/byte_conv.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/conv_parts.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

constexpr double byte_conv_work_per_range = 1'000'000;  ///< multiply-adds, some microseconds
constexpr int64_t strip_words = 64 * 1024;              ///< stay in the second cache
constexpr int64_t depthwise_strip_words = 6 * 1024;     ///< stay in the first
constexpr int64_t cells_per_thread = 4;

/// One window per place, no padding: all of a plane is one row, which can be cut anywhere.
bool is_flat(const ConvShape& s) {
  return taps(s) == 1 && s.stride_height == 1 && s.stride_width == 1 && s.pad_top == 0 && s.pad_left == 0 &&
         s.in_height == s.out_height && s.in_width == s.out_width;
}

/// How a convolution is cut. One thread takes everything of an image as a cell.
struct ByteConvGrid {
  ConvGeometry geometry;
  int64_t groups, group_cells;
  int64_t rows, row_cells, strip_rows;
  int64_t columns, column_cells;  ///< of flat ones
  int64_t channels, channel_cells;

  ByteConvGrid(const ConvShape& s, int threads) : geometry(runtime::geometry(s)) {
    const KernelTable& table = kernel_table();
    const int64_t in = group_channels(s), out = group_out_channels(s);
    const double work = static_cast<double>(s.batch * s.out_channels) * static_cast<double>(out_plane(s)) *
                        static_cast<double>(in * taps(s));
    const auto wanted =
        threads <= 1 ? int64_t{1}
                     : static_cast<int64_t>(std::clamp(work / byte_conv_work_per_range, 1.0,
                                                       static_cast<double>(cells_per_thread * threads)));
    int64_t more = divide_up(wanted, std::max<int64_t>(s.batch, 1));
    groups = divide_up(s.groups, std::min(s.groups, more));
    group_cells = divide_up(s.groups, groups);
    more = divide_up(more, group_cells);
    columns = geometry.out_width, column_cells = 1;
    if (is_flat(s)) {
      const int64_t plane = out_plane(s);
      geometry.in_height = geometry.out_height = 1;
      constexpr int64_t least = 512;
      const int64_t fitting = std::max(
          least, strip_words / std::max<int64_t>(table.byte_conv_strip_words(one_column(), in, 1), 1));
      columns = std::min(plane, std::min(fitting, std::max(least, divide_up(plane, more))));
      columns = std::min(plane, divide_up(divide_up(plane, divide_up(plane, columns)), 128) * 128);
      column_cells = divide_up(plane, columns);
      geometry.in_width = geometry.out_width = columns;
      rows = row_cells = strip_rows = 1;
    } else {
      const int64_t height = geometry.out_height;
      const int64_t one = table.byte_conv_strip_words(geometry, in, 1);
      const int64_t each = std::max<int64_t>(1, table.byte_conv_strip_words(geometry, in, 2) - one);
      const int64_t fitting =
          std::clamp<int64_t>(((in == 1 ? depthwise_strip_words : strip_words) - one) / each + 1, 1, height);
      const int64_t overlap = (s.kernel_height - 1) * s.dilation_height / s.stride_height;
      rows = std::min(height, std::max<int64_t>(divide_up(height, more), 2 * overlap));
      row_cells = divide_up(height, rows);
      rows = divide_up(height, row_cells);
      strip_rows = divide_up(rows, divide_up(rows, std::min(rows, fitting)));
    }
    more = divide_up(more, row_cells * column_cells);
    const int64_t panel = gemm_panel_rows(out, table.byte_conv_rows), panels = divide_up(out, panel);
    channels =
        groups > 1 ? panels * panel : divide_up(panels, std::clamp<int64_t>(panels / 4, 1, more)) * panel;
    channel_cells = divide_up(out, channels);
  }

  int64_t cells(const ConvShape& s) const {
    return s.batch * group_cells * row_cells * column_cells * channel_cells;
  }

 private:
  ConvGeometry one_column() const {
    ConvGeometry g = geometry;
    g.in_width = g.out_width = 1;
    return g;
  }
};

ByteConvCell empty_cell(const ConvShape& s, const ByteConvGrid& grid) {
  ByteConvCell cell = {};
  cell.geometry = grid.geometry;
  cell.in_plane = in_plane(s);
  cell.out_plane = out_plane(s);
  cell.channels = group_channels(s);
  cell.out_channels = group_out_channels(s);
  cell.strip_rows = grid.strip_rows;
  return cell;
}

int64_t worker_bytes(const ConvShape& s, const ByteConvGrid& grid) {
  return kernel_table().byte_conv_scratch_bytes(empty_cell(s, grid));
}

int64_t group_words(const ConvShape& s) {
  return kernel_table().byte_conv_packed_words(geometry(s), group_channels(s), group_out_channels(s));
}

/// Cell number `i`.
ByteConvCell cell_at(const ConvShape& s, const ByteConvArguments& a, const ByteConvGrid& grid, int64_t i) {
  const auto next = [&](int64_t count) {
    const int64_t at = i % count;
    i /= count;
    return at;
  };
  ByteConvCell cell = empty_cell(s, grid);
  cell.channel0 = next(grid.channel_cells) * grid.channels;
  cell.channel1 = std::min(cell.out_channels, cell.channel0 + grid.channels);
  const int64_t column = next(grid.column_cells) * grid.columns;
  cell.geometry.out_width =
      std::min(grid.columns, grid.column_cells > 1 ? cell.out_plane - column : grid.columns);
  if (grid.column_cells > 1) cell.geometry.in_width = cell.geometry.out_width;
  cell.row0 = next(grid.row_cells) * grid.rows;
  cell.row1 = std::min(grid.geometry.out_height, cell.row0 + grid.rows);
  const int64_t group = next(grid.group_cells) * grid.groups;
  cell.groups = std::min(grid.groups, s.groups - group);
  const int64_t in_channel = i * s.in_channels + group * cell.channels;
  const int64_t of_image = group * cell.out_channels, out_channel = i * s.out_channels + of_image;
  cell.x_type = a.x_type;
  cell.x_zero_point = a.x_zero_point;
  const auto* const x = static_cast<const uint8_t*>(a.x);
  cell.x = x + in_channel * cell.in_plane + column;
  cell.x_end = x + s.batch * s.in_channels * cell.in_plane;
  cell.packed = static_cast<const uint32_t*>(a.packed) + group * group_words(s);
  if (a.bias != nullptr) cell.bias = a.bias + of_image;
  if (a.sums != nullptr) {
    cell.sums = a.sums + out_channel * cell.out_plane + column;
    return cell;
  }
  cell.multiplier_stride = a.per_channel ? 1 : 0;
  cell.multipliers = a.multipliers + of_image * cell.multiplier_stride;
  if (a.addends != nullptr) cell.addends = a.addends + of_image;
  cell.low = a.low;
  cell.high = a.high;
  const int64_t at = out_channel * cell.out_plane + column;
  if (a.floats != nullptr) {
    cell.floats = a.floats + at;
    return cell;
  }
  // Rounding keeps order: bounds may as well be rounded and moved first.
  const auto zero = static_cast<float>(a.y_zero_point);
  const float least = a.y_type == Byte::u8 ? 0.0f : -128.0f;
  cell.low = std::max(least, std::nearbyint(a.low) + zero);
  cell.high = std::min(least + 255.0f, std::nearbyint(a.high) + zero);
  cell.y_zero_point = a.y_zero_point;
  cell.y = static_cast<uint8_t*>(a.y) + at;
  return cell;
}

}  // namespace

size_t byte_conv_packed_bytes(const ConvShape& s) {
  return static_cast<size_t>(s.groups * group_words(s)) * 4;
}

void byte_conv_pack(const ConvShape& s, Byte type, const void* weights, const int32_t* zero_points,
                    void* packed) {
  const int64_t out = group_out_channels(s), depth = group_channels(s) * taps(s);
  for (int64_t g = 0; g < s.groups; ++g) {
    kernel_table().byte_conv_pack(geometry(s), group_channels(s), out, type,
                                  static_cast<const uint8_t*>(weights) + g * out * depth,
                                  zero_points == nullptr ? nullptr : zero_points + g * out,
                                  static_cast<uint32_t*>(packed) + g * group_words(s));
  }
}

size_t byte_conv_scratch_bytes(const ConvShape& s, int threads) {
  if (is_empty(s)) return 0;
  const ByteConvGrid grid(s, threads);
  return static_cast<size_t>(worker_bytes(s, grid) * std::min<int64_t>(std::max(threads, 1), grid.cells(s)));
}

void byte_conv(const ConvShape& s, const ByteConvArguments& a, int threads, void* scratch, ThreadPool& pool) {
  if (is_empty(s)) return;
  const ByteConvGrid grid(s, threads);
  const int64_t bytes = worker_bytes(s, grid);
  pool.parallel_for_workers(grid.cells(s), 1, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ByteConvCell cell = cell_at(s, a, grid, i);
      cell.scratch = static_cast<char*>(scratch) + worker * bytes;
      kernel_table().byte_conv_cell(cell);
    }
  });
}

}  // namespace axrun::runtime
