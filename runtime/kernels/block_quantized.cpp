#include "runtime/kernels/block_quantized.h"

#include <algorithm>

#include "runtime/kernels/gemm.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

/// Up to here it is cheaper to take the fields apart anew for every few rows than to write panels of them.
constexpr int64_t most_direct_rows = 8;
/// Fields times rows of A: some microseconds.
constexpr int64_t fields_per_range = 128 * 1024;
/// A panel of W, panel_depth by panel_tiles tiles, stays in the second cache level while A passes it. Its
/// depth is such that the product goes over it once.
constexpr int64_t panel_depth = 512, panel_tiles = 4;
static_assert(panel_depth % block_panel_alignment == 0);

bool is_direct(const BlockQuantizedGemm& g) { return g.m <= most_direct_rows; }

int64_t aligned_floats(int64_t count) { return divide_up(count, 16) * 16; }

/// Scratch: A arranged, and zero points for each thread.
void direct_gemm(const BlockQuantizedGemm& g, float* scratch, ThreadPool& pool) {
  const KernelTable& table = kernel_table();
  float* const zeros = scratch + g.m * table.block_arranged_floats(g.w);
  const int64_t zeros_floats = aligned_floats(table.block_zeros_floats(g.w));
  table.block_arrange(g, scratch);
  const int64_t grain = fields_per_range / (table.block_columns * g.m * g.w.k) + 1;
  pool.parallel_for_workers(
      divide_up(g.w.n, table.block_columns), grain, [&](int64_t worker, int64_t begin, int64_t end) {
        table.block_products(g, scratch, begin * table.block_columns,
                             std::min(g.w.n, end * table.block_columns), zeros + worker * zeros_floats);
      });
}

int64_t packed_a_floats(int64_t m, int64_t depth) {
  return aligned_floats(static_cast<int64_t>(gemm_packed_a_bytes(m, depth) / sizeof(float)));
}

/// What W is cut into, and scratch: A, packed by layers of `depth` elements, and a panel of W per thread.
struct Panels {
  int64_t columns = panel_tiles * gemm_panel_columns();
  int64_t depth, layers, layer_floats, panel_floats;
  explicit Panels(const BlockQuantizedGemm& g)
      : depth(std::min(panel_depth, g.w.k)),
        layers(divide_up(g.w.k, depth)),
        layer_floats(packed_a_floats(g.m, depth)),
        panel_floats(aligned_floats(columns * depth)) {}
};

/// Columns [panel.n0, panel.n1), of which C holds what the layers before have given.
void add_panel(const BlockQuantizedGemm& g, const BlockPanel& panel, const float* packed_a,
               const float* packed_b) {
  GemmArguments p;
  p.m = g.m;
  p.n = panel.n1 - panel.n0;
  p.k = panel.k1 - panel.k0;
  p.packed_a = packed_a;
  p.packed_b = packed_b;
  p.c = g.c + panel.n0;
  p.c_row_stride = g.w.n;
  if (panel.k0 > 0) {
    p.epilogue.residual = p.c;
    p.epilogue.residual_row_stride = g.w.n;
  } else if (g.bias != nullptr) {
    p.epilogue.column_bias = g.bias + panel.n0;
  }
  gemm_columns(p, 0, p.n, nullptr);  // two packed operands take no scratch
}

void panel_gemm(const BlockQuantizedGemm& g, float* layers, ThreadPool& pool) {
  const Panels cut(g);
  pool.parallel_for(cut.layers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = i * cut.depth;
      gemm_pack_a(g.m, std::min(cut.depth, g.w.k - k), g.a + k, g.w.k, 1, layers + i * cut.layer_floats);
    }
  });
  float* const panels = layers + cut.layers * cut.layer_floats;
  const auto run = [&](int64_t worker, int64_t begin, int64_t end) {
    float* const packed = panels + worker * cut.panel_floats;
    for (int64_t n = begin * cut.columns; n < std::min(g.w.n, end * cut.columns); n += cut.columns) {
      for (int64_t i = 0; i < cut.layers; ++i) {
        const int64_t k = i * cut.depth;
        const BlockPanel panel = {&g.w, n, std::min(g.w.n, n + cut.columns), k,
                                  std::min(g.w.k, k + cut.depth)};
        kernel_table().block_unpack(panel, packed);
        add_panel(g, panel, layers + i * cut.layer_floats, packed);
      }
    }
  };
  pool.parallel_for_workers(divide_up(g.w.n, cut.columns), 1, run);
}

}  // namespace

size_t block_quantized_scratch_bytes(const BlockQuantizedGemm& g, int threads) {
  const KernelTable& table = kernel_table();
  const int64_t workers = std::max(threads, 1);
  int64_t floats = 0;
  if (is_direct(g)) {
    floats = g.m * table.block_arranged_floats(g.w) + workers * aligned_floats(table.block_zeros_floats(g.w));
  } else {
    const Panels cut(g);
    floats = cut.layers * cut.layer_floats + workers * cut.panel_floats;
  }
  return static_cast<size_t>(floats) * sizeof(float);
}

void block_quantized_gemm(const BlockQuantizedGemm& g, void* scratch, ThreadPool& pool) {
  if (g.m == 0 || g.w.n == 0) return;
  const auto run = is_direct(g) ? direct_gemm : panel_gemm;
  run(g, static_cast<float*>(scratch), pool);
}

}  // namespace axrun::runtime
