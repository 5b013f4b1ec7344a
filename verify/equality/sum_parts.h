#pragma once

#include <algorithm>
#include <deque>
#include <iterator>

#include "verify/equality/sum.h"

namespace axrun::verify::equality {

/// In the middle of the range of an integer type; other types are the rationals.
Rational wrapped(ir::ElementType type, const Rational& value);

/// Sorted by atom, powers of one atom together.
void sort_factors(std::vector<Factor>& factors, const std::deque<Atom>& atoms);

/// Of sorted lists.
inline TermList united(const TermList& a, const TermList& b) {
  TermList out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

inline size_t mixed(size_t hash, size_t more) {
  return (hash ^ more) * 0x9E3779B97F4A7C15u + (hash >> 29) + 1;
}

}  // namespace axrun::verify::equality
