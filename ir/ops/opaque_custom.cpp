#include "ir/custom_operator.h"
#include "ir/ops/opaque_functions.h"

namespace axrun::ir {

Tensors custom_function(const Stage& stage, const Tensors& arguments) {
  const auto& custom = payload_of<CustomStage>(stage);
  std::vector<CustomResult> results = results_of(custom);
  custom.kernel->run(
      arguments, results,
      [](int64_t count, const std::function<void(int64_t, int64_t)>& body) { body(0, count); });
  Tensors tensors;
  for (CustomResult& result : results) tensors.push_back(std::move(result.tensor));
  return tensors;
}

}  // namespace axrun::ir
