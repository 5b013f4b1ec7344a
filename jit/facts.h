#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace axrun::jit {

/// Bounds of an integer, both inclusive; the bounds of int64 mean that nothing is known on that side.
struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

/// What an emitter knows about sizes and loop variables at one place of the code, and what follows from it.
/// Cheap and incomplete: what it cannot decide is decided by the code at run time.
class Facts {
 public:
  void set_range(const std::string& name, Interval range) { ranges_[name] = range; }
  void forget_range(const std::string& name) { ranges_.erase(name); }
  /// From here on `dim` >= 0 holds; forget drops the latest ones.
  void assume_nonnegative(const ir::Dim& dim) { assumed_.push_back(dim); }
  size_t assumptions() const { return assumed_.size(); }
  void forget(size_t down_to) { assumed_.resize(down_to); }

  Interval range(const ir::Dim& dim) const;
  bool is_nonnegative(const ir::Dim& dim) const;
  /// The same value with minima and maxima replaced by the argument that is known to be it.
  ir::Dim resolve(const ir::Dim& dim) const;

 private:
  std::map<std::string, Interval> ranges_;
  std::vector<ir::Dim> assumed_;
};

/// coefficient * factors[0] * factors[1] * ...; a factor is a name, or a quotient, modulo, minimum, maximum.
struct Monomial {
  int64_t coefficient = 0;
  std::vector<ir::Dim> factors;
};
std::vector<Monomial> monomials(const ir::Dim& dim);
ir::Dim to_dim(const Monomial& monomial);

/// An atom of a Dim: what a factor is.
struct Atom {
  enum class Kind : uint8_t { name, floor_div, floor_mod, min, max };
  Kind kind = Kind::name;
  std::string name;
  ir::Dims arguments;
};
/// `dim` must be a factor of a monomial.
Atom atom_of(const ir::Dim& dim);

bool mentions(const ir::Dim& dim, const std::string& name);

/// The same value, with digits put together: c * (x / c) + x mod c is x.
ir::Dim with_joined_digits(const ir::Dim& dim);

/// dim = coefficient * name + rest, where neither mentions the name.
struct Linear {
  bool exists = false;  ///< false: the name stands inside a quotient, a minimum, or a square
  ir::Dim coefficient;
  ir::Dim rest;
};
Linear linear_in(const ir::Dim& dim, const std::string& name);

}  // namespace axrun::jit
