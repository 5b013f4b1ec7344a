#include "runtime/kernels/rows.h"

#include <algorithm>

#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

/// Elements worth a range of their own, by what is done to each.
constexpr int64_t light_elements = 32 * 1024;
constexpr int64_t heavy_elements = 8 * 1024;

int64_t rows_per_range(int64_t elements, int64_t row) { return elements / std::max<int64_t>(row, 1) + 1; }

/// Columns of an inner axis handled together: a multiple of every level's vector.
constexpr int64_t column_block = 64;

/// Calls body(outer, first column, last column) for blocks of columns of X[outer][extent][inner].
template <class Body>
void for_columns(AxisView view, int64_t elements, ThreadPool& pool, Body body) {
  const int64_t blocks = divide_up(view.inner, column_block);
  pool.parallel_for(view.outer * blocks,
                    rows_per_range(elements, view.extent * std::min(view.inner, column_block)),
                    [&](int64_t begin, int64_t end) {
                      // Neighbouring blocks of one outer index are one call: longer runs of memory.
                      for (int64_t i = begin; i < end;) {
                        const int64_t outer = i / blocks;
                        const int64_t last = std::min(end, (outer + 1) * blocks);
                        body(outer, (i - outer * blocks) * column_block,
                             std::min(view.inner, (last - outer * blocks) * column_block));
                        i = last;
                      }
                    });
}

void run_softmax(bool logarithm, AxisView view, const float* x, float* y, ThreadPool& pool) {
  if (view.extent == 0 || view.inner == 0) return;
  const KernelTable& table = kernel_table();
  if (view.inner == 1) {
    pool.parallel_for(view.outer, rows_per_range(heavy_elements, view.extent),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          table.softmax_row(logarithm, view.extent, x + i * view.extent, y + i * view.extent);
                        }
                      });
    return;
  }
  for_columns(view, heavy_elements, pool, [&](int64_t outer, int64_t first, int64_t last) {
    const int64_t at = outer * view.extent * view.inner;
    table.softmax_columns(logarithm, view.extent, view.inner, first, last, x + at, y + at);
  });
}

void run_norm(bool subtract_mean, const LayerNormArguments& a, ThreadPool& pool) {
  if (a.columns == 0) return;
  const KernelTable& table = kernel_table();
  pool.parallel_for(a.rows, rows_per_range(light_elements / 2, a.columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      table.normalize_row(subtract_mean, a.columns, a.x + i * a.columns, a.scale, a.bias, false, a.epsilon,
                          a.y + i * a.columns, a.mean == nullptr ? nullptr : a.mean + i,
                          a.inverse_deviation == nullptr ? nullptr : a.inverse_deviation + i);
    }
  });
}

}  // namespace

void softmax(AxisView view, const float* x, float* y, ThreadPool& pool) {
  run_softmax(false, view, x, y, pool);
}
void log_softmax(AxisView view, const float* x, float* y, ThreadPool& pool) {
  run_softmax(true, view, x, y, pool);
}

void layer_norm(const LayerNormArguments& arguments, ThreadPool& pool) { run_norm(true, arguments, pool); }

void rms_norm(const LayerNormArguments& arguments, ThreadPool& pool) {
  LayerNormArguments without_mean = arguments;
  without_mean.mean = nullptr;
  run_norm(false, without_mean, pool);
}

void instance_norm(int64_t batch, int64_t channels, int64_t plane_size, const float* x, float* y,
                   const float* scale, const float* bias, float epsilon, ThreadPool& pool) {
  if (plane_size == 0) return;
  const KernelTable& table = kernel_table();
  pool.parallel_for(batch * channels, rows_per_range(light_elements / 2, plane_size),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t channel = i % channels;
                        table.normalize_row(true, plane_size, x + i * plane_size,
                                            scale == nullptr ? nullptr : scale + channel,
                                            bias == nullptr ? nullptr : bias + channel, true, epsilon,
                                            y + i * plane_size, nullptr, nullptr);
                      }
                    });
}

void reduce(Reduction reduction, AxisView view, const float* x, float* y, ThreadPool& pool) {
  if (view.outer == 0 || view.inner == 0) return;
  const KernelTable& table = kernel_table();
  if (view.inner == 1) {
    pool.parallel_for(
        view.outer, rows_per_range(light_elements, view.extent), [&](int64_t begin, int64_t end) {
          table.reduce_rows(reduction, end - begin, view.extent, x + begin * view.extent, y + begin);
        });
    return;
  }
  for_columns(view, light_elements, pool, [&](int64_t outer, int64_t first, int64_t last) {
    table.reduce_columns(reduction, view.extent, view.inner, first, last,
                         x + outer * view.extent * view.inner, y + outer * view.inner);
  });
}

}  // namespace axrun::runtime
