#include "verify/merged_dims.h"

#include <algorithm>

#include "verify/checks.h"

namespace axrun::verify {

std::optional<MergedDims> MergedDims::find(Terms& terms, const TermList& dims, const TermList& merged) {
  MergedDims found;
  found.dims_ = dims;
  const Term one = terms.integer(1);
  size_t next = 0;
  for (const Term wanted : merged) {
    std::vector<size_t> run;
    Term product = one;
    while (product != wanted && next < dims.size()) {
      if (dims[next] != one) {
        product = terms.multiply(product, dims[next]);
        run.push_back(next);
      }
      ++next;
    }
    if (product != wanted && checks::on("rewrites.dims")) return std::nullopt;
    found.runs_.push_back(std::move(run));
  }
  for (; next < dims.size(); ++next) {
    if (dims[next] != one) return std::nullopt;
  }
  return found;
}

TermList MergedDims::merge(Terms& terms, const TermList& coordinates) const {
  TermList merged;
  for (const std::vector<size_t>& run : runs_) {
    Term position = terms.integer(0);
    for (const size_t d : run) position = terms.add(terms.multiply(position, dims_[d]), coordinates[d]);
    merged.push_back(position);
  }
  return merged;
}

TermList MergedDims::split(Terms& terms, const TermList& coordinates) const {
  TermList split(dims_.size(), terms.integer(0));
  for (size_t j = 0; j < runs_.size(); ++j) {
    Term rest = coordinates[j];
    const std::vector<size_t>& run = runs_[j];
    // Where a dim is a size, remainders are written as what quotients leave: put together again, products
    // with that size cancel term by term, and the solver is not asked about them.
    const bool by_size = !run.empty() && std::any_of(run.begin() + 1, run.end(),
                                                     [&](size_t d) { return !terms.is_literal(dims_[d]); });
    for (size_t k = run.size(); k-- > 1;) {
      const Term dim = dims_[run[k]], quotient = terms.floor_div(rest, dim);
      split[run[k]] =
          by_size ? terms.subtract(rest, terms.multiply(dim, quotient)) : terms.floor_mod(rest, dim);
      rest = quotient;
    }
    if (!run.empty()) split[run[0]] = rest;
  }
  return split;
}

}  // namespace axrun::verify
