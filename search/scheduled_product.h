#pragma once

#include <string>
#include <vector>

#include "search/contraction_plan.h"
#include "search/lowering.h"
#include "search/schedules/decision.h"

namespace axrun::search {

/// A product whose loops follow from the decisions of a schedule, from the outside in. Those of its sides
/// that are the same in every run have been arranged at the beginning, as `product` says, and are not moved.
struct ScheduledPlan {
  ContractionPlan product;    ///< form, tile, sides; nothing of its loops, which are these:
  bool spread_outer = false;  ///< the first one of the form's outer axes is
  std::vector<schedules::Decision> decisions;
};

/// What remains of decisions when it is written: sides that stay as they are come nearer by being read.
std::vector<schedules::Decision> written_decisions(const ScheduledPlan& plan,
                                                   const std::vector<schedules::Decision>& decisions);
std::string to_text(const ScheduledPlan& plan);

/// Writes loops in this order around tiles in registers. A product has one axis along its sum.
void write_scheduled_product(PieceContext& context, const ScheduledPlan& plan);

}  // namespace axrun::search
