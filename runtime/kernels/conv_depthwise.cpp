// Depthwise convolutions: which of three ways is faster, and how each is cut.
#include <algorithm>

#include "runtime/kernels/conv_parts.h"
#include "runtime/kernels/conv_regions.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

constexpr int64_t depthwise_strip_floats = 4 * 1024;  ///< stay in the first cache level

int64_t depthwise_rows(const ConvShape& s) { return strip_rows(s, 1, depthwise_strip_floats, s.out_height); }

int64_t lanes() { return kernel_table().panel_columns / 2; }

/// Cycles that a channel takes as strips, with AVX-512: those of a vector, of what follows its row, and of
/// the channel.
double depthwise_strips_cost(const ConvShape& s) {
  constexpr double of_vector = 14, of_tap = 1.3, of_row = 12, of_channel = 100;
  const bool by_rows = s.out_width >= 6 * lanes();  // others compute what lies between rows, too
  const int64_t between =
      by_rows ? 0 : (s.kernel_width - 1) * s.dilation_width / std::max<int64_t>(s.stride_width, 1);
  const int64_t vectors = by_rows ? s.out_height * divide_up(s.out_width, lanes())
                                  : divide_up(s.out_height * (s.out_width + between), lanes());
  return static_cast<double>(vectors) * (of_vector + of_tap * static_cast<double>(taps(s))) +
         of_row * static_cast<double>(s.out_height) + of_channel;
}

/// The same with channels in lanes: those of a vector that is summed and turned back, and of one of the
/// padded input that is turned.
double depthwise_lanes_cost(const ConvShape& s) {
  constexpr double of_vector = 15, of_tap = 0.6, of_input = 12;
  const double all = static_cast<double>(out_plane(s)) * (of_vector + of_tap * static_cast<double>(taps(s))) +
                     static_cast<double>(strip_of_rows(s, s.out_height)) * of_input;
  return all * static_cast<double>(divide_up(s.in_channels, lanes())) / static_cast<double>(s.in_channels);
}

/// Whether channels are lanes: most of a vector is of use then, and windows or rows are such that turning
/// planes pays.
bool has_channels_in_lanes(const ConvShape& s) {
  return group_out_channels(s) == 1 && 2 * s.in_channels > lanes() &&
         depthwise_lanes_cost(s) < depthwise_strips_cost(s);
}

/// Output rows of a cell with channels in lanes: their strip stays in the second cache, and they are worth a
/// range.
int64_t depthwise_lanes_rows(const ConvShape& s) {
  constexpr int64_t strip_floats = 48 * 1024;
  const int64_t width = (s.out_width - 1) * s.stride_width + (s.kernel_width - 1) * s.dilation_width + 1;
  const int64_t reach = (s.kernel_height - 1) * s.dilation_height + 1;
  const int64_t fitting = (strip_floats / (width * lanes()) - reach) / s.stride_height + 1;
  const int64_t row_work = 3 * s.out_width * lanes() * (taps(s) + 20);
  // A strip repeats the rows its neighbour also needs.
  const int64_t least = std::max(4 * reach / s.stride_height, divide_up(2 * conv_work_per_range, row_work));
  const int64_t rows = std::clamp<int64_t>(std::min(fitting, least), 1, s.out_height);
  return divide_up(s.out_height, divide_up(s.out_height, rows));
}

/// Whether it goes region by region (see conv.cpp). Costs are those of a channel, in multiply-adds of
/// vectors.
bool is_depthwise_cut_in_regions(const ConvShape& s) {
  if (!ConvRegions::can(s)) return false;
  constexpr int64_t of_vector = 3, copied = 2;
  const int64_t rows = depthwise_rows(s);
  const int64_t row_cells = divide_up(s.out_height, rows), strip = strip_of_rows(s, rows);
  const bool by_rows = s.out_width >= 6 * lanes();  // others compute what lies between rows, too
  const int64_t width =
      s.out_width + (by_rows ? 0 : (s.kernel_width - 1) * s.dilation_width / s.stride_width);
  const int64_t strips = divide_up(s.out_height * width, lanes()) * (taps(s) + of_vector) +
                         row_cells * divide_up(strip, lanes()) * copied;
  const double worth_it = s.stride_width == 1 ? 1.1 : 1.4;
  return static_cast<double>(depthwise_regions_cost(s)) * worth_it < static_cast<double>(strips);
}

void run_depthwise_lanes(const ConvShape& s, const float* weights, const float* x, float* y,
                         const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  const KernelTable& table = kernel_table();
  const int64_t rows = depthwise_lanes_rows(s), row_cells = divide_up(s.out_height, rows);
  const int64_t floats = round_up_to_line(table.depthwise_lanes_scratch_floats(depthwise_cell(s, rows)));
  const int64_t channel_cells = divide_up(s.in_channels, lanes());
  const int64_t cell_work = 3 * rows * s.out_width * lanes() * (taps(s) + 20);
  const int64_t cells = s.batch * channel_cells * row_cells;
  const int64_t grain = std::min(cells, conv_work_per_range / std::max<int64_t>(cell_work, 1) + 1);
  pool.parallel_for_workers(cells, grain, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row_cell = i % row_cells;
      const int64_t channel = i / row_cells % channel_cells * lanes();
      const int64_t image = i / row_cells / channel_cells;
      DepthwiseCell cell = depthwise_cell(s, 0);
      cell.channels = std::min(lanes(), s.in_channels - channel);
      cell.row0 = row_cell * rows;
      cell.row1 = std::min(s.out_height, cell.row0 + rows);
      place(s, weights, x, y, epilogue, image, channel, cell);
      cell.scratch = scratch + worker * floats;
      table.depthwise_lanes_cell(cell);
    }
  });
}

}  // namespace

void run_depthwise(const ConvShape& s, const float* weights, const float* x, float* y,
                   const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  if (is_depthwise_cut_in_regions(s)) {
    return depthwise_by_regions(s, weights, x, y, epilogue, scratch, pool);
  }
  if (has_channels_in_lanes(s)) return run_depthwise_lanes(s, weights, x, y, epilogue, scratch, pool);
  const KernelTable& table = kernel_table();
  const int64_t rows = depthwise_rows(s);
  const int64_t row_cells = divide_up(s.out_height, rows);
  const int64_t floats = round_up_to_line(table.depthwise_scratch_floats(depthwise_cell(s, rows)));
  // A multiply-add costs several times as much here as in a product: each loads its operand.
  const double row_work =
      6.0 * static_cast<double>(s.out_width) * static_cast<double>(group_out_channels(s) * (taps(s) + 3));
  const auto fitting = static_cast<int64_t>(static_cast<double>(conv_work_per_range) /
                                            std::max(row_work * static_cast<double>(rows), 1.0));
  const int64_t channels = std::clamp<int64_t>(fitting, 1, s.in_channels);
  const int64_t channel_cells = divide_up(s.in_channels, channels);
  const int64_t cells = s.batch * channel_cells * row_cells;
  pool.parallel_for_workers(cells, 1, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row_cell = i % row_cells;
      const int64_t channel = i / row_cells % channel_cells * channels;
      const int64_t image = i / row_cells / channel_cells;
      DepthwiseCell cell = depthwise_cell(s, 0);
      cell.channels = std::min(channels, s.in_channels - channel);
      cell.row0 = row_cell * rows;
      cell.row1 = std::min(s.out_height, cell.row0 + rows);
      place(s, weights, x, y, epilogue, image, channel, cell);
      cell.scratch = scratch + worker * floats;
      table.depthwise_cell(cell);
    }
  });
}

size_t depthwise_scratch_bytes(const ConvShape& s, int threads) {
  if (is_depthwise_cut_in_regions(s)) return depthwise_regions_scratch_bytes(s, threads);
  const KernelTable& table = kernel_table();
  const int64_t floats =
      has_channels_in_lanes(s)
          ? table.depthwise_lanes_scratch_floats(depthwise_cell(s, depthwise_lanes_rows(s)))
          : table.depthwise_scratch_floats(depthwise_cell(s, depthwise_rows(s)));
  return static_cast<size_t>(round_up_to_line(floats) * std::max(threads, 1)) * sizeof(float);
}

}  // namespace axrun::runtime
