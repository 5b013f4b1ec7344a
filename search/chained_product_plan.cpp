#include <algorithm>

#include "search/chained_product.h"
#include "search/work.h"

namespace axrun::search {

ChainedProductPlan plan_chained_product(const PieceContext& context, const ChainedProductForm& form) {
  const ir::Stage& sum = *form.product.sum;
  const jit::Target& target = context.target;
  ChainedProductPlan plan;
  plan.product = plan_contraction(context, form.product);
  plan.windows = plan_windows(context, form.windows);
  // Whoever is inside of loops spreads nothing itself, and a block of channels takes the place of one of
  // rows.
  plan.product.spread = ContractionPlan::Spread::none;
  plan.product.column_group = 1;
  plan.product.row_block = plan.product.depth_block = 0;
  plan.windows.spread = WindowsPlan::Spread::none;
  if (plan.windows.planes) plan.windows.planes->spread_axis = ir::none;

  const int64_t channels = sum.axes[static_cast<size_t>(form.product.row)].extent.value();
  double batches = 1;
  for (const ChainedProductForm::Shared& shared : form.batch)
    batches *=
        static_cast<double>(context.facts.typical(sum.axes[static_cast<size_t>(shared.product)].extent));
  const ir::TensorDecl& between = context.program.tensors[static_cast<size_t>(form.between)];
  const auto elements = static_cast<double>(context.facts.typical(ir::product(between.dims))) / batches;
  const int64_t channel_bytes = std::max<int64_t>(1, static_cast<int64_t>(elements) * 4 / channels);

  // A quarter of the second cache, next to what is multiplied, and what is written.
  const int64_t second = second_cache(target);
  const int64_t tile = plan.product.form.row == form.product.row ? plan.product.tile.rows : 1;
  const int64_t most = std::max<int64_t>(1, second / 4 / channel_bytes / tile) * tile;
  const int64_t count = (channels + most - 1) / most;
  plan.block = ((channels + count - 1) / count + tile - 1) / tile * tile;

  double depth = 1;
  for (const ir::Axis& axis : sum.reduce_axes)
    depth *= static_cast<double>(context.facts.typical(axis.extent));
  if (!is_worth_spreading(2 * elements * batches * depth, target)) return plan;
  constexpr double good = 0.8;
  const int64_t first =
      form.batch.empty() ? 1
                         : context.facts.typical(sum.axes[static_cast<size_t>(form.batch[0].product)].extent);
  plan.spread = first > 1 && balance(first, target.cores) >= good ? ChainedProductPlan::Spread::batch
                                                                  : ChainedProductPlan::Spread::blocks;
  return plan;
}

}  // namespace axrun::search
