#include "runtime/cli/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/dim.h"
#include "runtime/cli/options.h"
#include "runtime/cli/values.h"

namespace axrun::cli {

using ir::ElementType;
using ir::Tensor;
using ir::ValueKind;
using runtime::RuntimeValue;

namespace {

Comparison mismatch(std::string why) { return {false, HUGE_VAL, std::move(why)}; }

std::string place(const Tensor& tensor, int64_t position) {
  ir::Shape index(tensor.shape().size());
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = position % tensor.shape()[d];
    position /= tensor.shape()[d];
  }
  return index.empty() ? "the only element" : fmt::format("element {}", ir::to_string(index));
}

Comparison compare_strings(const Tensor& want, const Tensor& got) {
  for (int64_t k = 0; k < want.size(); ++k) {
    if (want.strings()[k] == got.strings()[k]) continue;
    return mismatch(
        fmt::format("{} is '{}', expected '{}'", place(want, k), got.strings()[k], want.strings()[k]));
  }
  return {};
}

Comparison compare_integers(const Tensor& want, const Tensor& got, const Tolerance& tolerance) {
  Comparison result;
  int64_t different = 0;
  int64_t worst = 0;
  for (int64_t k = 0; k < want.size(); ++k) {
    const int64_t w = want.get_int(k);
    const int64_t g = got.get_int(k);
    if (w == g) continue;
    ++different;
    const double error = std::fabs(static_cast<double>(w) - static_cast<double>(g));
    if (error > result.max_abs_error) {
      result.max_abs_error = error;
      worst = k;
    }
  }
  const double allowed = tolerance.quantised() ? 0.05 * static_cast<double>(want.size()) : 0;
  if (static_cast<double>(different) <= allowed) return result;
  result.ok = false;
  result.why = fmt::format("{} of {} integers differ; {} is {}, expected {}", different, want.size(),
                           place(want, worst), got.get_int(worst), want.get_int(worst));
  return result;
}

Comparison compare_floats(const Tensor& want, const Tensor& got, const Tolerance& tolerance) {
  Comparison result;
  double top = 0;
  int64_t worst = -1;
  for (int64_t k = 0; k < want.size(); ++k) {
    const double w = want.get_real(k);
    const double g = got.get_real(k);
    if (std::isfinite(w)) top = std::max(top, std::fabs(w));
    if (w == g || (std::isnan(w) && std::isnan(g))) continue;
    const double difference = std::fabs(w - g);
    const double error = std::isnan(difference) ? HUGE_VAL : difference;
    if (worst >= 0 && error <= result.max_abs_error) continue;
    result.max_abs_error = error;
    worst = k;
  }
  if (worst < 0) return result;
  const double limit = tolerance.relative * std::max(top, 0.01);
  if (!(result.max_abs_error <= limit)) {
    result.ok = false;
    result.why = fmt::format("{} is {:.9g}, expected {:.9g} (tolerance {:.3g})", place(want, worst),
                             got.get_real(worst), want.get_real(worst), limit);
    return result;
  }
  if (!tolerance.quantised()) return result;
  int64_t far = 0;
  for (int64_t k = 0; k < want.size(); ++k) {
    far += std::fabs(want.get_real(k) - got.get_real(k)) > limit / 2 ? 1 : 0;
  }
  result.ok = static_cast<double>(far) <= 0.005 * static_cast<double>(want.size());
  if (!result.ok)
    result.why = fmt::format("{} of {} elements are off by more than {:.3g}", far, want.size(), limit / 2);
  return result;
}

Comparison compare_tensors(const Tensor& want, const Tensor& got, const Tolerance& tolerance) {
  if (!got.defined() || !want.defined()) {
    return got.defined() == want.defined() ? Comparison{} : mismatch("one of the two is absent");
  }
  if (want.shape() != got.shape()) {
    return mismatch(
        fmt::format("shape {}, expected {}", ir::to_string(got.shape()), ir::to_string(want.shape())));
  }
  if (want.type() != got.type()) {
    return mismatch(
        fmt::format("element type {}, expected {}", ir::name_of(got.type()), ir::name_of(want.type())));
  }
  if (want.type() == ElementType::string) return compare_strings(want, got);
  return ir::is_float(want.type()) ? compare_floats(want, got, tolerance)
                                   : compare_integers(want, got, tolerance);
}

}  // namespace

Tolerance tolerance_of(const Options& options) { return {options.tolerance.value_or(Tolerance{}.relative)}; }

Comparison compare(const RuntimeValue& want, const RuntimeValue& got, const Tolerance& tolerance) {
  if (want.kind != got.kind) {
    return mismatch(fmt::format("a {}, expected a {}", kind_name(got.kind), kind_name(want.kind)));
  }
  if (want.kind == ValueKind::tensor) return compare_tensors(want.tensor, got.tensor, tolerance);
  const size_t wanted = want.items ? want.items->size() : 0;
  const size_t given = got.items ? got.items->size() : 0;
  if (wanted != given) return mismatch(fmt::format("{} elements, expected {}", given, wanted));
  Comparison result;
  for (size_t k = 0; k < wanted; ++k) {
    const Comparison part = compare((*want.items)[k], (*got.items)[k], tolerance);
    result.max_abs_error = std::max(result.max_abs_error, part.max_abs_error);
    if (part.ok || !result.ok) continue;
    result.ok = false;
    const char* of_map = k == 0 ? "its keys: " : "its values: ";
    result.why = (want.kind == ValueKind::map ? of_map : fmt::format("its element {}: ", k)) + part.why;
  }
  return result;
}

}  // namespace axrun::cli
