#include "verify/math_reference.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/lasting.h"

namespace axrun::verify {
namespace {

constexpr mpfr_prec_t precision = 256;

/// An MPFR number, freed with its scope.
class Number {
 public:
  explicit Number(double value) {
    mpfr_init2(number_, precision);
    mpfr_set_d(number_, value, MPFR_RNDN);
  }
  ~Number() { mpfr_clear(number_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  operator mpfr_ptr() { return number_; }  // NOLINT: passed to mpfr_* as its own type is
  double rounded() const { return mpfr_get_d(number_, MPFR_RNDN); }

 private:
  mpfr_t number_;
};

using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

template <Function function>
double precise(double x) {
  Number number(x);
  function(number, number, MPFR_RNDN);
  return number.rounded();
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

double precise_sigmoid(double x) {
  Number number(-x);
  mpfr_exp(number, number, MPFR_RNDN);
  mpfr_add_ui(number, number, 1, MPFR_RNDN);
  mpfr_ui_div(number, 1, number, MPFR_RNDN);
  return number.rounded();
}

/// 1 + erf(z) = erfc(-z), which does not cancel. Rounding z costs 2 z^2 of it: under 2^-45 where z^2 < 128,
/// and from there on the result is below half of the least denormal float.
double gelu(double x) { return 0.5 * x * std::erfc(-x * (std::numbers::sqrt2 / 2)); }

double precise_gelu(double x) {
  Number number(-x);
  Number root(2.0);
  mpfr_sqrt(root, root, MPFR_RNDN);
  mpfr_div(number, number, root, MPFR_RNDN);
  mpfr_erfc(number, number, MPFR_RNDN);
  mpfr_mul_d(number, number, x, MPFR_RNDN);
  mpfr_div_ui(number, number, 2, MPFR_RNDN);
  return number.rounded();
}

double half_magnitude(double x) { return std::fabs(x) / 2; }

}  // namespace

const std::vector<MathReference>& math_references() {
  static const auto& references = lasting<std::vector<MathReference>>({
      {"exp", [](double x) { return std::exp(x); }, precise<mpfr_exp>},
      {"log", [](double x) { return std::log(x); }, precise<mpfr_log>},
      {"tanh", [](double x) { return std::tanh(x); }, precise<mpfr_tanh>},
      {"sigmoid", sigmoid, precise_sigmoid},
      {"erf", [](double x) { return std::erf(x); }, precise<mpfr_erf>},
      {"gelu", gelu, precise_gelu, half_magnitude},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, precise<mpfr_rec_sqrt>},
  });
  return references;
}

const MathReference* find_math_reference(std::string_view name) {
  const auto& all = math_references();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace axrun::verify
