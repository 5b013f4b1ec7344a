#include "runtime/kernels/conv.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/conv_parts.h"
#include "runtime/kernels/conv_regions.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

constexpr int64_t most_conv_cells = 32;               ///< per image and group
constexpr int64_t depthwise_strip_floats = 4 * 1024;  ///< stay in the first cache level
constexpr int64_t few_pixels_limit = 16;
constexpr int64_t most_depthwise_outputs = 4;  ///< per input channel; more are faster as a product

bool is_pointwise(const ConvShape& s) {
  return taps(s) == 1 && s.stride_height == 1 && s.stride_width == 1 && s.pad_top == 0 && s.pad_left == 0 &&
         s.in_height == s.out_height && s.in_width == s.out_width;
}

/// Output rows per strip of at most `floats` floats, evened out over the image, and no more than `wanted`.
int64_t strip_rows(const ConvShape& s, int64_t channels, int64_t floats, int64_t wanted) {
  const int64_t reach_height = (s.kernel_height - 1) * s.dilation_height;
  const int64_t reach_width = (s.kernel_width - 1) * s.dilation_width;
  const double row = static_cast<double>(channels) *
                     static_cast<double>(std::min(s.stride_height, reach_height + 1)) *
                     static_cast<double>(std::min(s.stride_width, reach_width + 1)) *
                     static_cast<double>(s.out_width + reach_width / s.stride_width);
  const auto fitting =
      static_cast<int64_t>(static_cast<double>(floats) / std::max(row, 1.0)) - reach_height / s.stride_height;
  const int64_t rows = std::clamp<int64_t>(std::min(fitting, wanted), 1, s.out_height);
  return divide_up(s.out_height, divide_up(s.out_height, rows));
}

int64_t depthwise_rows(const ConvShape& s) { return strip_rows(s, 1, depthwise_strip_floats, s.out_height); }

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

/// Padded input that a strip of so many output rows has of a channel.
int64_t strip_of_rows(const ConvShape& s, int64_t rows) {
  return (rows * s.stride_height + (s.kernel_height - 1) * s.dilation_height) *
         (s.out_width * s.stride_width + (s.kernel_width - 1) * s.dilation_width);
}

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

/// The same for depthwise. Costs are those of a channel, in multiply-adds of vectors.
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

/// few_pixels: images that are one product, so that weights are read for several register tiles.
int64_t images_at_once(const ConvShape& s) {
  constexpr int64_t rows = 56;
  return std::clamp<int64_t>(rows / std::max<int64_t>(out_plane(s), 1), 1, std::max<int64_t>(s.batch, 1));
}

/// few_pixels: result[image][pixel][channel] = windows[tap][image][pixel]^T * W^T.
GemmArguments pixel_product(const ConvShape& s, int64_t images) {
  GemmArguments g;
  g.m = images * out_plane(s);
  g.n = s.out_channels;
  g.k = s.in_channels * taps(s);
  const bool as_it_lies = is_pointwise(s) && out_plane(s) == 1;
  g.a_row_stride = as_it_lies ? g.k : 1;
  g.a_column_stride = as_it_lies ? 1 : g.m;
  g.c_row_stride = g.n;
  static const float placeholder = 0;
  g.packed_b = &placeholder;
  return g;
}

/// One image's, `stride` apart from tap to tap.
void gather_windows(const ConvShape& s, const float* x, int64_t stride, float* windows) {
  for (int64_t channel = 0; channel < s.in_channels; ++channel, x += in_plane(s)) {
    for (int64_t h = 0; h < s.kernel_height; ++h) {
      for (int64_t w = 0; w < s.kernel_width; ++w, windows += stride) {
        // Output columns [first, last) read inside the input.
        const int64_t shift = w * s.dilation_width - s.pad_left;
        const int64_t first = shift >= 0 ? 0 : std::min(s.out_width, divide_up(-shift, s.stride_width));
        const int64_t room = s.in_width - shift;
        const int64_t last =
            room <= 0 ? first : std::clamp(divide_up(room, s.stride_width), first, s.out_width);
        float* to = windows;
        for (int64_t i = 0; i < s.out_height; ++i, to += s.out_width) {
          const int64_t row = i * s.stride_height + h * s.dilation_height - s.pad_top;
          if (row < 0 || row >= s.in_height) {
            std::fill_n(to, s.out_width, 0.0f);
            continue;
          }
          const float* from = x + row * s.in_width + shift;
          for (int64_t j = 0; j < first; ++j) to[j] = 0.0f;
          for (int64_t j = first; j < last; ++j) to[j] = from[j * s.stride_width];
          for (int64_t j = last; j < s.out_width; ++j) to[j] = 0.0f;
        }
      }
    }
  }
}

/// Points the product to the windows of images, which are copied unless they lie as they are read.
void set_windows(const ConvShape& s, const float* x, int64_t images, float* windows, GemmArguments& g) {
  if (is_pointwise(s) && (images == 1 || out_plane(s) == 1)) {
    g.a = x;
    return;
  }
  for (int64_t image = 0; image < images; ++image)
    gather_windows(s, x + image * s.in_channels * in_plane(s), g.m, windows + image * out_plane(s));
  g.a = windows;
}

/// The results of an image as planes, with what has not been done of the epilogue.
void turn_pixels(const ConvShape& s, const float* result, const float* residual, const Epilogue& epilogue,
                 float* output) {
  const int64_t pixels = out_plane(s), count = s.out_channels * pixels;
  if (residual == nullptr) {
    kernel_table().transpose_block(sizeof(float), s.out_channels, pixels, result, s.out_channels, output,
                                   pixels);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    output[i] = result[i / pixels + i % pixels * s.out_channels] + epilogue.residual_scale * residual[i];
  }
  kernel_table().activate(epilogue.activation, count, output, output, epilogue.alpha, epilogue.beta);
}

size_t few_pixels_scratch_bytes(const ConvShape& s, int threads) {
  const int64_t images = images_at_once(s), rest = s.batch % images;
  const GemmArguments g = pixel_product(s, images);
  size_t of_gemm = gemm_scratch_bytes(g, threads);
  if (rest > 0) of_gemm = std::max(of_gemm, gemm_scratch_bytes(pixel_product(s, rest), threads));
  return static_cast<size_t>(round_up_to_line(g.k * g.m) + round_up_to_line(g.m * g.n)) * sizeof(float) +
         of_gemm;
}

void run_few_pixels(const ConvShape& s, const float* packed, const float* x, float* y,
                    const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  const int64_t at_once = images_at_once(s), pixels = out_plane(s);
  const int64_t in_image = s.in_channels * in_plane(s), out_image = s.out_channels * pixels;
  float* const windows = scratch;
  float* const result = windows + round_up_to_line(s.in_channels * taps(s) * at_once * pixels);
  float* const gemm_scratch = result + round_up_to_line(at_once * out_image);
  const bool single = pixels == 1;
  for (int64_t image = 0; image < s.batch; image += at_once) {
    const int64_t images = std::min(at_once, s.batch - image);
    GemmArguments g = pixel_product(s, images);
    g.packed_b = packed;
    // The product's rows are pixels: what we have per row is per column of the transposed result.
    g.epilogue.scale = epilogue.scale;
    g.epilogue.column_factor = epilogue.row_factor;
    g.epilogue.column_bias = epilogue.row_bias;
    if (single || epilogue.residual == nullptr) {
      g.epilogue.activation = epilogue.activation;
      g.epilogue.alpha = epilogue.alpha;
      g.epilogue.beta = epilogue.beta;
    }
    const float* const residual =
        epilogue.residual == nullptr ? nullptr : epilogue.residual + image * out_image;
    float* const output = y + image * out_image;
    set_windows(s, x + image * in_image, images, windows, g);
    g.c = single ? output : result;
    if (single && residual != nullptr) {
      g.epilogue.residual = residual;
      g.epilogue.residual_row_stride = g.n;
      g.epilogue.residual_scale = epilogue.residual_scale;
    }
    gemm(g, gemm_scratch, pool);
    for (int64_t i = 0; !single && i < images; ++i) {
      turn_pixels(s, result + i * out_image, residual == nullptr ? nullptr : residual + i * out_image,
                  epilogue, output + i * out_image);
    }
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
    case ConvMethod::depthwise: {
      if (is_depthwise_cut_in_regions(s)) return depthwise_regions_scratch_bytes(s, threads);
      const DepthwiseCell lanes_cell = depthwise_cell(s, depthwise_lanes_rows(s));
      const int64_t floats = round_up_to_line(
          has_channels_in_lanes(s) ? table.depthwise_lanes_scratch_floats(lanes_cell)
                                   : table.depthwise_scratch_floats(depthwise_cell(s, depthwise_rows(s))));
      return static_cast<size_t>(floats * workers) * sizeof(float);
    }
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
