#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

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

// Fewer queries at a time would read keys and values too often; more drive what they read out of the cache.
constexpr int64_t fewest_queries = 48, most_queries = 128;
constexpr int64_t score_bytes = 2 * 4;  // of a score and of its probability

/// Queries at a time, about: the scores of so many may take half of the second cache.
int64_t queries_at_once(const PieceContext& context, int64_t keys) {
  return std::clamp<int64_t>(second_cache(context.target) / 2 / (keys * 4), fewest_queries, most_queries);
}

/// Keys in a part: a panel of their values takes about half of the first cache, where it stays while the
/// queries pass, and the lanes of a row are folded once for each part. Measured with 512 to 4096 keys of 64
/// and 128 elements, AVX2: 96 to 288 keys differ by less than 4%.
int64_t keys_of_part(const PieceContext& context, const AttentionPlan& plan) {
  constexpr int64_t least = 128, most = 512;
  const auto& caches = context.target.caches;
  const int64_t first = caches.empty() ? int64_t{32} << 10 : caches[0].bytes;
  const int64_t wanted = std::clamp(first / 2 / (plan.output.tile.columns * 4), least, most);
  const int64_t whole = std::lcm(std::lcm(plan.scores.tile.columns, plan.output.unroll), plan.rows.lanes);
  return (wanted + whole - 1) / whole * whole;
}

/// The passes over everything, and whether they are made block by block.
AttentionPlan plan_passes(const PieceContext& context, const AttentionForm& form, double points) {
  AttentionPlan plan;
  plan.scores = plan_contraction(context, form.scores);
  plan.output = plan_contraction(context, form.output);
  plan.rows = plan_rows(context, form.rows);
  const ir::Stage& scores = *form.scores.sum;
  const bool literal = scores.axes[static_cast<size_t>(form.scores.row)].extent.is_constant() &&
                       scores.axes[static_cast<size_t>(form.scores.column)].extent.is_constant();
  plan.together = !literal || score_bytes * points > static_cast<double>(second_cache(context.target)) / 2;
  if (!plan.together) return plan;

  // Whoever is inside of loops spreads nothing itself.
  for (ContractionPlan* product : {&plan.scores, &plan.output}) {
    product->spread = ContractionPlan::Spread::none;
    product->column_group = 1;
    // A block of queries takes the place of theirs.
    product->row_block = product->depth_block = 0;
  }
  plan.rows.parallel_axis = -1;
  plan.softmax = find_softmax(context.program, form.rows);
  return plan;
}

/// How many queries at a time, if not all.
void cut_queries(const PieceContext& context, const AttentionForm& form, int64_t keys, AttentionPlan& plan) {
  const ir::Dim& queries = form.scores.sum->axes[static_cast<size_t>(form.scores.row)].extent;
  const int64_t rows = plan.rows.lanes_along_rows ? plan.rows.lanes : plan.rows.rows_at_once;
  const int64_t tile = std::lcm(std::lcm(plan.scores.tile.rows, plan.output.tile.rows), rows);
  const int64_t wanted = queries_at_once(context, plan.keys == 0 ? keys : std::min(keys, plan.keys));
  plan.block = std::max<int64_t>(1, wanted / tile) * tile;
  if (!queries.is_constant()) return;
  // Blocks of about the same size; none for hardly more than one.
  const int64_t count = std::max<int64_t>(1, (queries.value() + wanted / 4) / wanted);
  const int64_t each = (queries.value() + count - 1) / count;
  plan.block = count == 1 ? 0 : (each + tile - 1) / tile * tile;
}

/// Where keys and values are read.
void place_operands(const PieceContext& context, AttentionPlan& plan) {
  using Right = ContractionPlan::Right;
  // Panels of a part's values are made again for every block, which is less than what they save.
  if (plan.keys != 0 && plan.output.right == Right::packed_inside) {
    if (plan.block != 0 && plan.scores.right == Right::packed_inside) plan.scores.right = Right::packed_once;
    return;
  }
  if (plan.output.right == Right::packed_inside && rows_follow_one_another(context, plan.output.form))
    plan.output.right = Right::direct;
  // The keys and values of a batch are packed before its blocks.
  for (ContractionPlan* product : {&plan.scores, &plan.output}) {
    if ((plan.block != 0 || plan.keys != 0) && product->right == Right::packed_inside)
      product->right = Right::packed_once;
  }
}

/// Whether the outermost loop is spread over workers, and which one it is.
void spread_loops(const PieceContext& context, const AttentionForm& form, double flops, AttentionPlan& plan) {
  const SizeFacts& facts = context.facts;
  const ir::Stage& scores = *form.scores.sum;
  plan.spread = is_worth_spreading(flops, context.target) && (!form.batch.empty() || plan.block != 0);
  double best = 0;
  for (size_t k = 0; plan.spread && k < form.batch.size(); ++k) {
    const ir::Dim& extent = scores.axes[static_cast<size_t>(form.batch[k].scores)].extent;
    const double used = balance_of_axis(facts, extent, 1, context.target.cores);
    if (used < best + 0.1) continue;
    best = used;
    plan.first_batch = k;
  }
}

}  // namespace

std::vector<AttentionPlan> attention_plans(const PieceContext& context, const AttentionForm& form) {
  const SizeFacts& facts = context.facts;
  const ir::Stage &scores = *form.scores.sum, &output = *form.output.sum;
  const ir::Dim& all_keys = scores.axes[static_cast<size_t>(form.scores.column)].extent;
  const int64_t keys = facts.typical(all_keys);
  const int64_t queries = facts.typical(scores.axes[static_cast<size_t>(form.scores.row)].extent);
  const int64_t values = facts.typical(output.axes[static_cast<size_t>(form.output.column)].extent);
  double batches = 1;
  for (const AttentionForm::Shared& shared : form.batch)
    batches *= static_cast<double>(facts.typical(scores.axes[static_cast<size_t>(shared.scores)].extent));
  const double points = batches * static_cast<double>(queries * keys);
  double depth = 1;
  for (const ir::Axis& axis : scores.reduce_axes) depth *= static_cast<double>(facts.typical(axis.extent));
  constexpr double of_softmax = 30;
  const double flops = points * (2 * depth + 2 * static_cast<double>(values) + of_softmax);

  const AttentionPlan passes = plan_passes(context, form, points);
  if (!passes.together) return {passes};
  const auto finished = [&](int64_t keys_at_once) {
    AttentionPlan plan = passes;
    plan.keys = keys_at_once;
    const int64_t lanes = context.target.lanes(4);
    if (plan.keys != 0) plan.value_lanes = lanes * std::clamp<int64_t>((values + lanes - 1) / lanes, 1, 4);
    cut_queries(context, form, keys, plan);
    place_operands(context, plan);
    spread_loops(context, form, flops, plan);
    return plan;
  };
  const auto second = static_cast<double>(second_cache(context.target));
  const double highest = most_of(facts, all_keys);
  const int64_t part = keys_of_part(context, passes);
  if (highest <= static_cast<double>(part) || !has_parts(context, form, passes)) return {finished(0)};
  // The scores of the fewest queries with all keys, and what becomes of them, do not fit.
  if (static_cast<double>(fewest_queries * score_bytes) * highest > second) return {finished(part)};
  // What a block passes over: its scores, and panels of all keys and values. Measured with 256 to 1024 keys
  // of 64 and 128 elements, AVX2, 512 KiB: 0.94 to 0.96 of the time at once up to 768 KiB, 0.81 to 0.93 in
  // parts from 1 MiB on.
  constexpr double most_at_once = 1.5;  // of the second cache
  const int64_t together = std::min(queries, queries_at_once(context, keys));
  const double passed =
      (static_cast<double>(together * score_bytes) + 4 * (depth + static_cast<double>(values))) *
      static_cast<double>(keys);
  const bool parts_first = passed > most_at_once * second;
  std::vector<AttentionPlan> plans = {finished(0), finished(part)};
  if (parts_first) std::swap(plans[0], plans[1]);
  return plans;
}

}  // namespace axrun::search
