#pragma once

// The inside of Dim: canonical polynomials over atoms. Only the dim*.cpp files, emitters of machine code
// (jit/), verify/dim_terms.cpp and loop/index.cpp include it.
//
// A symbolic Dim is a sum of terms; a term is an integer times a product of atoms; an atom is a name or an
// operation that a polynomial cannot express. Every list is sorted by a total order, so equality is
// structural.
//
// Two assumptions simplify, both true of sizes: a name stands for an integer >= 0, and a divisor is not 0.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace axrun::ir {

/// Bounds of a value, both inclusive; the bounds of int64 mean that nothing is known on that side.
struct DimInterval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

struct DimAtom {
  /// In the order in which atoms are sorted.
  enum class Kind : uint8_t { symbol, floor_div, floor_mod, min, max };
  Kind kind;
  std::string name;  ///< of a symbol
  std::vector<Dim>
      arguments;  ///< two of a division or modulo, two or more (sorted, flattened) of min and max
  DimInterval range;
  int weight = 1;  ///< nodes of the expression written out as a tree
  int depth = 1;   ///< of nested atoms
};

using DimAtomPointer = std::shared_ptr<const DimAtom>;

struct DimTerm {
  int64_t coefficient;
  std::vector<DimAtomPointer> factors;  ///< sorted, a power is a repetition; empty for the constant term
};

/// Sorted by descending degree, then by atoms; the constant term is last. No coefficient is 0.
using DimTerms = std::vector<DimTerm>;

/// What a symbolic Dim points to.
struct DimNode {
  DimTerms terms;

  static const DimNode* of(const Dim& dim) { return dim.node_.get(); }
  static Dim wrap(std::shared_ptr<const DimNode> node) { return Dim(std::move(node)); }
};

/// Larger expressions are refused with Error(unsupported): a hostile model could double their size at every
/// node.
constexpr int dim_weight_limit = 1024;
constexpr int dim_depth_limit = 64;

int64_t saturating_add(int64_t a, int64_t b);
int64_t saturating_multiply(int64_t a, int64_t b);
int64_t saturating_negate(int64_t a);
/// Divisor not 0.
int64_t floor_quotient(int64_t a, int64_t b);
int64_t floor_remainder(int64_t a, int64_t b);

DimTerms terms_of(const Dim& dim);
/// Any order, repeated monomials allowed: sorts, merges, and drops zeros.
Dim dim_from_terms(DimTerms terms);
Dim dim_from_term(const DimTerm& term);
Dim dim_from_atom(DimAtom::Kind kind, std::vector<Dim> arguments);
/// The atom, when the Dim is exactly one atom of this kind.
const DimAtom* single_atom(const Dim& dim, DimAtom::Kind kind);
/// The constant term, 0 when there is none.
int64_t constant_part(const Dim& dim);

/// Total orders: negative, zero or positive.
int compare(const Dim& a, const Dim& b);
int compare(const DimAtom& a, const DimAtom& b);

/// Whether `divisor` is a sub-multiset of `factors`; the rest of the factors.
std::optional<std::vector<DimAtomPointer>> divide_factors(const std::vector<DimAtomPointer>& factors,
                                                          const std::vector<DimAtomPointer>& divisor);

/// Bounds that follow from names being >= 0.
DimInterval range_of(const Dim& dim);
DimInterval range_of_atom(DimAtom::Kind kind, const std::vector<Dim>& arguments);
/// True only when a >= b for all sizes.
bool provably_at_least(const Dim& a, const Dim& b);

}  // namespace axrun::ir
