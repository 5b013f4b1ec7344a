#pragma once

#include <string>
#include <vector>

#include "search/algebra/terms.h"

namespace axrun::tests {

inline const ir::Dim n = ir::Dim::symbol("n"), m = ir::Dim::symbol("m"), k = ir::Dim::symbol("k");

/// Terms written by hand: operators of ONNX at opset 17.
class SmallTerms {
 public:
  search::algebra::TermId input(const std::string& name, const ir::Dims& dims);
  search::algebra::TermId constant(const std::string& name, const ir::Dims& dims);
  search::algebra::TermId number(double value);
  search::algebra::TermId call(
      const std::string& name, const std::vector<search::algebra::TermId>& children,
      const std::vector<std::pair<std::string, std::vector<int64_t>>>& attributes = {},
      const std::vector<ir::Dims>& parameters = {});
  search::algebra::TermId softmax(search::algebra::TermId x, int64_t axis);

  search::algebra::Terms terms;
};

}  // namespace axrun::tests
