// DFT and STFT, float32, by fast transforms in double: as exact as the sums that define them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {
namespace {

using Complex = std::complex<double>;

/// Of one length, which may be any: y[k] = sum over n of x[n] e^(sign 2 pi i k n / length), in time length *
/// (sum of its prime factors). Decimation in time, after Cooley and Tukey (Mathematics of Computation 19,
/// 1965).
class FastTransform {
 public:
  FastTransform(int64_t length, int sign) : length_(length), quarter_(0, sign) {
    for (int64_t j = 0; j < length; ++j) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
      roots_.emplace_back(std::cos(angle), std::sin(angle));
    }
    for (int64_t rest = length, factor = 4; rest > 1;) {
      if (rest % factor == 0) {
        factors_.push_back(factor);
        rest /= factor;
        continue;
      }
      factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2;
      if (factor * factor > rest) factor = rest;
    }
    for (const int64_t factor : factors_) largest_ = std::max(largest_, factor);
  }

  int64_t length() const { return length_; }
  /// Elements that a run needs besides x and y.
  int64_t scratch() const { return largest_; }

  /// x and y do not overlap.
  void run(const Complex* x, Complex* y, Complex* scratch) const { part(x, y, scratch, 0, length_, 1); }

 private:
  /// Of the points x[0], x[step], ...
  void part(const Complex* x, Complex* y, Complex* scratch, size_t level, int64_t length,
            int64_t step) const {
    if (level == factors_.size()) {
      y[0] = x[0];
      return;
    }
    const int64_t factor = factors_[level], rest = length / factor;
    for (int64_t f = 0; f < factor; ++f)
      part(x + f * step, y + f * rest, scratch, level + 1, rest, step * factor);
    for (int64_t k = 0; k < rest; ++k) {
      if (factor == 4)
        join_four(y + k, rest, k * step);
      else
        join(y + k, scratch, factor, rest, k * step);
    }
  }

  const Complex& root(int64_t j) const { return roots_[static_cast<size_t>(j)]; }

  /// Four results at y[0], y[rest], ..., each of what the four parts gave there, which is turned by `turn`
  /// steps.
  void join_four(Complex* y, int64_t rest, int64_t turn) const {
    const Complex a = y[0], b = times(y[rest], root(turn)), c = times(y[2 * rest], root(2 * turn)),
                  d = times(y[3 * rest], root(3 * turn));
    const Complex even = a + c, across = a - c, odd = b + d, turned = times(b - d, quarter_);
    y[0] = even + odd;
    y[rest] = across + turned;
    y[2 * rest] = even - odd;
    y[3 * rest] = across - turned;
  }
  void join(Complex* y, Complex* parts, int64_t factor, int64_t rest, int64_t turn) const {
    for (int64_t f = 0; f < factor; ++f) parts[f] = times(y[f * rest], root(f * turn));
    for (int64_t k = 0; k < factor; ++k) {
      Complex sum = parts[0];
      const int64_t step = k * (length_ / factor);
      for (int64_t f = 1, j = step; f < factor; ++f) {
        sum += times(parts[f], root(j));
        j += step;
        if (j >= length_) j -= length_;
      }
      y[k * rest] = sum;
    }
  }
  /// Without the library's care for infinities.
  static Complex times(const Complex& a, const Complex& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

  int64_t length_;
  Complex quarter_;  ///< the root of a quarter turn
  std::vector<Complex> roots_;
  std::vector<int64_t> factors_;
  int64_t largest_ = 1;
};

/// Signals in two nested loops: floats from one to the next, and from point to point.
struct Places {
  int64_t outer = 0, inner = 0, point = 0;
};

struct Signals {
  int64_t outer = 1, inner = 1;  ///< how many
  int64_t points = 1;            ///< read of each; those that lack are 0
  int64_t components = 1;        ///< of what is read: 1, or real and imaginary
  int64_t frequencies = 1;       ///< or, of an inverse transform, points made
  int64_t results = 2;           ///< of what is made
  Places read, made;
};

class FourierKernel final : public Kernel {
 public:
  /// window: whether input 2 has a factor for each point.
  FourierKernel(int64_t length, bool inverse, bool window, const Signals& signals, int threads)
      : transform_(length, inverse ? 1 : -1),
        inverse_(inverse),
        window_(window),
        signals_(signals),
        threads_(threads) {}

  void run(const KernelCall& call) const override {
    const auto* const x = static_cast<const float*>(call.inputs[0]);
    const auto* const window = window_ ? static_cast<const float*>(call.inputs[2]) : nullptr;
    auto* const y = static_cast<float*>(call.outputs[0]);
    const Signals& s = signals_;
    call.pool.parallel_for_workers(s.outer * s.inner, 1, [&](int64_t worker, int64_t begin, int64_t end) {
      Complex* const given = static_cast<Complex*>(call.scratch) + worker * elements();
      Complex* const made = given + transform_.length();
      for (int64_t signal = begin; signal < end; ++signal) {
        const int64_t o = signal / s.inner, i = signal % s.inner;
        read(x + o * s.read.outer + i * s.read.inner, window, given);
        transform_.run(given, made, made + transform_.length());
        write(made, y + o * s.made.outer + i * s.made.inner);
      }
    });
  }

  std::string describe() const override {
    return fmt::format("{}fourier {}x {}->{} of {}", inverse_ ? "inverse " : "",
                       signals_.outer * signals_.inner, signals_.points, signals_.frequencies,
                       transform_.length());
  }
  size_t scratch_bytes() const override {
    const int64_t workers = std::min<int64_t>(threads_, signals_.outer * signals_.inner);
    return static_cast<size_t>(workers * elements()) * sizeof(Complex);
  }

 private:
  /// Whole lines of cache for each worker.
  int64_t elements() const { return (2 * transform_.length() + transform_.scratch() + 3) / 4 * 4; }

  void read(const float* x, const float* window, Complex* to) const {
    const int64_t length = transform_.length();
    std::fill_n(to, length, Complex());
    for (int64_t n = 0; n < signals_.points; ++n) {
      const float* const point = x + n * signals_.read.point;
      const double factor = window == nullptr ? 1 : double{window[n]};
      to[n] = {double{point[0]} * factor, signals_.components == 2 ? double{point[1]} * factor : 0};
    }
    // Half a spectrum of real points: the other half is its conjugate.
    if (signals_.results != 1) return;
    for (int64_t n = 1; n < signals_.points; ++n)
      if (2 * n != length) to[length - n] = std::conj(to[n]);
  }
  void write(const Complex* from, float* y) const {
    const double divisor = inverse_ ? static_cast<double>(transform_.length()) : 1;
    for (int64_t k = 0; k < signals_.frequencies; ++k) {
      float* const to = y + k * signals_.made.point;
      to[0] = static_cast<float>(from[k].real() / divisor);
      if (signals_.results == 2) to[1] = static_cast<float>(from[k].imag() / divisor);
    }
  }

  FastTransform transform_;
  bool inverse_, window_;
  Signals signals_;
  int threads_;
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
  const bool to_real = y.back() == 1;
  const auto length = number(context, 1, to_real ? 2 * (x[at] - 1) : x[at]);
  if (!length || *length < 1) return nullptr;
  Signals s;
  for (size_t d = 0; d < at; ++d) s.outer *= x[d];
  for (size_t d = at + 1; d + 1 < x.size(); ++d) s.inner *= x[d];
  s.points = std::min(x[at], to_real ? *length / 2 + 1 : *length);
  s.components = x.back();
  s.frequencies = y[at];
  s.results = y.back();
  s.read = {x[at] * s.inner * s.components, s.components, s.inner * s.components};
  s.made = {s.frequencies * s.inner * s.results, s.results, s.inner * s.results};
  return std::make_unique<FourierKernel>(*length, context.integer("inverse", 0) != 0, false, s,
                                         context.threads);
}

/// Signals are frames of those that are given.
std::unique_ptr<Kernel> make_stft(const StepContext& context) {
  if (!reads_f32(context)) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& y = context.outputs[0].shape;
  const bool window = context.has_input(2);
  const auto step = number(context, 1, 1);
  const auto length = number(context, 3, window ? context.inputs[2].count() : x[1]);
  if (!step || !length || *length < 1) return nullptr;
  if (window && (context.inputs[2].type != ir::ElementType::f32 || context.inputs[2].count() != *length))
    return nullptr;
  Signals s;
  s.outer = x[0];
  s.inner = y[1];
  s.points = *length;
  s.components = x.size() == 3 ? x[2] : 1;
  s.frequencies = y[2];
  s.read = {x[1] * s.components, *step * s.components, s.components};
  s.made = {s.inner * s.frequencies * s.results, s.frequencies * s.results, s.results};
  return std::make_unique<FourierKernel>(*length, false, window, s, context.threads);
}

}  // namespace

void fourier_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "DFT", make_dft});
  table.push_back({"", "STFT", make_stft});
}

}  // namespace axrun::runtime
