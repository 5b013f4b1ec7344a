#include "ir/ops/indexing_parts.h"

namespace axrun::ir {

void indexing_operators(std::vector<OperatorEntry>& table) {
  gathering_operators(table);
  scattering_operators(table);
  top_k_operators(table);
}

Scalar from_end(const Scalar& index, const Dim& size) {
  const Scalar wide = cast(ElementType::i64, index);
  return select(wide < 0, wide + size, wide);
}

}  // namespace axrun::ir
