// DFT, STFT, the window functions and MelWeightMatrix. Transforms are the direct sums.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ir/ops/compute.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

constexpr ElementType wide = ElementType::f64;

/// The value of an integer input of one element, as a Dim that is not known to be negative.
Dim size_input(const OperatorContext& context, Builder& b, int k, int64_t least) {
  require_type(context, k, TypeClass::integer);
  operand(b, context, k);
  const Dims values = context.elements(k);
  context.check(values.size() == 1, fmt::format("input {} must be one number", k));
  const Dim& value = values[0];
  context.check(context.may_be_at_least(value, Dim(least)),
                fmt::format("input {} is {}, less than {}", k, value.to_string(), least));
  return value;
}

/// The n-th roots of unity: [n, 2] holds (cos, sin) of 2 pi j / n.
TensorRef roots_of_unity(Builder& b, const Dim& n) {
  return b.map({n, Dim(2)}, [&](const Indices& i) {
    const Scalar angle = cast(wide, i[0]) * (2 * std::numbers::pi) / cast(wide, b.extent(n));
    return select(i[1] == 0, unary(ScalarOp::cos, angle), unary(ScalarOp::sin, angle));
  });
}

/// value * e^(sign * 2 pi i frequency * time / n): its real part where component is 0, else the imaginary
/// one.
Scalar turned(const TensorRef& roots, const Dim& n, const Scalar& frequency, const Scalar& time, double sign,
              const Scalar& real, const Scalar& imaginary, const Scalar& component) {
  Builder& b = component.builder();
  const Scalar j = floor_mod(frequency * time, b.extent(n));
  const Scalar cosine = roots({j, b.integer(0)});
  const Scalar sine = roots({j, b.integer(1)}) * sign;
  return select(component == 0, real * cosine - imaginary * sine, real * sine + imaginary * cosine);
}

/// Checks the trailing dimension of real (1) or complex (2) signals.
bool is_complex(const OperatorContext& context, const Dims& dims) {
  const int64_t last = context.fixed(dims.back());
  context.check(last == 1 || last == 2, "the last dimension must be 1 (real) or 2 (complex)");
  return last == 2;
}

struct Transform {
  size_t axis = 0;
  bool inverse = false;
  bool onesided = false;
  bool complex = false;
  Dim length;     ///< n of the transform
  Dim available;  ///< points of the input that are read
};

Transform transform_of(const OperatorContext& context, Builder& b, const Dims& dims) {
  Transform t;
  const int rank = static_cast<int>(dims.size());
  context.check(rank >= 2, "the input must have rank 2 or more");
  int64_t axis = context.integer("axis", 1);
  if (context.version() >= 20) {
    axis = -2;
    if (context.has(2)) {
      operand(b, context, 2);
      const std::vector<int64_t> given = context.integers(2);
      context.check(given.size() == 1, "the axis must be one number");
      axis = given[0];
    }
  }
  t.axis = static_cast<size_t>(context.axis(axis, rank));
  context.check(t.axis + 1 < dims.size(), "the last dimension cannot be transformed");
  t.inverse = flag(context, "inverse", false);
  t.onesided = flag(context, "onesided", false);
  t.complex = is_complex(context, dims);
  context.check(!t.onesided || t.complex == t.inverse,
                "a one-sided transform goes from real to complex or, inverse, from complex to real");
  const Dim& size = dims[t.axis];
  const bool to_real = t.onesided && t.inverse;
  t.length = context.has(1) ? size_input(context, b, 1, 1) : to_real ? 2 * (size - 1) : size;
  context.check(context.may_be_at_least(t.length, 0), "the transformed dimension is empty");
  t.available = min(size, to_real ? floor_div(t.length, Dim(2)) + 1 : t.length);
  return t;
}

/// y[k] = sum over n of x[n] e^(-2 pi i k n / N); inverse: x[n] = 1 / N sum over k of y[k] e^(2 pi i k n /
/// N).
void define_dft(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const Transform t = transform_of(context, b, x.dims());
  const bool to_real = t.onesided && t.inverse;
  const bool halved = t.onesided && !t.inverse;
  const TensorRef roots = roots_of_unity(b, t.length);
  Dims result = x.dims();
  result[t.axis] = halved ? floor_div(t.length, Dim(2)) + 1 : t.length;
  result.back() = Dim(to_real ? 1 : 2);
  const double sign = t.inverse ? 1 : -1;
  const TensorRef sum = b.sum(result, {t.available}, [&](const Indices& i, const Indices& r) {
    Indices at = i;
    at[t.axis] = r[0];
    at.back() = b.integer(0);
    const Scalar real = cast(wide, x(at));
    at.back() = b.integer(1);
    const Scalar imaginary = t.complex ? cast(wide, x(at)) : b.real(wide, 0);
    const Scalar term = turned(roots, t.length, i[t.axis], r[0], sign, real, imaginary, i.back());
    if (!to_real) return term;
    // The other half of the spectrum is the conjugate of this one; the ends have no partner.
    const Scalar alone = logical_or(r[0] == 0, r[0] * 2 == b.extent(t.length));
    return term * select(alone, b.real(wide, 1), b.real(wide, 2));
  });
  b.output(b.map(result, [&](const Indices& i) {
    const Scalar value = sum(i);
    return cast(x.type(), t.inverse ? value / cast(wide, b.extent(t.length)) : value);
  }));
}

/// The transforms of windowed frames of a signal [batch, length, 1 or 2]: [batch, frames, bins, 2]. The bins
/// are half of them where `onesided` says so, be the signal complex or not (ONNX's reference, ONNX Runtime).
void define_stft(const OperatorContext& context, Builder& b) {
  const TensorRef signal = real_operand(b, context, 0);
  context.check(signal.rank() == 3 || signal.rank() == 2, "the signal must have rank 3");
  const bool has_components = signal.rank() == 3;
  const bool complex = has_components && is_complex(context, signal.dims());
  const Dim& size = signal.dims()[1];
  const Dim step = size_input(context, b, 1, 1);
  TensorRef window;
  Dim length = size;
  if (context.has(3)) length = size_input(context, b, 3, 1);
  if (context.has(2)) {
    context.check(context.type(2) == signal.type() && context.rank(2) == 1,
                  "the window must be a vector of the signal's type");
    if (!context.has(3)) length = context.dims(2)[0];
    window = shaped_operand(b, context, 2, {length}, "the window");
  }
  const bool onesided = flag(context, "onesided", true);
  const Dim room = size - length;
  context.check(context.may_be_at_least(room, 0), "a frame is longer than the signal");
  const Dims result = {signal.dims()[0], floor_div(room, step) + 1,
                       onesided ? floor_div(length, Dim(2)) + 1 : length, Dim(2)};
  const TensorRef roots = roots_of_unity(b, length);
  b.output(b.sum(result, {length}, [&](const Indices& i, const Indices& r) {
    const auto sample = [&](int component) {
      Indices at = {i[0], i[1] * step + r[0]};
      if (has_components) at.push_back(b.integer(component));
      const Scalar value = cast(wide, signal(at));
      return window.defined() ? value * cast(wide, window({r[0]})) : value;
    };
    const Scalar imaginary = complex ? sample(1) : b.real(wide, 0);
    const Scalar term = turned(roots, length, i[2], r[0], -1, sample(0), imaginary, i[3]);
    return cast(signal.type(), term);
  }));
}

/// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), with N the size (periodic) or the size - 1 (symmetric). A
/// symmetric window of one point is 1.
void define_window(const OperatorContext& context, Builder& b, double a0, double a1, double a2) {
  const Dim size = size_input(context, b, 0, 0);
  const ElementType type = type_attribute(context, "output_datatype", ElementType::f32);
  const bool periodic = flag(context, "periodic", true);
  b.output(b.map({size}, [&](const Indices& i) {
    const Scalar period = cast(wide, b.extent(periodic ? size : max(size - 1, Dim(1))));
    const Scalar angle = cast(wide, i[0]) * (2 * std::numbers::pi) / period;
    const Scalar value = a0 - unary(ScalarOp::cos, angle) * a1 + unary(ScalarOp::cos, angle * 2.0) * a2;
    if (periodic) return cast(type, value);
    return cast(type, select(b.extent(size) == 1, b.real(wide, 1), value));
  }));
}

void define_hann_window(const OperatorContext& context, Builder& b) {
  define_window(context, b, 0.5, 0.5, 0);
}

void define_hamming_window(const OperatorContext& context, Builder& b) {
  define_window(context, b, 25.0 / 46.0, 21.0 / 46.0, 0);
}

void define_blackman_window(const OperatorContext& context, Builder& b) {
  define_window(context, b, 0.42, 0.5, 0.08);
}

/// Triangular filters over the bins of a spectrum, their corners equally spaced on the mel scale mel(f) =
/// 2595 log10(1 + f / 700) and rounded down to bins.
void define_mel_weight_matrix(const OperatorContext& context, Builder& b) {
  const Dim filters = size_input(context, b, 0, 0);
  const Dim length = size_input(context, b, 1, 0);
  const auto number = [&](int k) {
    require_type(context, k, TypeClass::number);
    return cast(wide, only_element(context, b, operand(b, context, k), fmt::format("input {}", k)));
  };
  const ElementType type = type_attribute(context, "output_datatype", ElementType::f32);
  constexpr double mels = 2595;
  constexpr double corner_frequency = 700;
  const TensorRef corners = b.map({filters + 2}, [&](const Indices& i) {
    const auto mel = [&](const Scalar& hertz) {
      return log(hertz / corner_frequency + 1.0) * (mels / std::numbers::ln10);
    };
    const Scalar low = mel(number(3));
    const Scalar step = (mel(number(4)) - low) / cast(wide, b.extent(filters + 2));
    const Scalar position = cast(wide, i[0]) * step + low;
    const Scalar hertz = (pow(b.real(wide, 10), position / mels) - 1.0) * corner_frequency;
    return cast(ElementType::i64, floor(hertz * cast(wide, b.extent(length + 1)) / number(2)));
  });
  b.output(b.map({floor_div(length, Dim(2)) + 1, filters}, [&](const Indices& i) {
    const Scalar lower = corners({i[1]});
    const Scalar center = corners({i[1] + 1});
    const Scalar upper = corners({i[1] + 2});
    const auto ratio = [&](const Scalar& part, const Scalar& whole) {
      return cast(wide, part) / cast(wide, max(whole, 1));
    };
    const Scalar zero = b.real(wide, 0);
    const Scalar peak = select(i[0] == center, b.real(wide, 1), zero);
    const Scalar rising =
        select(logical_and(i[0] >= lower, i[0] <= center), ratio(i[0] - lower, center - lower), zero);
    const Scalar falls = logical_and(i[0] >= center, i[0] < upper);
    const Scalar value =
        select(falls, ratio(upper - i[0], upper - center), select(center == lower, peak, rising));
    return cast(type, value);
  }));
}

}  // namespace

void signal_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "DFT", 17, define_dft},
                                {"", "STFT", 17, define_stft},
                                {"", "HannWindow", 17, define_hann_window},
                                {"", "HammingWindow", 17, define_hamming_window},
                                {"", "BlackmanWindow", 17, define_blackman_window},
                                {"", "MelWeightMatrix", 17, define_mel_weight_matrix},
                            });
}

}  // namespace axrun::ir
