#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "search/attention.h"
#include "search/work.h"

namespace axrun::search {

namespace {

/// The value where every size is as large as it may be.
double most_of(const SizeFacts& facts, const ir::Dim& dim) {
  std::map<std::string, ir::Dim> highest;
  for (const ir::loop::Size& size : facts.sizes()) highest.emplace(size.name, ir::Dim(size.high));
  return static_cast<double>(dim.substitute(highest).constant().value_or(0));
}

/// Whether keys can come in parts: rows are a softmax and nothing else, queries are rows of both products and
/// keys the last dimension of what lies between them.
bool has_parts(const PieceContext& context, const AttentionForm& form, const AttentionPlan& plan) {
  const auto is_as_given = [](const ContractionPlan& plan, const ProductForm& given) {
    return plan.form.row == given.row && plan.form.column == given.column && !plan.form.across &&
           !plan.left_packed && !plan.copied;
  };
  const auto last = [&](ir::TensorId tensor) {
    return static_cast<int>(context.program.tensors[static_cast<size_t>(tensor)].dims.size()) - 1;
  };
  for (const AttentionForm::Shared& shared : form.batch) {
    if (shared.score_dimension > form.query.score_dimension ||
        shared.probability_dimension > form.query.probability_dimension)
      return false;
  }
  const size_t batches = form.batch.size();
  return plan.softmax.found && form.scores.outer.size() == batches && form.output.outer.size() == batches &&
         is_as_given(plan.scores, form.scores) && is_as_given(plan.output, form.output) &&
         form.output.sum->reduce_axes.size() == 1 &&
         form.query.score_dimension + 1 == last(form.score_tensor) &&
         form.query.probability_dimension + 1 == last(form.probability_tensor) &&
         static_cast<size_t>(form.query.row) + 1 == form.rows.rows.size();
}

/// Whether the rows of the values follow one another, and are short enough for prefetchers to follow a few
/// columns of them: to read them where they lie takes no longer than from panels, which need not be made
/// then. Measured at 128 queries, 1024 keys and 128 values: 3% of the whole.
bool rows_follow_one_another(const PieceContext& context, const ProductForm& form) {
  constexpr int64_t longest_bytes = 1024;
  if (!columns_are_contiguous(context.program, form)) return false;
  const ir::Expr& load = context.program.exprs[static_cast<size_t>(form.right[0])];
  const ir::Dim& row = context.program.tensors[static_cast<size_t>(load.integer)].dims.back();
  return row.is_constant() && row.value() * 4 <= longest_bytes &&
         row == form.sum->axes[static_cast<size_t>(form.column)].extent;
}

}  // namespace

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

  // Fewer queries would read keys and values too often; more drive what they read out of the cache. The scores
  // of a block may take half of it.
  constexpr int64_t fewest = 48, most = 128;
  // Where the scores of the fewest, and what becomes of them, do not fit, keys come in parts: long enough to
  // fold the lanes of a row once for each. Measured at 512 to 65536 keys.
  constexpr int64_t part = 512;
  const ir::Dim& all_keys = scores.axes[static_cast<size_t>(form.scores.column)].extent;
  plan.softmax = find_softmax(context.program, form.rows);
  const int64_t whole = std::lcm(std::lcm(plan.scores.tile.columns, plan.output.unroll), plan.rows.lanes);
  const int64_t in_part = (part + whole - 1) / whole * whole;
  const double highest = most_of(facts, all_keys);
  const bool fit = static_cast<double>(fewest) * bytes * highest <= static_cast<double>(second);
  if (!fit && highest > static_cast<double>(in_part) && has_parts(context, form, plan)) {
    plan.keys = in_part;
    const int64_t lanes = context.target.lanes(4);
    plan.value_lanes = lanes * std::clamp<int64_t>((values + lanes - 1) / lanes, 1, 4);
  }
  const int64_t rows = plan.rows.lanes_along_rows ? plan.rows.lanes : plan.rows.rows_at_once;
  const int64_t tile = std::lcm(std::lcm(plan.scores.tile.rows, plan.output.tile.rows), rows);
  const int64_t kept_keys = plan.keys == 0 ? keys : std::min(keys, plan.keys);
  const int64_t wanted = std::clamp<int64_t>(second / 2 / (kept_keys * 4), fewest, most);
  plan.block = std::max<int64_t>(1, wanted / tile) * tile;
  if (queries.is_constant()) {
    // Blocks of about the same size; none for hardly more than one.
    const int64_t count = std::max<int64_t>(1, (queries.value() + wanted / 4) / wanted);
    const int64_t each = (queries.value() + count - 1) / count;
    plan.block = count == 1 ? 0 : (each + tile - 1) / tile * tile;
  }

  if (plan.output.right == ContractionPlan::Right::packed_inside &&
      rows_follow_one_another(context, plan.output.form))
    plan.output.right = ContractionPlan::Right::direct;
  // The keys and values of a batch are packed before its blocks.
  for (ContractionPlan* product : {&plan.scores, &plan.output}) {
    if ((plan.block != 0 || plan.keys != 0) && product->right == ContractionPlan::Right::packed_inside)
      product->right = ContractionPlan::Right::packed_once;
  }

  double depth = 1;
  for (const ir::Axis& axis : scores.reduce_axes) depth *= static_cast<double>(facts.typical(axis.extent));
  constexpr double of_softmax = 30;
  const double flops = points * (2 * depth + 2 * static_cast<double>(values) + of_softmax);
  plan.spread = is_worth_spreading(flops, context.target) && (!form.batch.empty() || plan.block != 0);
  double best = 0;
  for (size_t k = 0; plan.spread && k < form.batch.size(); ++k) {
    const ir::Dim& extent = scores.axes[static_cast<size_t>(form.batch[k].scores)].extent;
    const double used = balance_of_axis(facts, extent, 1, context.target.cores);
    if (used < best + 0.1) continue;
    best = used;
    plan.first_batch = k;
  }
  return plan;
}

}  // namespace axrun::search
