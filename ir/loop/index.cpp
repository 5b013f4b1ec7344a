#include "ir/loop/index.h"

#include <algorithm>

#include "ir/error.h"

namespace axrun::ir::loop {

Index::Index(const Dim& dim, const std::map<std::string, Dim>& sizes,
             const std::vector<std::string>& variables)
    : dim_(dim.substitute(sizes)), variables_(variables) {
  std::vector<std::string> used;
  dim_.collect_symbols(used);
  std::map<std::string, Dim> origin;
  for (const std::string& name : used) origin[name] = 0;
  // An affine form is told by its values at the origin and at the unit points, if it is one at all: equal
  // polynomials compare equal. At the origin a quotient may divide by zero, so ask only forms without one.
  const auto at_origin = dim_.substitute(origin).constant();
  if (!at_origin) return;
  Dim form = *at_origin;
  for (const std::string& name : used) {
    const auto found = std::find(variables.begin(), variables.end(), name);
    AXRUN_ASSERT(found != variables.end());
    std::map<std::string, Dim> unit = origin;
    unit[name] = 1;
    const auto value = dim_.substitute(unit).constant();
    if (!value) return;
    terms_.emplace_back(static_cast<size_t>(found - variables.begin()), *value - *at_origin);
    form = form + Dim(*value - *at_origin) * Dim::symbol(name);
  }
  affine_ = form == dim_;
  constant_ = *at_origin;
}

int64_t Index::at(const std::vector<int64_t>& values) const {
  if (affine_) {
    int64_t sum = constant_;
    for (const auto& [position, coefficient] : terms_) sum += coefficient * values[position];
    return sum;
  }
  std::map<std::string, Dim> known;
  for (size_t k = 0; k < variables_.size(); ++k) known[variables_[k]] = values[k];
  return dim_.substitute(known).value();
}

}  // namespace axrun::ir::loop
