#include "verify/merged_dims.h"

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
    for (size_t k = runs_[j].size(); k-- > 0;) {
      const size_t d = runs_[j][k];
      split[d] = k == 0 ? rest : terms.floor_mod(rest, dims_[d]);
      if (k > 0) rest = terms.floor_div(rest, dims_[d]);
    }
  }
  return split;
}

}  // namespace axrun::verify
