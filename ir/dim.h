#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/api.h"

namespace axrun::ir {

struct DimNode;

/// The size of one tensor dimension: an integer, or an integer expression over named sizes.
///
/// Sums and products are kept as canonical polynomials over atoms (a name, a floor division, a modulo, a
/// minimum or a maximum), so that two Dims that are equal as polynomials compare equal. Arithmetic saturates
/// instead of overflowing: a size at the bounds of int64 is refused wherever memory would be allocated.
class AXRUN_API Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}  // NOLINT: a literal is a Dim
  static Dim symbol(const std::string& name);

  bool is_constant() const { return node_ == nullptr; }
  /// The value of a constant Dim; asserts otherwise.
  int64_t value() const;
  std::optional<int64_t> constant() const;

  friend AXRUN_API Dim operator+(const Dim& a, const Dim& b);
  friend AXRUN_API Dim operator-(const Dim& a, const Dim& b);
  friend AXRUN_API Dim operator*(const Dim& a, const Dim& b);
  /// Quotient rounded towards minus infinity; exact when the polynomial divides. A constant divisor must not
  /// be 0.
  friend AXRUN_API Dim floor_div(const Dim& a, const Dim& b);
  /// a - b * floor_div(a, b).
  friend AXRUN_API Dim floor_mod(const Dim& a, const Dim& b);
  friend AXRUN_API Dim min(const Dim& a, const Dim& b);
  friend AXRUN_API Dim max(const Dim& a, const Dim& b);
  friend AXRUN_API bool operator==(const Dim& a, const Dim& b);
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }

  /// Replaces named sizes; names that are absent stay symbolic.
  Dim substitute(const std::map<std::string, Dim>& sizes) const;
  void collect_symbols(std::vector<std::string>& names) const;
  /// "3", "batch", "2*seq + 1", "(n + 3) / 4": parse_dim is its inverse.
  std::string to_string() const;

 private:
  explicit Dim(std::shared_ptr<const DimNode> node) : node_(std::move(node)) {}
  friend struct DimNode;
  int64_t value_ = 0;
  std::shared_ptr<const DimNode> node_;
};

AXRUN_API Dim ceil_div(const Dim& a, const Dim& b);
/// Throws Error(user) with the position of the first mistake.
AXRUN_API Dim parse_dim(const std::string& text);

using Dims = std::vector<Dim>;

AXRUN_API Dim product(const Dims& dims);
/// nullopt when a dim is symbolic.
AXRUN_API std::optional<std::vector<int64_t>> constant_dims(const Dims& dims);
AXRUN_API Dims to_dims(const std::vector<int64_t>& shape);
/// "[2, batch, 3]".
AXRUN_API std::string to_string(const Dims& dims);
AXRUN_API std::string to_string(const std::vector<int64_t>& shape);

}  // namespace axrun::ir
