#include "ir/custom_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/error.h"
#include "ir/operator.h"

namespace axrun::ir {

std::vector<CustomResult> results_of(const CustomStage& stage) {
  std::vector<CustomResult> results = stage.results;
  for (CustomResult& result : results) {
    const auto shape = constant_dims(result.dims);
    if (shape && result.wanted) result.tensor = Tensor::allocate(result.type, *shape);
  }
  return results;
}

void CustomOperators::add(std::shared_ptr<const CustomOperator> made) {
  const std::string& domain = made->domain();
  const std::string& name = made->name();
  const std::string called = fmt::format("operator '{}' of domain '{}'", name, domain);
  if (find_operator(domain, name, std::numeric_limits<int>::max()) != nullptr ||
      is_graph_operator(domain, name)) {
    throw Error(Fault::user, fmt::format("{}: axrun has one of its own", called));
  }
  auto& rows = rows_[{domain, name}];
  const auto place =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row->since() <= made->since(); });
  if (place != rows.end() && (*place)->since() == made->since()) {
    throw Error(Fault::user, fmt::format("{}: there are two for version {}", called, made->since()));
  }
  rows.insert(place, std::move(made));
}

std::shared_ptr<const CustomOperator> CustomOperators::find(std::string_view domain, std::string_view name,
                                                            int version) const {
  const auto found = rows_.find({std::string(domain), std::string(name)});
  if (found == rows_.end()) return nullptr;
  const auto& rows = found->second;
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one->since() <= version; });
  return row == rows.end() ? nullptr : *row;
}

}  // namespace axrun::ir
