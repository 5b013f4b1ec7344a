#include "search/alternatives.h"

#include <algorithm>

#include "search/attention.h"
#include "search/gathered_plan.h"
#include "search/product_schedules.h"

namespace axrun::search {
namespace {

/// Each kind that has alternatives is a line here and one in write_pieces.
size_t count_of(const PieceContext& context, const Piece& piece) {
  switch (piece.kind) {
    case Piece::Kind::gathered:
      return gathered_plans(context, piece.gathered).size() - 1;
    case Piece::Kind::attention:
      return attention_plans(context, piece.attention).size() - 1;
    case Piece::Kind::contraction:
      return most_product_schedules(context, piece.product) +
             (read_otherwise(context, plan_contraction(context, piece.product)) ? 1 : 0);
    default:
      return 0;
  }
}

/// Evaluations of the bodies of its stages.
double work_of(const PieceContext& context, const Piece& piece) {
  double work = 0;
  for (size_t s = piece.range.first; s < piece.range.first + piece.range.count; ++s) {
    const ir::Stage& stage = context.program.stages[s];
    double points = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes})
      for (const ir::Axis& axis : *axes) points *= static_cast<double>(context.facts.typical(axis.extent));
    work += points;
  }
  return work;
}

/// What is the same in every run is worth no search.
bool is_prepared(const PieceContext& context, const Piece& piece) {
  const auto first = context.program.stages.begin() + static_cast<std::ptrdiff_t>(piece.range.first);
  return std::all_of(
      first, first + static_cast<std::ptrdiff_t>(piece.range.count),
      [&](const ir::Stage& stage) { return context.constant[static_cast<size_t>(stage.results[0])]; });
}

}  // namespace

Alternatives alternatives_of(const PieceContext& context, const Pieces& pieces) {
  Alternatives best;
  double most = 0;
  for (size_t n = 0; n < pieces.pieces.size(); ++n) {
    const Piece& piece = pieces.pieces[n];
    const size_t count = is_prepared(context, piece) ? 0 : count_of(context, piece);
    const double work = work_of(context, piece);
    if (count == 0 || work <= most) continue;
    best = {n, count};
    most = work;
  }
  return best;
}

}  // namespace axrun::search
