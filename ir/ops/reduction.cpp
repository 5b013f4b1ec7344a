#include "ir/ops/reduction_parts.h"

namespace axrun::ir {

void reduction_operators(std::vector<OperatorEntry>& table) {
  reduce_operators(table);
  arg_operators(table);
  recurrence_operators(table);
  einsum_operators(table);
}

ReducedDims::ReducedDims(const Dims& dims, std::vector<bool> which, bool keep_dims)
    : reduced(std::move(which)), keep(keep_dims) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (reduced[d]) inner.push_back(dims[d]);
    if (!reduced[d]) {
      result.push_back(dims[d]);
    } else if (keep) {
      result.push_back(1);
    }
  }
}

Indices ReducedDims::at(const Indices& i, const Indices& k) const {
  Indices point;
  size_t outer = 0;
  size_t inner_place = 0;
  for (size_t d = 0; d < reduced.size(); ++d) {
    point.push_back(reduced[d] ? k[inner_place++] : i[outer]);
    if (!reduced[d] || keep) ++outer;
  }
  return point;
}

}  // namespace axrun::ir
