#include <algorithm>
#include <numeric>

#include "search/attention.h"
#include "search/work.h"

namespace axrun::search {

AttentionPlan plan_attention(const PieceContext& context, const AttentionForm& form) {
  const SizeFacts& facts = context.facts;
  AttentionPlan plan;
  plan.scores = plan_contraction(context, form.scores);
  plan.output = plan_contraction(context, form.output);
  plan.rows = plan_rows(context, form.rows);
  const ir::Stage &scores = *form.scores.sum, &output = *form.output.sum;
  const auto typical = [&](const ir::Stage& stage, int axis) {
    return facts.typical(stage.axes[static_cast<size_t>(axis)].extent);
  };
  const ir::Dim& queries = scores.axes[static_cast<size_t>(form.scores.row)].extent;
  const int64_t keys = typical(scores, form.scores.column), values = typical(output, form.output.column);
  double batches = 1;
  for (const AttentionForm::Shared& shared : form.batch)
    batches *= static_cast<double>(typical(scores, shared.scores));
  const double points = batches * static_cast<double>(facts.typical(queries) * keys);
  const int64_t second =
      context.target.caches.size() > 1 ? context.target.caches[1].bytes : int64_t{256} << 10;
  const bool literal =
      queries.is_constant() && scores.axes[static_cast<size_t>(form.scores.column)].extent.is_constant();
  constexpr double bytes = 2 * 4;  // of a score and of its probability
  plan.together = !literal || bytes * points > static_cast<double>(second) / 2;
  if (!plan.together) return plan;

  // Whoever is inside of loops spreads nothing itself.
  for (ContractionPlan* product : {&plan.scores, &plan.output}) {
    product->spread = ContractionPlan::Spread::none;
    product->column_group = 1;
    // A block of queries takes the place of theirs.
    product->row_block = product->depth_block = 0;
  }
  plan.rows.parallel_axis = -1;

  // Fewer queries would read keys and values too often; more drive what they read out of the cache.
  constexpr int64_t fewest = 48, most = 128;
  const int64_t rows = plan.rows.lanes_along_rows ? plan.rows.lanes : plan.rows.rows_at_once;
  const int64_t tile = std::lcm(std::lcm(plan.scores.tile.rows, plan.output.tile.rows), rows);
  const int64_t wanted = std::clamp<int64_t>(second / 4 / (keys * 4), fewest, most);
  plan.block = std::max<int64_t>(1, wanted / tile) * tile;
  if (queries.is_constant()) {
    // Blocks of about the same size; none for hardly more than one.
    const int64_t count = std::max<int64_t>(1, (queries.value() + wanted / 4) / wanted);
    const int64_t each = (queries.value() + count - 1) / count;
    plan.block = count == 1 ? 0 : (each + tile - 1) / tile * tile;
  }

  // The keys and values of a batch are packed before its blocks.
  for (ContractionPlan* product : {&plan.scores, &plan.output}) {
    if (plan.block != 0 && product->right == ContractionPlan::Right::packed_inside)
      product->right = ContractionPlan::Right::packed_once;
  }

  double depth = 1;
  for (const ir::Axis& axis : scores.reduce_axes) depth *= static_cast<double>(facts.typical(axis.extent));
  constexpr double of_softmax = 30;
  const double flops = points * (2 * depth + 2 * static_cast<double>(values) + of_softmax);
  plan.spread = is_worth_spreading(flops, context.target) && (!form.batch.empty() || plan.block != 0);
  return plan;
}

}  // namespace axrun::search
