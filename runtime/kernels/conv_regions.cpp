#include "runtime/kernels/conv_regions.h"

#include <algorithm>

#include "runtime/kernels/conv_parts.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

ConvRegions::ConvRegions(const ConvShape& s, int64_t most_outputs)
    : rows_(cut(s.in_height, s.out_height, s.kernel_height, s.stride_height, s.dilation_height, s.pad_top)),
      columns_(cut(s.in_width, s.out_width, s.kernel_width, s.stride_width, s.dilation_width, s.pad_left)) {
  for (size_t j = 0; j < columns_.count; ++j) {
    heights_[j] = std::max<int64_t>(1, most_outputs / columns_.intervals[j].size());
    for (size_t i = 0; i < rows_.count; ++i) count_ += parts(i, j);
  }
}

ConvRegions::Axis ConvRegions::cut(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                                   int64_t pad) {
  Axis axis;
  for (int64_t i = 0; i < out; i = axis.intervals[axis.count++].end) {
    // Tap t reads input position i * stride + t * dilation - pad.
    Interval& interval = axis.intervals[axis.count];
    interval = {i, out, 0, 0};
    while (interval.tap0 < kernel && i * stride + interval.tap0 * dilation < pad) ++interval.tap0;
    interval.tap1 = interval.tap0;
    while (interval.tap1 < kernel && i * stride + interval.tap1 * dilation < pad + in) ++interval.tap1;
    const auto end_at = [&](int64_t position) {
      interval.end = std::min(interval.end, divide_up(position, stride));
    };
    if (interval.tap0 > 0) end_at(pad - (interval.tap0 - 1) * dilation);
    if (interval.taps() > 0) end_at(pad + in - (interval.tap1 - 1) * dilation);
  }
  return axis;
}

ConvRegion ConvRegions::part(size_t i, size_t j, int64_t count, int64_t k) const {
  const Interval& rows = rows_.intervals[i];
  const Interval& columns = columns_.intervals[j];
  const int64_t height = divide_up(rows.size(), count), row0 = rows.begin + k * height;
  return {row0,          std::min(rows.end, row0 + height),
          columns.begin, columns.end,
          rows.tap0,     rows.tap1,
          columns.tap0,  columns.tap1};
}

ConvRegion ConvRegions::region(int64_t k) const {
  for (size_t i = 0; i < rows_.count; ++i) {
    for (size_t j = 0; j < columns_.count; ++j) {
      const int64_t here = parts(i, j);
      if (k < here) return part(i, j, here, k);
      k -= here;
    }
  }
  return {};
}

namespace {

constexpr int64_t region_outputs = 256;
constexpr int64_t depthwise_region_outputs = 2 * 1024;  ///< their sums stay in the first cache

/// How implicit_gemm is cut in regions. Depends on the shape alone.
struct RegionGrid {
  ConvRegions regions;
  int64_t count, channels, channel_cells;
  int64_t worker_floats = 0;  ///< scratch

  explicit RegionGrid(const ConvShape& s) : regions(s, region_outputs), count(regions.count()) {
    constexpr int64_t most_channels = 256;  // a block of their weights stays in the second cache
    const int64_t panel_rows = gemm_panel_rows(group_out_channels(s), kernel_table().panel_rows);
    const int64_t panels = divide_up(group_out_channels(s), panel_rows);
    channels = divide_up(panels, divide_up(group_out_channels(s), most_channels)) * panel_rows;
    channel_cells = divide_up(group_out_channels(s), channels);
    ConvCell cell = empty_cell(s);
    cell.channel1 = channels;
    regions.for_each([&](const ConvRegion& region) {
      const int64_t floats = kernel_table().conv_region_scratch_floats(cell, region);
      worker_floats = std::max(worker_floats, round_up_to_line(floats));
    });
  }
};

/// The largest scratch of a region, in floats.
int64_t depthwise_region_floats(const ConvRegions& regions) {
  int64_t floats = 0;
  regions.for_each([&](const ConvRegion& region) {
    floats = std::max(floats, kernel_table().depthwise_region_scratch_floats(region));
  });
  return round_up_to_line(floats);
}

}  // namespace

int64_t conv_regions_cost(const ConvShape& s) {
  constexpr int64_t weights_taken_out = 8;  // what it costs, in outputs
  const ConvRegions regions(s, region_outputs);
  const int64_t panel = kernel_table().panel_columns;
  int64_t result = 0;
  regions.for_each([&](const ConvRegion& r) {
    const int64_t outputs = divide_up((r.row1 - r.row0) * (r.column1 - r.column0), panel) * panel;
    result += (outputs + weights_taken_out) * (r.tap_row1 - r.tap_row0) * (r.tap_column1 - r.tap_column0);
  });
  return result;
}

size_t conv_regions_scratch_bytes(const ConvShape& s, int threads) {
  const RegionGrid grid(s);
  const int64_t cells = s.batch * s.groups * grid.channel_cells * grid.count;
  return static_cast<size_t>(grid.worker_floats * std::min<int64_t>(std::max(threads, 1), cells)) *
         sizeof(float);
}

void conv_by_regions(const ConvShape& s, const float* packed, const float* x, float* y,
                     const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  const RegionGrid grid(s);
  const int64_t cells = s.batch * s.groups * grid.channel_cells * grid.count;
  const double cell_work = static_cast<double>(out_plane(s)) / static_cast<double>(grid.count) *
                           static_cast<double>(grid.channels * group_channels(s) * taps(s));
  const auto grain = static_cast<int64_t>(static_cast<double>(conv_work_per_range) / cell_work) + 1;
  pool.parallel_for_workers(cells, std::min(grain, cells), [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t images = i / grid.count / grid.channel_cells;
      ConvCell cell = empty_cell(s);
      cell.channel0 = i / grid.count % grid.channel_cells * grid.channels;
      cell.channel1 = std::min(cell.out_channels, cell.channel0 + grid.channels);
      place(s, packed, x, y, epilogue, images / s.groups, images % s.groups, cell);
      cell.scratch = scratch + worker * grid.worker_floats;
      kernel_table().conv_region(cell, grid.regions.region(i % grid.count));
    }
  });
}

int64_t depthwise_regions_cost(const ConvShape& s) {
  constexpr int64_t of_region = 10, of_vector = 4;
  const ConvRegions regions(s, depthwise_region_outputs);
  const int64_t lanes = kernel_table().panel_columns / 2;
  int64_t result = 0;
  regions.for_each([&](const ConvRegion& r) {
    const int64_t vectors = (r.row1 - r.row0) * divide_up(r.column1 - r.column0, lanes);
    const int64_t region_taps = (r.tap_row1 - r.tap_row0) * (r.tap_column1 - r.tap_column0);
    result += vectors * (region_taps + of_vector) + of_region;
  });
  return result;
}

size_t depthwise_regions_scratch_bytes(const ConvShape& s, int threads) {
  const ConvRegions regions(s, depthwise_region_outputs);
  return static_cast<size_t>(depthwise_region_floats(regions) * std::max(threads, 1)) * sizeof(float);
}

void depthwise_by_regions(const ConvShape& s, const float* weights, const float* x, float* y,
                          const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  const ConvRegions regions(s, depthwise_region_outputs);
  const int64_t floats = depthwise_region_floats(regions);
  const int64_t channels =
      std::clamp<int64_t>(conv_strip_floats / std::max<int64_t>(1, in_plane(s)), 1, s.in_channels);
  const int64_t channel_cells = divide_up(s.in_channels, channels);
  pool.parallel_for_workers(s.batch * channel_cells, 1, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / channel_cells, channel = i % channel_cells * channels;
      DepthwiseCell cell = depthwise_cell(s, 0);
      cell.channels = std::min(channels, s.in_channels - channel);
      place(s, weights, x, y, epilogue, image, channel, cell);
      cell.scratch = scratch + worker * floats;
      regions.for_each([&](const ConvRegion& region) { kernel_table().depthwise_region(cell, region); });
    }
  });
}

}  // namespace axrun::runtime
