#include "ir/dim.h"

#include <algorithm>

#include "ir/dim_polynomial.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

Dim scaled(const Dim& dim, int64_t factor) {
  if (factor == 0) return 0;
  if (factor == 1) return dim;
  DimTerms terms = terms_of(dim);
  for (DimTerm& term : terms) term.coefficient = saturating_multiply(term.coefficient, factor);
  return dim_from_terms(std::move(terms));
}

DimTerm multiply_terms(const DimTerm& a, const DimTerm& b) {
  DimTerm product{saturating_multiply(a.coefficient, b.coefficient), {}};
  product.factors.resize(a.factors.size() + b.factors.size());
  std::merge(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), product.factors.begin(),
             [](const DimAtomPointer& x, const DimAtomPointer& y) { return compare(*x, *y) < 0; });
  return product;
}

/// min and max: the arguments that no other argument makes redundant.
Dim extremum(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  const auto redundant = [kind](const Dim& candidate, const Dim& other) {
    return kind == DimAtom::Kind::max ? provably_at_least(other, candidate)
                                      : provably_at_least(candidate, other);
  };
  std::vector<Dim> kept;
  for (const Dim& side : {a, b}) {
    const DimAtom* nested = single_atom(side, kind);
    for (const Dim& argument : nested != nullptr ? nested->arguments : std::vector<Dim>{side}) {
      if (std::any_of(kept.begin(), kept.end(), [&](const Dim& other) { return redundant(argument, other); }))
        continue;
      std::erase_if(kept, [&](const Dim& other) { return redundant(other, argument); });
      kept.push_back(argument);
    }
  }
  if (kept.size() == 1) return kept.front();
  std::sort(kept.begin(), kept.end(), [](const Dim& x, const Dim& y) { return compare(x, y) < 0; });
  return dim_from_atom(kind, std::move(kept));
}

Dim substitute_atom(const DimAtom& atom, const std::map<std::string, Dim>& sizes, const Dim& unchanged) {
  if (atom.kind == DimAtom::Kind::symbol) {
    const auto found = sizes.find(atom.name);
    return found == sizes.end() ? unchanged : found->second;
  }
  Dim result = atom.arguments[0].substitute(sizes);
  for (size_t i = 1; i < atom.arguments.size(); ++i) {
    const Dim argument = atom.arguments[i].substitute(sizes);
    switch (atom.kind) {
      case DimAtom::Kind::floor_div:
        result = floor_div(result, argument);
        break;
      case DimAtom::Kind::floor_mod:
        result = floor_mod(result, argument);
        break;
      case DimAtom::Kind::min:
        result = min(result, argument);
        break;
      default:
        result = max(result, argument);
        break;
    }
  }
  return result;
}

void collect_atom_symbols(const DimAtom& atom, std::vector<std::string>& names) {
  if (atom.kind != DimAtom::Kind::symbol) {
    for (const Dim& argument : atom.arguments) argument.collect_symbols(names);
  } else if (std::find(names.begin(), names.end(), atom.name) == names.end()) {
    names.push_back(atom.name);
  }
}

}  // namespace

Dim Dim::symbol(const std::string& name) {
  DimAtom atom{DimAtom::Kind::symbol, name, {}, range_of_atom(DimAtom::Kind::symbol, {})};
  return dim_from_term({1, {std::make_shared<const DimAtom>(std::move(atom))}});
}

int64_t Dim::value() const {
  AXRUN_ASSERT(is_constant());
  return value_;
}

std::optional<int64_t> Dim::constant() const {
  if (!is_constant()) return std::nullopt;
  return value_;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return saturating_add(a.value_, b.value_);
  if (a.is_constant() && a.value_ == 0) return b;
  if (b.is_constant() && b.value_ == 0) return a;
  DimTerms terms = terms_of(a);
  DimTerms more = terms_of(b);
  std::move(more.begin(), more.end(), std::back_inserter(terms));
  return dim_from_terms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    int64_t difference;
    if (!__builtin_sub_overflow(a.value_, b.value_, &difference)) return difference;
    return a.value_ < 0 ? INT64_MIN : INT64_MAX;
  }
  return a + scaled(b, -1);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return saturating_multiply(a.value_, b.value_);
  if (a.is_constant()) return scaled(b, a.value_);
  if (b.is_constant()) return scaled(a, b.value_);
  const DimTerms& left = a.node_->terms;
  const DimTerms& right = b.node_->terms;
  DimTerms terms;
  terms.reserve(left.size() * right.size());
  for (const DimTerm& x : left) {
    for (const DimTerm& y : right) terms.push_back(multiply_terms(x, y));
  }
  return dim_from_terms(std::move(terms));
}

Dim min(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.value_, b.value_);
  return extremum(DimAtom::Kind::min, a, b);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.value_, b.value_);
  return extremum(DimAtom::Kind::max, a, b);
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.value_ == b.value_;
  return compare(a, b) == 0;
}

Dim Dim::substitute(const std::map<std::string, Dim>& sizes) const {
  if (is_constant()) return *this;
  Dim sum = 0;
  for (const DimTerm& term : node_->terms) {
    Dim product = term.coefficient;
    for (const DimAtomPointer& atom : term.factors) {
      product = product * substitute_atom(*atom, sizes, dim_from_term({1, {atom}}));
    }
    sum = sum + product;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& names) const {
  if (is_constant()) return;
  for (const DimTerm& term : node_->terms) {
    for (const DimAtomPointer& atom : term.factors) collect_atom_symbols(*atom, names);
  }
}

Dim product(const Dims& dims) {
  Dim result = 1;
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

std::optional<std::vector<int64_t>> constant_dims(const Dims& dims) {
  std::vector<int64_t> shape;
  shape.reserve(dims.size());
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) return std::nullopt;
    shape.push_back(dim.value());
  }
  return shape;
}

Dims to_dims(const std::vector<int64_t>& shape) { return Dims(shape.begin(), shape.end()); }

}  // namespace axrun::ir
