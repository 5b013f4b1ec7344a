#include "ir/dim_quotients.h"

#include "ir/dim_polynomial.h"

namespace axrun::ir {
namespace {

std::optional<Quotient> quotient_of(const DimAtom& atom) {
  if (atom.kind != DimAtom::Kind::floor_div) return std::nullopt;
  const std::optional<int64_t> divisor = atom.arguments[1].constant();
  if (!divisor || *divisor <= 1) return std::nullopt;
  return Quotient{atom.arguments[0], *divisor};
}

void collect(const Dim& dim, std::vector<Quotient>& found) {
  for (const DimTerm& term : terms_of(dim)) {
    for (const DimAtomPointer& atom : term.factors) {
      if (auto quotient = quotient_of(*atom)) {
        found.push_back(*std::move(quotient));
        continue;
      }
      for (const Dim& argument : atom->arguments) collect(argument, found);
    }
  }
}

}  // namespace

std::vector<Quotient> quotients_in(const Dim& dim) {
  std::vector<Quotient> found;
  collect(dim, found);
  return found;
}

Dim with_quotients(const Dim& dim, const std::function<std::optional<Dim>(const Quotient&)>& change) {
  const auto changed = [&](const DimAtom& atom) -> Dim {
    if (atom.kind == DimAtom::Kind::symbol) return Dim::symbol(atom.name);
    if (const auto quotient = quotient_of(atom)) {
      if (auto other = change(*quotient)) return *std::move(other);
    }
    Dim result = with_quotients(atom.arguments[0], change);
    for (size_t k = 1; k < atom.arguments.size(); ++k) {
      const Dim next = with_quotients(atom.arguments[k], change);
      switch (atom.kind) {
        case DimAtom::Kind::floor_div:
          result = floor_div(result, next);
          break;
        case DimAtom::Kind::floor_mod:
          result = floor_mod(result, next);
          break;
        case DimAtom::Kind::min:
          result = min(result, next);
          break;
        default:
          result = max(result, next);
      }
    }
    return result;
  };
  Dim sum = 0;
  for (const DimTerm& term : terms_of(dim)) {
    Dim product = term.coefficient;
    for (const DimAtomPointer& atom : term.factors) product = product * changed(*atom);
    sum = sum + product;
  }
  return sum;
}

}  // namespace axrun::ir
