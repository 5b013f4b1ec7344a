#pragma once

#include "search/contraction_plan.h"
#include "search/loop_writer.h"
#include "search/product_form.h"
#include "search/stage_values.h"

namespace axrun::search {

/// Writes a product as it was planned: panels of b, tiles of c accumulated in registers, the epilogue while
/// they are stored. `result` is the buffer of the last stage's result.
void write_contraction(const ir::Program& program, const ProductForm& form, const ContractionPlan& plan,
                       const SizeFacts& facts, LoopWriter& writer, StageValues& values, int result);

/// The index of a stage's result at a point of its axes.
ir::Dims element_at(const ir::Stage& stage, const ir::Dims& point);

}  // namespace axrun::search
