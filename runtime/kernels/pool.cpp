#include "runtime/kernels/pool.h"

#include <algorithm>

#include "runtime/kernels/isa/table.h"
#include "runtime/kernels/rows.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

PoolCell make_cell(const PoolShape& s, bool include_pad) {
  return {s.in_height,    s.in_width,      s.out_height,        s.out_width,        s.kernel_height,
          s.kernel_width, s.stride_height, s.stride_width,      s.dilation_height,  s.dilation_width,
          s.pad_top,      s.pad_left,      s.padded_end_height, s.padded_end_width, include_pad};
}

template <class PlaneFunction>
void for_planes(const PoolShape& s, const float* x, float* y, ThreadPool& pool, PlaneFunction function) {
  const int64_t in_plane = s.in_height * s.in_width;
  const int64_t out_plane = s.out_height * s.out_width;
  if (out_plane == 0) return;
  const double work = static_cast<double>(out_plane) * static_cast<double>(s.kernel_height * s.kernel_width);
  const auto grain = static_cast<int64_t>(50'000.0 / std::max(work, 1.0)) + 1;
  pool.parallel_for(s.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) function(x + plane * in_plane, y + plane * out_plane);
  });
}

}  // namespace

void max_pool2d(const PoolShape& s, const float* x, float* y, ThreadPool& pool) {
  const PoolCell cell = make_cell(s, false);
  for_planes(s, x, y, pool, [&](const float* from, float* to) { kernel_table().max_pool(cell, from, to); });
}

void average_pool2d(const PoolShape& s, bool count_include_pad, const float* x, float* y, ThreadPool& pool) {
  const PoolCell cell = make_cell(s, count_include_pad);
  for_planes(s, x, y, pool,
             [&](const float* from, float* to) { kernel_table().average_pool(cell, from, to); });
}

void global_average_pool(int64_t planes, int64_t plane_size, const float* x, float* y, ThreadPool& pool) {
  reduce(Reduction::mean, {planes, plane_size, 1}, x, y, pool);
}

void global_max_pool(int64_t planes, int64_t plane_size, const float* x, float* y, ThreadPool& pool) {
  reduce(Reduction::max, {planes, plane_size, 1}, x, y, pool);
}

}  // namespace axrun::runtime
