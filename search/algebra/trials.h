#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/tensor.h"
#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// Values of terms at small sizes and random leaves, computed by the reference interpreter in f64. Terms of
/// different values cannot be equal; of equal ones nothing is known.
class Trials {
 public:
  explicit Trials(const Terms& terms, uint64_t seed = 1);

  /// No for terms that cannot be computed at these sizes.
  bool same(TermId a, TermId b);
  /// Whether the term can be computed and is a number somewhere.
  bool meaningful(TermId id);
  int evaluations() const { return evaluations_; }

 private:
  struct Trial {
    std::map<std::string, ir::Dim> sizes;
    std::map<TermId, std::optional<ir::Tensor>> values;
  };
  const ir::Tensor* value(Trial& trial, TermId id);
  ir::Dim size_of(Trial& trial, const std::string& name);
  std::optional<ir::Shape> shape_of(Trial& trial, const ir::Dims& dims);

  const Terms& terms_;
  uint64_t seed_;
  std::vector<Trial> trials_;
  int evaluations_ = 0;
};

}  // namespace axrun::search::algebra
