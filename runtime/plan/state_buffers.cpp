#include "runtime/plan/state_buffers.h"

#include <algorithm>
#include <cstring>

#include "ir/operator.h"

namespace axrun::runtime {

std::vector<StateBuffer> state_buffers(const ir::Graph& graph) {
  const auto place_of = [&](ir::ValueId id) {
    return static_cast<size_t>(std::find(graph.inputs.begin(), graph.inputs.end(), id) -
                               graph.inputs.begin());
  };
  std::vector<StateBuffer> buffers;
  for (const ir::Node& node : graph.nodes) {
    if (node.domain != ir::state_domain || node.op != "Append") continue;
    const size_t buffer = place_of(node.inputs[0]), past = place_of(node.inputs[1]);
    if (buffer == graph.inputs.size() || past == graph.inputs.size()) continue;
    buffers.push_back({buffer, past, static_cast<size_t>(node.attributes.at("axis").integer)});
  }
  return buffers;
}

void copy_positions(const ir::Tensor& from, ir::Tensor& to, size_t axis, int64_t positions) {
  int64_t rows = 1, step = static_cast<int64_t>(ir::size_of(from.type()));
  for (size_t d = 0; d < axis; ++d) rows *= from.shape()[d];
  for (size_t d = axis + 1; d < from.shape().size(); ++d) step *= from.shape()[d];
  const int64_t bytes = positions * step;
  if (bytes == 0) return;
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(to.as<char>() + row * to.shape()[axis] * step,
                from.as<char>() + row * from.shape()[axis] * step, static_cast<size_t>(bytes));
  }
}

}  // namespace axrun::runtime
