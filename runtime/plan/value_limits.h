#pragma once

#include "runtime/parallel.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

class Frame;

/// Whether all elements are, which must be there.
bool is_within(const ValueLimit& limit, const Frame& frame, ThreadPool& pool);

/// Of the image of a convolution that is computed by a bilinear algorithm, for these transformed filters
/// (points x results x channels); 0 where they are no numbers. room: search::algebra::bilinear_room.
float bilinear_limit(double room, const ir::Tensor& transformed);

}  // namespace axrun::runtime
