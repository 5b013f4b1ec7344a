#include "ir/dim_polynomial.h"

#include <algorithm>

#include "ir/error.h"

namespace axrun::ir {
namespace {

int compare_factors(const std::vector<DimAtomPointer>& a, const std::vector<DimAtomPointer>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (const int order = compare(*a[i], *b[i]); order != 0) return order;
  }
  return 0;
}

int compare_terms(const DimTerms& a, const DimTerms& b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (const int order = compare_factors(a[i].factors, b[i].factors); order != 0) return order;
    if (a[i].coefficient != b[i].coefficient) return a[i].coefficient < b[i].coefficient ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

[[noreturn]] void throw_too_complex() {
  throw Error(Fault::unsupported, "an expression of named sizes grew beyond " +
                                      std::to_string(dim_weight_limit) + " terms or " +
                                      std::to_string(dim_depth_limit) + " nested operations");
}

void check_weight(const DimTerms& terms) {
  int weight = 0;
  for (const DimTerm& term : terms) {
    weight += 1;
    for (const DimAtomPointer& atom : term.factors) {
      weight += atom->weight;
      if (weight > dim_weight_limit) throw_too_complex();
    }
  }
  if (weight > dim_weight_limit) throw_too_complex();
}

}  // namespace

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

int64_t saturating_negate(int64_t a) { return a == INT64_MIN ? INT64_MAX : -a; }

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == -1) return saturating_negate(a);
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t floor_remainder(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

DimTerms terms_of(const Dim& dim) {
  if (const DimNode* node = DimNode::of(dim)) return node->terms;
  if (dim.value() == 0) return {};
  return {{dim.value(), {}}};
}

Dim dim_from_terms(DimTerms terms) {
  std::stable_sort(terms.begin(), terms.end(), [](const DimTerm& a, const DimTerm& b) {
    return compare_factors(a.factors, b.factors) < 0;
  });
  DimTerms merged;
  merged.reserve(terms.size());
  for (DimTerm& term : terms) {
    if (!merged.empty() && compare_factors(merged.back().factors, term.factors) == 0) {
      merged.back().coefficient = saturating_add(merged.back().coefficient, term.coefficient);
    } else {
      if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
      merged.push_back(std::move(term));
    }
  }
  if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
  if (merged.empty()) return 0;
  if (merged.front().factors.empty()) return merged.front().coefficient;
  check_weight(merged);
  return DimNode::wrap(std::make_shared<const DimNode>(DimNode{std::move(merged)}));
}

Dim dim_from_term(const DimTerm& term) { return dim_from_terms({term}); }

Dim dim_from_atom(DimAtom::Kind kind, std::vector<Dim> arguments) {
  DimAtom atom{kind, {}, std::move(arguments), {}};
  for (const Dim& argument : atom.arguments) {
    atom.weight += 1;
    const DimNode* node = DimNode::of(argument);
    if (node == nullptr) continue;
    for (const DimTerm& term : node->terms) {
      atom.weight += 1;
      for (const DimAtomPointer& factor : term.factors) {
        atom.weight += factor->weight;
        atom.depth = std::max(atom.depth, factor->depth + 1);
      }
    }
  }
  if (atom.weight > dim_weight_limit || atom.depth > dim_depth_limit) throw_too_complex();
  atom.range = range_of_atom(kind, atom.arguments);
  DimTerms terms;
  terms.push_back({1, {std::make_shared<const DimAtom>(std::move(atom))}});
  return dim_from_terms(std::move(terms));
}

const DimAtom* single_atom(const Dim& dim, DimAtom::Kind kind) {
  const DimNode* node = DimNode::of(dim);
  if (node == nullptr || node->terms.size() != 1) return nullptr;
  const DimTerm& term = node->terms.front();
  if (term.coefficient != 1 || term.factors.size() != 1 || term.factors.front()->kind != kind) return nullptr;
  return term.factors.front().get();
}

int64_t constant_part(const Dim& dim) {
  const DimNode* node = DimNode::of(dim);
  if (node == nullptr) return dim.value();
  return node->terms.back().factors.empty() ? node->terms.back().coefficient : 0;
}

int compare(const DimAtom& a, const DimAtom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (const int order = a.name.compare(b.name); order != 0) return order;
  if (a.arguments.size() != b.arguments.size()) return a.arguments.size() < b.arguments.size() ? -1 : 1;
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    if (const int order = compare(a.arguments[i], b.arguments[i]); order != 0) return order;
  }
  return 0;
}

int compare(const Dim& a, const Dim& b) {
  const DimNode* node_a = DimNode::of(a);
  const DimNode* node_b = DimNode::of(b);
  if (node_a != nullptr && node_b != nullptr) {
    return node_a == node_b ? 0 : compare_terms(node_a->terms, node_b->terms);
  }
  if (node_a != nullptr || node_b != nullptr) return node_a != nullptr ? -1 : 1;
  return a.value() == b.value() ? 0 : a.value() < b.value() ? -1 : 1;
}

std::optional<std::vector<DimAtomPointer>> divide_factors(const std::vector<DimAtomPointer>& factors,
                                                          const std::vector<DimAtomPointer>& divisor) {
  std::vector<DimAtomPointer> rest;
  size_t next = 0;
  for (const DimAtomPointer& factor : factors) {
    if (next < divisor.size() && compare(*factor, *divisor[next]) == 0) {
      ++next;
    } else {
      rest.push_back(factor);
    }
  }
  if (next != divisor.size()) return std::nullopt;
  return rest;
}

}  // namespace axrun::ir
