// OpenBLAS: matrix products as they are. It has no convolution: what stands for one is the usual composition,
// the windows gathered into a matrix (not for 1x1), a product, and a pass for bias and Relu. Grouped and
// depthwise convolutions are left out: nobody would compose them so.
#include <cblas.h>

#include <algorithm>
#include <sstream>

#include "perf/kernels/array.h"
#include "perf/kernels/library.h"
#include "perf/kernels/row_loops.h"

namespace axrun::perf {
namespace {

using runtime::ConvShape;
using runtime::ThreadPool;

void multiply(const Product& p, int64_t batch) {
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  const float* a = p.a + batch * p.m * p.k;
  const float* b = p.b + batch * p.k * p.n;
  float* c = p.c + batch * p.m * p.n;
  const int columns = p.transposed_b ? k : n;
  if (m == 1) {
    cblas_sgemv(CblasRowMajor, p.transposed_b ? CblasNoTrans : CblasTrans, p.transposed_b ? n : k, columns, 1,
                b, columns, a, 1, 0, c, 1);
    return;
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, p.transposed_b ? CblasTrans : CblasNoTrans, m, n, k, 1, a, k, b,
              columns, 0, c, n);
}

bool is_pointwise(const ConvShape& s) {
  return s.kernel_height == 1 && s.kernel_width == 1 && s.stride_height == 1 && s.stride_width == 1 &&
         s.pad_top == 0 && s.pad_left == 0;
}

/// Output positions [first, last) along an axis for which a tap of the kernel lies inside the input.
struct Inside {
  int64_t first, last;
};
Inside inside(int64_t tap, int64_t stride, int64_t pad, int64_t in, int64_t out) {
  const int64_t offset = tap - pad;  // input = output * stride + offset
  const int64_t first = offset >= 0 ? 0 : std::min(out, (-offset + stride - 1) / stride);
  const int64_t last = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  return {first, std::clamp(last, first, out)};
}

/// One row of windows[row][out_height][out_width]; there is one for each input channel and tap.
void gather_row(const ConvShape& s, int64_t row, const float* x, float* windows) {
  const int64_t taps = s.kernel_height * s.kernel_width;
  const int64_t tap_y = row % taps / s.kernel_width, tap_x = row % s.kernel_width;
  const Inside lines = inside(tap_y, s.stride_height, s.pad_top, s.in_height, s.out_height);
  const Inside columns = inside(tap_x, s.stride_width, s.pad_left, s.in_width, s.out_width);
  const float* plane = x + row / taps * s.in_height * s.in_width;
  float* to = windows + row * s.out_height * s.out_width;
  if (columns.last - columns.first < s.out_width || lines.last - lines.first < s.out_height) {
    std::fill_n(to, s.out_height * s.out_width, 0.0f);
  }
  for (int64_t y = lines.first; y < lines.last; ++y) {
    const float* from = plane + (y * s.stride_height + tap_y - s.pad_top) * s.in_width +
                        columns.first * s.stride_width + tap_x - s.pad_left;
    copy_strided(columns.last - columns.first, from, s.stride_width, to + y * s.out_width + columns.first);
  }
}

void gather(const ConvShape& s, const float* x, float* windows, ThreadPool& pool) {
  pool.parallel_for(s.in_channels * s.kernel_height * s.kernel_width, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) gather_row(s, row, x, windows);
  });
}

class OpenBlas final : public Library {
 public:
  std::string name() const override { return "OpenBLAS"; }
  std::string version() const override {
    std::istringstream words(openblas_get_config());
    std::string word, number;
    words >> word >> number;
    return number + " " + openblas_get_corename();
  }
  void set_threads(int threads) override { openblas_set_num_threads(threads); }

  Ready product(const Product& p, ThreadPool&) override {
    return {[p] {
              for (int64_t b = 0; b < p.batch; ++b) multiply(p, b);
            },
            {}};
  }

  Ready convolution(const Convolution& c, ThreadPool& pool) override {
    const ConvShape& s = c.shape;
    if (s.groups != 1 || s.batch != 1) return {};
    const int64_t terms = s.in_channels * s.kernel_height * s.kernel_width,
                  pixels = s.out_height * s.out_width;
    const Array<float> windows(is_pointwise(s) ? 0 : terms * pixels);
    return {[c, windows, terms, pixels, &pool] {
              const ConvShape& shape = c.shape;
              if (windows.count() > 0) gather(shape, c.x, windows.data(), pool);
              const auto columns = static_cast<int>(pixels), depth = static_cast<int>(terms);
              cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(shape.out_channels),
                          columns, depth, 1, c.weights, depth, windows.count() > 0 ? windows.data() : c.x,
                          columns, 0, c.y, columns);
              pool.parallel_for(shape.out_channels, 8, [&](int64_t begin, int64_t end) {
                bias_relu_rows(end - begin, pixels, c.bias + begin, c.y + begin * pixels);
              });
            },
            {}};
  }
};

}  // namespace

std::unique_ptr<Library> make_openblas() { return std::make_unique<OpenBlas>(); }

}  // namespace axrun::perf
