#include <algorithm>

#include "search/epilogue.h"
#include "search/inverted_residual.h"

namespace axrun::search {

namespace {

/// Blocks of channels whose lines take half of the nearest cache at most, next to what is multiplied.
int64_t block_of(const jit::Target& target, int64_t channels, int64_t tile, int64_t line_bytes) {
  const int64_t nearest = target.caches.empty() ? int64_t{32} << 10 : target.caches[0].bytes;
  const int64_t most = std::max<int64_t>(1, nearest / 2 / line_bytes / tile) * tile;
  const int64_t count = (channels + most - 1) / most;
  return ((channels + count - 1) / count + tile - 1) / tile * tile;
}

}  // namespace

InvertedResidualPlan plan_inverted_residual(const PieceContext& context, const InvertedResidualForm& form) {
  const ir::Stage& sum = *form.product.sum;
  const int64_t channels = context.facts.typical(sum.axes[static_cast<size_t>(form.channel.product)].extent);
  double depth = 1;
  for (const ir::Axis& axis : sum.reduce_axes) depth *= static_cast<double>(axis.extent.value());
  const auto lines = [&](int64_t count) { return std::min(form.lines(count), form.move.extent); };
  const auto tile = [&](int64_t count) {
    return register_tile(channels, lines(count) * form.width, context.target, true);
  };
  const auto block = [&](int64_t count) {
    return block_of(context.target, channels, tile(count).rows, lines(count) * form.width * 4);
  };

  InvertedResidualPlan plan;
  CostOfOperand operand;
  operand.cycles = [&](int64_t count) { return depth * tile(count).cycles; };
  operand.bytes = [&](int64_t count) { return block(count) * lines(count) * form.width * 4; };
  plan.windows = plan_chained_windows(context, form.windows, operand);
  int64_t most = 1;
  for (const Tiles& group : plan.windows.groups) most = std::max(most, group.size);
  plan.tile = tile(most);
  plan.block = block(most);
  plan.copied = form.product.epilogue != nullptr && is_long(context.program, *form.product.epilogue);
  return plan;
}

}  // namespace axrun::search
