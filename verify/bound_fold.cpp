#include "verify/bound_fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ir/arithmetic.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using MonoidKind = ir::Monoid::Kind;

double largest_finite(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return std::numeric_limits<double>::max();
    case ElementType::f32:
    case ElementType::bf16:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return 65504;  // f16; the f8 types are not added up in themselves
  }
}

}  // namespace

Fold::Fold(MonoidKind kind, ElementType type) : kind_(kind), type_(type) { start(); }

void Fold::start() {
  double first = kind_ == MonoidKind::product ? 1 : 0;
  if (kind_ == MonoidKind::min || kind_ == MonoidKind::max) {
    const bool low = kind_ == MonoidKind::max;
    first = low ? -infinity : infinity;
    if (!ir::is_float(type_))
      first = static_cast<double>(low ? ir::integer_min(type_) : ir::integer_max(type_));
  }
  sums_ = {};
  sums_.running = Interval::exactly(first);
}

void Fold::add(const Lanes& terms, int first, int count) {
  if (kind_ == MonoidKind::sum) return add_to_sum(terms, first, count);
  if (kind_ == MonoidKind::product) {
    const bool real = ir::is_float(type_);
    for (int k = first; k < first + count; ++k) {
      const Interval term = terms.at(k);
      // f64 rounds next to nothing: what f32 rounds is added at the end.
      sums_.running = apply(ir::ScalarOp::mul, real ? ElementType::f64 : type_, sums_.running, term);
      const double most = std::max(std::fabs(term.low), std::fabs(term.high));
      const double least = std::min(std::fabs(term.low), std::fabs(term.high));
      if (most > 1) sums_.largest *= most;
      if (least < 1 && least > 0) sums_.smallest *= least;
      sums_.whole &= term.is_certain() && term.value == std::trunc(term.value);
      if (term.value != 1) ++sums_.terms;
    }
    return;
  }
  const ir::ScalarOp op = kind_ == MonoidKind::min ? ir::ScalarOp::min : ir::ScalarOp::max;
  for (int k = first; k < first + count; ++k) {
    const Interval term = terms.at(k);
    if (term.is_nan() || sums_.running.is_nan()) {
      sums_.running = Interval::not_a_number();
    } else if (term.is_anything() || sums_.running.is_anything()) {
      sums_.running = Interval::anything(term.value);
    } else if (op == ir::ScalarOp::min) {
      sums_.running = {std::min(sums_.running.value, term.value), std::min(sums_.running.low, term.low),
                       std::min(sums_.running.high, term.high)};
    } else {
      sums_.running = {std::max(sums_.running.value, term.value), std::max(sums_.running.low, term.low),
                       std::max(sums_.running.high, term.high)};
    }
  }
}

void Fold::add_to_sum(const Lanes& terms, int first, int count) {
  const size_t next = terms.uniform ? 0 : 1;
  const size_t begin = terms.uniform ? 0 : static_cast<size_t>(first);
  const double* value = terms.value.data() + begin;
  const double* low = terms.lows() + begin;
  const double* high = terms.highs() + begin;
  constexpr double to_whole = 0x1.8p52;  // added and taken away again, it rounds to an integer
  // Several sums side by side: one addition would wait for the other.
  constexpr size_t ways = 8;
  std::array<double, ways> sums{}, low_sums{}, high_sums{}, magnitudes{}, zero_terms{}, fraction_terms{};
  const auto take = [&](size_t way, size_t k) {
    const double x = value[k];
    const double below = std::fabs(low[k]);
    const double above = std::fabs(high[k]);
    const double most = below > above ? below : above;
    sums[way] += x;
    low_sums[way] += low[k];
    high_sums[way] += high[k];
    magnitudes[way] += most;
    zero_terms[way] += most == 0 ? 1.0 : 0.0;
    fraction_terms[way] += (x + to_whole) - to_whole == x ? 0.0 : 1.0;
  };
  const auto many = static_cast<size_t>(count);
  size_t k = 0;
  for (; next == 1 && k + ways <= many; k += ways) {
    for (size_t way = 0; way < ways; ++way) take(way, k + way);
  }
  for (; k < many; ++k) take(0, k * next);
  const auto all = [](const std::array<double, ways>& parts) {
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  };
  const double sum = all(sums), low_sum = all(low_sums), high_sum = all(high_sums),
               magnitude = all(magnitudes);
  const double zeros = all(zero_terms), fractions = all(fraction_terms);
  sums_.whole &= terms.certain && fractions == 0;
  sums_.terms += count - zeros;
  sums_.value += sum;
  if (low_sum - high_sum > -infinity && magnitude < infinity) {
    sums_.low += low_sum;
    sums_.high += high_sum;
    sums_.magnitude += magnitude;
    return;
  }
  for (k = 0; k < many; ++k) note_special({value[k * next], low[k * next], high[k * next]});
}

/// Infinities and NaN are counted, the rest is added up.
void Fold::note_special(const Interval& term) {
  sums_.whole = false;
  if (term.is_nan()) {
    sums_.nan = true;
    return;
  }
  if (term.is_anything()) {
    sums_.anything = true;
    return;
  }
  sums_.sure_positive |= term.low == infinity;
  sums_.sure_negative |= term.high == -infinity;
  sums_.maybe_positive |= term.high == infinity;
  sums_.maybe_negative |= term.low == -infinity;
  if (std::isfinite(term.low)) sums_.low += term.low;
  if (std::isfinite(term.high)) sums_.high += term.high;
  double most = 0;
  if (std::isfinite(term.low)) most = std::fabs(term.low);
  if (std::isfinite(term.high)) most = std::max(most, std::fabs(term.high));
  sums_.magnitude += most;
}

Interval Fold::sum() const {
  if (!ir::is_float(type_)) {
    if (sums_.anything) return Interval::anything(sums_.value);
    if (!(sums_.magnitude <= largest_integer)) throw NoBound{"integers beyond 2^53 are not followed"};
    auto wrapped = [&](double x) {
      return ir::integer_to_real(type_, ir::wrap_to(type_, static_cast<int64_t>(x)));
    };
    if (sums_.low == sums_.high) return Interval::exactly(wrapped(sums_.value));
    if (wrapped(sums_.low) == sums_.low && wrapped(sums_.high) == sums_.high)
      return {sums_.value, sums_.low, sums_.high};
    return Interval::anything(wrapped(sums_.value));
  }
  if (sums_.nan || (sums_.sure_positive && sums_.sure_negative)) return Interval::not_a_number();
  if (sums_.anything || (sums_.maybe_positive && sums_.maybe_negative))
    return Interval::anything(sums_.value);
  const double whole_limit = 1 / unit_roundoff(type_);
  if (sums_.whole && sums_.magnitude <= whole_limit) return Interval::exactly(sums_.value);
  const double error = sum_error(type_, sums_.terms) * sums_.magnitude;
  // Terms of one sign may be added up first, and overflow.
  const double limit = largest_finite(type_);
  const bool overflows = (sums_.magnitude + sums_.high) / 2 + error > limit || sums_.maybe_positive;
  const bool underflows = (sums_.magnitude - sums_.low) / 2 + error > limit || sums_.maybe_negative;
  if (overflows && underflows) return Interval::anything(sums_.value);
  if (sums_.sure_positive || sums_.sure_negative)
    return Interval::exactly(sums_.sure_positive ? infinity : -infinity);
  return {sums_.value, underflows ? -infinity : sums_.low - error, overflows ? infinity : sums_.high + error};
}

Interval Fold::product() const {
  if (!ir::is_float(type_) || sums_.running.is_nan() || sums_.running.is_anything()) return sums_.running;
  if (sums_.whole && sums_.largest <= 1 / unit_roundoff(type_))
    return Interval::exactly(std::round(sums_.running.value));
  const double least_normal = type_ == ElementType::f64 ? 0x1p-1022 : 0x1p-126;
  if (sums_.largest > largest_finite(type_) || sums_.smallest < least_normal)
    return Interval::anything(sums_.running.value);
  const double error = sum_error(type_, sums_.terms);
  auto by = [&](double x) { return std::isinf(x) ? 0 : error * std::fabs(x) + least_positive(type_); };
  return rounded(type_, {sums_.running.value, sums_.running.low - by(sums_.running.low),
                         sums_.running.high + by(sums_.running.high)});
}

Interval Fold::result() const {
  if (kind_ == MonoidKind::sum) return sum();
  if (kind_ == MonoidKind::product) return product();
  return sums_.running;
}

}  // namespace axrun::verify
