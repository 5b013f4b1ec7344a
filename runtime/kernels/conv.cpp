#include "runtime/kernels/conv.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/conv_parts.h"
#include "runtime/kernels/conv_regions.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

constexpr int64_t most_conv_cells = 32;  ///< per image and group
constexpr int64_t few_pixels_limit = 16;
constexpr int64_t most_depthwise_outputs = 4;  ///< per input channel; more are faster as a product

/// Whether implicit_gemm gathers panels: where enough is computed from one. Else tiles read windows where
/// they lie.
bool is_gathered(const ConvShape& s) {
  const int64_t panels = divide_up(group_out_channels(s), kernel_table().panel_rows);
  const int64_t terms = group_channels(s) * taps(s);
  constexpr int64_t least_terms = 64, least_panels = 8, least_of_pointwise = 4;
  return is_pointwise(s) ? panels >= least_of_pointwise && terms > 0
                         : panels >= least_panels && terms >= least_terms;
}

/// Channels whose windows are gathered at a time, so that a panel stays in the first cache.
int64_t channels_at_once(const ConvShape& s) {
  if (!is_gathered(s)) return 0;
  constexpr int64_t panel_floats = 5 * 1024;
  const int64_t terms = panel_floats / kernel_table().panel_columns;
  const int64_t blocks = divide_up(group_channels(s) * taps(s), terms);
  return divide_up(group_channels(s), std::min(blocks, group_channels(s)));
}

/// How implicit_gemm is cut. Depends on the shape alone.
struct ImplicitGrid {
  int64_t rows, row_cells, channels, channel_cells, panel_rows, block_channels;

  explicit ImplicitGrid(const ConvShape& s) {
    const double work = static_cast<double>(out_plane(s)) * static_cast<double>(group_out_channels(s)) *
                        static_cast<double>(group_channels(s) * taps(s));
    const auto wanted = static_cast<int64_t>(
        std::clamp(work / static_cast<double>(conv_work_per_range), 1.0, double{most_conv_cells}));
    const int64_t images = std::max<int64_t>(s.batch * s.groups, 1);
    const int64_t wanted_cells = divide_up(wanted, images);
    panel_rows = gemm_panel_rows(group_out_channels(s), kernel_table().panel_rows);
    block_channels = channels_at_once(s);
    // A strip repeats the rows its neighbour also needs: not fewer than four times those, nor than a few
    // register tiles.
    const int64_t overlap = (s.kernel_height - 1) * s.dilation_height / s.stride_height;
    const int64_t least = std::max(4 * overlap, divide_up(128, s.out_width));
    rows = strip_rows(s, block_channels > 0 ? block_channels : group_channels(s), conv_strip_floats,
                      std::max(least, divide_up(s.out_height, wanted_cells)));
    row_cells = divide_up(s.out_height, rows);
    const int64_t panels = divide_up(group_out_channels(s), panel_rows);
    const int64_t wanted_channel_cells =
        std::clamp<int64_t>(panels / 4, 1, std::max<int64_t>(1, wanted_cells / row_cells));
    channels = divide_up(panels, wanted_channel_cells) * panel_rows;
    channel_cells = divide_up(group_out_channels(s), channels);
  }
};

/// Whether implicit_gemm goes region by region: where the padding costs more to copy and to multiply than
/// regions cost to gather. Costs are those of an input channel, in multiply-adds.
bool is_cut_in_regions(const ConvShape& s, const ImplicitGrid& grid) {
  if (!ConvRegions::can(s) || group_channels(s) == 0) return false;
  // For each that is multiplied; where lanes are picked, and where they are read one by one.
  const double gathered = s.stride_width == 1 ? 4 : s.stride_width == 2 ? 12 : 32;
  constexpr double finished = 4;  // for each sum, apart from the product
  // For each in a strip; where strips fill the second cache.
  constexpr double copied = 8, copied_to_third = 32;
  const auto channels = static_cast<double>(std::max<int64_t>(group_out_channels(s), 8));
  const int64_t strip = strip_of_rows(s, grid.rows);
  const int64_t in_channels = grid.block_channels > 0 ? grid.block_channels : group_channels(s);
  const double strips = static_cast<double>(out_plane(s) * taps(s)) * channels +
                        static_cast<double>(grid.row_cells * strip) *
                            (strip * in_channels > 2 * conv_strip_floats ? copied_to_third : copied);
  const double regions =
      static_cast<double>(conv_regions_cost(s)) * (channels + gathered) +
      static_cast<double>(out_plane(s)) * channels * finished / static_cast<double>(group_channels(s));
  return regions < strips;
}

ConvCell implicit_cell(const ConvShape& s, const ImplicitGrid& grid) {
  ConvCell cell = empty_cell(s);
  cell.block_channels = grid.block_channels;
  cell.row1 = grid.rows;
  cell.channel1 = grid.channels;
  return cell;
}

void run_implicit_gemm(const ConvShape& s, const float* packed, const float* x, float* y,
                       const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  const ImplicitGrid grid(s);
  if (is_cut_in_regions(s, grid)) return conv_by_regions(s, packed, x, y, epilogue, scratch, pool);
  const KernelTable& table = kernel_table();
  const int64_t floats = round_up_to_line(table.conv_scratch_floats(implicit_cell(s, grid)));
  const int64_t cells = s.batch * s.groups * grid.row_cells * grid.channel_cells;
  const double cell_work = static_cast<double>(grid.rows * s.out_width) * static_cast<double>(grid.channels) *
                           static_cast<double>(group_channels(s) * taps(s));
  const auto grain =
      static_cast<int64_t>(static_cast<double>(conv_work_per_range) / std::max(cell_work, 1.0)) + 1;
  pool.parallel_for_workers(cells, std::min(grain, cells), [&](int64_t worker, int64_t begin, int64_t end) {
    // Cells of the same rows read the same strip: as many as there are here are one.
    for (int64_t i = begin, together; i < end; i += together) {
      int64_t rest = i;
      const int64_t channel_cell = rest % grid.channel_cells;
      together = std::min(grid.channel_cells - channel_cell, end - i);
      rest /= grid.channel_cells;
      const int64_t row_cell = rest % grid.row_cells;
      rest /= grid.row_cells;
      const int64_t group = rest % s.groups;
      const int64_t image = rest / s.groups;
      ConvCell cell = implicit_cell(s, grid);
      cell.row0 = row_cell * grid.rows;
      cell.row1 = std::min(s.out_height, cell.row0 + grid.rows);
      cell.channel0 = channel_cell * grid.channels;
      cell.channel1 = std::min(cell.out_channels, cell.channel0 + together * grid.channels);
      place(s, packed, x, y, epilogue, image, group, cell);
      cell.scratch = scratch + worker * floats;
      table.conv_cell(cell);
    }
  });
}

/// The product of one image and group.
GemmArguments pointwise_product(const ConvShape& s) {
  GemmArguments g;
  g.m = group_out_channels(s);
  g.n = out_plane(s);
  g.k = group_channels(s);
  g.b_row_stride = g.c_row_stride = out_plane(s);
  if (s.groups == 1) {
    g.batch_rank = 1;
    g.batch_extents[0] = s.batch;
    g.b_batch_strides[0] = s.in_channels * in_plane(s);
    g.c_batch_strides[0] = g.residual_batch_strides[0] = s.out_channels * out_plane(s);
  }
  static const float placeholder = 0;
  g.packed_a = &placeholder;
  return g;
}

void run_pointwise(const ConvShape& s, const float* packed, const float* x, float* y,
                   const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  GemmArguments g = pointwise_product(s);
  g.epilogue = epilogue;
  g.epilogue.residual_row_stride = out_plane(s);
  if (s.groups == 1) {
    g.packed_a = packed;
    g.b = x;
    g.c = y;
    return gemm(g, scratch, pool);
  }
  const auto packed_floats = static_cast<int64_t>(gemm_packed_a_bytes(g.m, g.k) / sizeof(float));
  for (int64_t i = 0; i < s.batch * s.groups; ++i) {
    const int64_t group = i % s.groups;
    g.packed_a = packed + group * packed_floats;
    g.b = x + i * g.k * in_plane(s);
    g.c = y + i * g.m * out_plane(s);
    if (epilogue.row_factor != nullptr) g.epilogue.row_factor = epilogue.row_factor + group * g.m;
    if (epilogue.row_bias != nullptr) g.epilogue.row_bias = epilogue.row_bias + group * g.m;
    if (epilogue.residual != nullptr) g.epilogue.residual = epilogue.residual + i * g.m * out_plane(s);
    gemm(g, scratch, pool);
  }
}

}  // namespace

ConvMethod choose_conv_method(const ConvShape& s) {
  if (s.groups > 1 && s.groups == s.in_channels && group_out_channels(s) <= most_depthwise_outputs) {
    return ConvMethod::depthwise;
  }
  if (s.groups == 1 && out_plane(s) <= few_pixels_limit && s.out_channels > 1) return ConvMethod::few_pixels;
  return is_pointwise(s) && !is_gathered(s) ? ConvMethod::pointwise : ConvMethod::implicit_gemm;
}

bool conv_method_fits(ConvMethod method, const ConvShape& s) {
  switch (method) {
    case ConvMethod::pointwise:
      return is_pointwise(s);
    case ConvMethod::implicit_gemm:
      return true;
    case ConvMethod::depthwise:
      return s.groups == s.in_channels;
    case ConvMethod::few_pixels:
      return s.groups == 1;
  }
  return false;
}

size_t conv_packed_bytes(ConvMethod method, const ConvShape& s) {
  const int64_t k = group_channels(s) * taps(s);
  switch (method) {
    case ConvMethod::depthwise:
      return static_cast<size_t>(s.out_channels * k) * sizeof(float);
    case ConvMethod::few_pixels:
      return gemm_packed_b_bytes(k, s.out_channels);
    case ConvMethod::pointwise:
    case ConvMethod::implicit_gemm:
      break;
  }
  return static_cast<size_t>(s.groups) * gemm_packed_a_bytes(group_out_channels(s), k);
}

void conv_pack(ConvMethod method, const ConvShape& s, const float* weights, float* packed) {
  const int64_t k = group_channels(s) * taps(s);
  switch (method) {
    case ConvMethod::depthwise:
      if (s.out_channels * k > 0) std::memcpy(packed, weights, conv_packed_bytes(method, s));
      return;
    case ConvMethod::few_pixels:
      return gemm_pack_b(k, s.out_channels, weights, 1, k, packed);
    case ConvMethod::pointwise:
    case ConvMethod::implicit_gemm:
      break;
  }
  const int64_t rows = group_out_channels(s);
  const auto floats = static_cast<int64_t>(gemm_packed_a_bytes(rows, k) / sizeof(float));
  for (int64_t group = 0; group < s.groups; ++group) {
    gemm_pack_a(rows, k, weights + group * rows * k, k, 1, packed + group * floats);
  }
}

size_t conv_scratch_bytes(ConvMethod method, const ConvShape& s, int threads) {
  if (is_empty(s)) return 0;
  const int64_t workers = std::max(threads, 1);
  const KernelTable& table = kernel_table();
  switch (method) {
    case ConvMethod::pointwise:
      return gemm_scratch_bytes(pointwise_product(s), threads);
    case ConvMethod::implicit_gemm: {
      const ImplicitGrid grid(s);
      if (is_cut_in_regions(s, grid)) return conv_regions_scratch_bytes(s, threads);
      const int64_t floats = round_up_to_line(table.conv_scratch_floats(implicit_cell(s, grid)));
      const int64_t cells = s.batch * s.groups * grid.row_cells * grid.channel_cells;
      return static_cast<size_t>(floats * std::min(workers, cells)) * sizeof(float);
    }
    case ConvMethod::depthwise:
      return depthwise_scratch_bytes(s, threads);
    case ConvMethod::few_pixels:
      return few_pixels_scratch_bytes(s, threads);
  }
  return 0;
}

void conv2d(ConvMethod method, const ConvShape& s, const float* packed, const float* x, float* y,
            const Epilogue& epilogue, void* scratch, ThreadPool& pool) {
  if (is_empty(s)) return;
  auto* const floats = static_cast<float*>(scratch);
  switch (method) {
    case ConvMethod::pointwise:
      return run_pointwise(s, packed, x, y, epilogue, floats, pool);
    case ConvMethod::implicit_gemm:
      return run_implicit_gemm(s, packed, x, y, epilogue, floats, pool);
    case ConvMethod::depthwise:
      return run_depthwise(s, packed, x, y, epilogue, floats, pool);
    case ConvMethod::few_pixels:
      return run_few_pixels(s, packed, x, y, epilogue, floats, pool);
  }
}

}  // namespace axrun::runtime
