#include "verify/dim_terms.h"

#include "ir/dim_polynomial.h"
#include "ir/error.h"

namespace axrun::verify {
namespace {

using ir::DimAtom;

Term atom(Terms& terms, const DimAtom& atom, const Names& names) {
  if (atom.kind == DimAtom::Kind::symbol) {
    const auto found = names.find(atom.name);
    if (found == names.end())
      throw Error(Fault::unsupported, "the name " + atom.name + " stands for no size of the loop program");
    return found->second;
  }
  Term result = term_of(terms, atom.arguments[0], names);
  for (size_t k = 1; k < atom.arguments.size(); ++k) {
    const Term argument = term_of(terms, atom.arguments[k], names);
    switch (atom.kind) {
      case DimAtom::Kind::floor_div:
        result = terms.floor_div(result, argument);
        break;
      case DimAtom::Kind::floor_mod:
        result = terms.floor_mod(result, argument);
        break;
      case DimAtom::Kind::min:
        result = terms.minimum(result, argument);
        break;
      default:
        result = terms.maximum(result, argument);
        break;
    }
  }
  return result;
}

}  // namespace

Term term_of(Terms& terms, const ir::Dim& dim, const Names& names) {
  Term sum = terms.integer(0);
  for (const ir::DimTerm& term : ir::terms_of(dim)) {
    Term product = terms.integer(term.coefficient);
    for (const ir::DimAtomPointer& factor : term.factors)
      product = terms.multiply(product, atom(terms, *factor, names));
    sum = terms.add(sum, product);
  }
  return sum;
}

TermList terms_of(Terms& terms, const ir::Dims& dims, const Names& names) {
  TermList list;
  for (const ir::Dim& dim : dims) list.push_back(term_of(terms, dim, names));
  return list;
}

}  // namespace axrun::verify
