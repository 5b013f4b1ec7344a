#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "search/lower_scheduled.h"
#include "search/scheduled_product.h"

namespace axrun::search {

/// A schedule of a product besides the default one.
struct ProductSchedule {
  ScheduledPlan plan;
  ScheduleReport report;
};

/// How many of them are looked for: none where the product is too small to be worth a search, or has several
/// axes along its sum.
size_t most_product_schedules(const PieceContext& context, const ProductForm& form);

/// The schedule to begin with where there is a better one than the loops of plan_contraction: where many
/// tiles read parts of lines of a left side that lies across in short rows (places of small planes), it is
/// arranged in panels first. 1x1 convolutions of 7x7 places took 0.66 to 0.75 of the time, those of 14x14 up
/// to 1.17.
std::optional<ScheduledPlan> schedule_of_short_rows(const PieceContext& context, const ContractionPlan& plan);

/// A schedule that is known; of a product with one axis along its sum.
ScheduledPlan scheduled_as(const PieceContext& context, const ProductForm& form, const GivenSchedule& given);

/// Those that take least by the cost model, at the typical sizes, the best first. What was found for other
/// products on the same target is remembered and used: this takes some tenths of a second the first time.
/// Any thread may call it.
std::vector<ProductSchedule> product_schedules(const PieceContext& context, const ProductForm& form);

}  // namespace axrun::search
