// DFT and STFT, float32: products with the matrix of the transform, which is made and packed once. Windows,
// ends of one-sided spectra and the factor of inverse transforms are part of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {
namespace {

/// Elements of a transform's matrix, 68 MB: frames of 4096 real points. Larger ones are left to the
/// definition.
constexpr int64_t most_elements = int64_t{17} << 20;

/// x[n, components] -> y[k, results]: which sums of the points read give which frequencies.
struct Transform {
  int64_t length = 1;       ///< of the period
  int64_t points = 1;       ///< read
  int64_t frequencies = 1;  ///< or, of an inverse transform, points made
  int64_t components = 1;   ///< of what is read: 1, or real and imaginary
  int64_t results = 2;      ///< of what is made
  bool inverse = false;
  const float* window = nullptr;  ///< a factor for each point

  int64_t rows() const { return points * components; }
  int64_t columns() const { return frequencies * results; }
  bool fits() const { return rows() > 0 && columns() > 0 && rows() <= most_elements / columns(); }

  /// The matrix [rows, columns].
  std::vector<float> matrix() const {
    std::vector<double> cosines(static_cast<size_t>(length)), sines(cosines.size());
    for (int64_t j = 0; j < length; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
      cosines[static_cast<size_t>(j)] = std::cos(angle);
      sines[static_cast<size_t>(j)] = (inverse ? 1 : -1) * std::sin(angle);
    }
    std::vector<float> values(static_cast<size_t>(rows() * columns()));
    for (int64_t n = 0; n < points; ++n) {
      double factor = window == nullptr ? 1 : window[n];
      if (inverse) factor /= static_cast<double>(length);
      // Half a spectrum is the conjugate of the other half; its ends have no partner.
      if (results == 1 && n != 0 && 2 * n != length) factor *= 2;
      for (int64_t k = 0; k < frequencies; ++k) {
        const auto j = static_cast<size_t>(k * n % length);
        const auto cosine = static_cast<float>(factor * cosines[j]),
                   sine = static_cast<float>(factor * sines[j]);
        float* to = values.data() + n * components * columns() + k * results;
        to[0] = cosine;
        if (results == 2) to[1] = sine;
        if (components == 1) continue;
        to += columns();
        to[0] = -sine;
        if (results == 2) to[1] = cosine;
      }
    }
    return values;
  }
};

/// Where the signals lie that are transformed, as products with the matrix: C[batch][m] = A[batch][m] *
/// matrix.
struct Signals {
  int64_t batch = 1, count = 1;          ///< of each batch
  int64_t batch_stride = 0, stride = 0;  ///< between signals that are read, elements
  int64_t inner = 1;                     ///< signals whose points lie side by side; moved apart first
};

class FourierKernel final : public Kernel {
 public:
  FourierKernel(const StepContext& context, const Transform& transform, const Signals& signals)
      : rows_(transform.rows()),
        columns_(transform.columns()),
        components_(transform.components),
        results_(transform.results),
        signals_(signals),
        threads_(context.threads),
        what_(fmt::format("{}fourier {}x {}->{} of {}", transform.inverse ? "inverse " : "",
                          signals.batch * signals.count * signals.inner, transform.points,
                          transform.frequencies, transform.length)) {
    const std::string form =
        fmt::format("fourier {} {} {} {} {} {} {}", transform.length, transform.points, transform.frequencies,
                    components_, results_, transform.inverse, transform.window != nullptr);
    jit::PreparedKey key{form, {}};
    if (transform.window != nullptr)
      key.constants.push_back({transform.window, static_cast<size_t>(transform.points) * sizeof(float)});
    matrix_ = context.packs.get(key, gemm_packed_b_bytes(rows_, columns_), [&](void* to) {
      const std::vector<float> values = transform.matrix();
      gemm_pack_b(rows_, columns_, values.data(), columns_, 1, static_cast<float*>(to));
    });
  }

  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    if (signals_.inner == 1) return multiply(x, y, call.scratch, call.pool);
    auto* const read = static_cast<float*>(call.scratch);
    float* const made = read + rounded(signals() * rows_);
    for_points(rows_ / components_, components_, signals_.stride, call.pool,
               [&](int64_t apart, int64_t beside) { std::copy_n(x + beside, components_, read + apart); });
    multiply(read, made, made + rounded(signals() * columns_), call.pool);
    for_points(columns_ / results_, results_, columns_ * signals_.inner, call.pool,
               [&](int64_t apart, int64_t beside) { std::copy_n(made + apart, results_, y + beside); });
  }

  std::string describe() const override { return what_; }
  size_t scratch_bytes() const override {
    static constexpr float anywhere = 0;
    const size_t own = gemm_scratch_bytes(product(&anywhere, nullptr), threads_);
    if (signals_.inner == 1) return own;
    return own +
           static_cast<size_t>(rounded(signals() * rows_) + rounded(signals() * columns_)) * sizeof(float);
  }
  bool ignores_input(int k) const override { return k != 0; }
  double flops() const override {
    return 2.0 * static_cast<double>(signals()) * static_cast<double>(rows_ * columns_);
  }

 private:
  static int64_t rounded(int64_t elements) { return (elements + 15) / 16 * 16; }
  int64_t signals() const { return signals_.batch * signals_.count * signals_.inner; }

  GemmArguments product(const float* x, float* y) const {
    GemmArguments g;
    const bool apart = signals_.inner != 1;
    g.m = apart ? signals() : signals_.count;
    g.n = columns_;
    g.k = rows_;
    g.a = x;
    g.a_row_stride = apart ? rows_ : signals_.stride;
    g.packed_b = static_cast<const float*>(matrix_.get());
    g.c = y;
    g.c_row_stride = columns_;
    if (!apart && signals_.batch != 1) {
      g.batch_rank = 1;
      g.batch_extents[0] = signals_.batch;
      g.a_batch_strides[0] = signals_.batch_stride;
      g.c_batch_strides[0] = signals_.count * columns_;
    }
    return g;
  }
  void multiply(const float* x, float* y, void* scratch, ThreadPool& pool) const {
    gemm(product(x, y), scratch, pool);
  }

  /// move(place of a point among signals that lie apart, place among those side by side) for all points.
  template <typename Move>
  void for_points(int64_t points, int64_t components, int64_t outer_stride, ThreadPool& pool,
                  const Move& move) const {
    const int64_t inner = signals_.inner;
    pool.parallel_for(signals_.count * inner, 16, [&](int64_t begin, int64_t end) {
      for (int64_t signal = begin; signal < end; ++signal) {
        const int64_t beside = signal / inner * outer_stride + signal % inner * components;
        for (int64_t n = 0; n < points; ++n)
          move((signal * points + n) * components, beside + n * inner * components);
      }
    });
  }

  int64_t rows_, columns_, components_, results_;
  Signals signals_;
  int threads_;
  std::string what_;
  PackedWeights matrix_;
};

bool reads_f32(const StepContext& context) {
  return !context.fused() && context.has_input(0) && context.inputs[0].type == ir::ElementType::f32 &&
         context.inputs[0].count() > 0 && context.outputs[0].count() > 0;
}

/// The number that an input holds, where it is constant; `otherwise` where there is none.
std::optional<int64_t> number(const StepContext& context, size_t k, int64_t otherwise) {
  if (!context.has_input(k)) return otherwise;
  const StepPort& port = context.inputs[k];
  if (port.constant == nullptr || port.count() != 1) return std::nullopt;
  return port.constant->get_int(0);
}

std::unique_ptr<Kernel> make_dft(const StepContext& context) {
  if (!reads_f32(context)) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& y = context.outputs[0].shape;
  const bool axis_is_input = context.node.version >= 20;
  const auto axis = axis_is_input ? number(context, 2, -2) : context.integer("axis", 1);
  if (!axis) return nullptr;
  const auto at = static_cast<size_t>(*axis < 0 ? *axis + static_cast<int64_t>(x.size()) : *axis);
  Transform t;
  t.inverse = context.integer("inverse", 0) != 0;
  t.components = x.back();
  t.results = y.back();
  t.frequencies = y[at];
  const bool to_real = t.results == 1;
  const auto length = number(context, 1, to_real ? 2 * (x[at] - 1) : x[at]);
  if (!length || *length < 1) return nullptr;
  t.length = *length;
  t.points = std::min(x[at], to_real ? t.length / 2 + 1 : t.length);
  if (!t.fits()) return nullptr;
  Signals signals;
  for (size_t d = 0; d < at; ++d) signals.count *= x[d];
  for (size_t d = at + 1; d + 1 < x.size(); ++d) signals.inner *= x[d];
  signals.stride = x[at] * signals.inner * t.components;
  return std::make_unique<FourierKernel>(context, t, signals);
}

std::unique_ptr<Kernel> make_stft(const StepContext& context) {
  if (!reads_f32(context)) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& y = context.outputs[0].shape;
  Transform t;
  t.components = x.size() == 3 ? x[2] : 1;
  t.frequencies = y[2];
  const auto step = number(context, 1, 1);
  const auto length = number(context, 3, context.has_input(2) ? context.inputs[2].count() : x[1]);
  if (!step || !length || *length < 1) return nullptr;
  t.length = t.points = *length;
  if (context.has_input(2)) {
    const StepPort& window = context.inputs[2];
    if (window.constant == nullptr || window.type != ir::ElementType::f32 || window.count() != t.points)
      return nullptr;
    t.window = window.constant->as<float>();
  }
  if (!t.fits()) return nullptr;
  Signals signals{x[0], y[1], x[1] * t.components, *step * t.components, 1};
  return std::make_unique<FourierKernel>(context, t, signals);
}

}  // namespace

void fourier_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "DFT", make_dft});
  table.push_back({"", "STFT", make_stft});
}

}  // namespace axrun::runtime
