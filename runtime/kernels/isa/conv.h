#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in table.h.
int64_t conv_scratch_floats(const ConvCell& cell);
void conv_cell(const ConvCell& cell);
/// The same for cells with block_channels.
int64_t conv_panels_scratch_floats(const ConvCell& cell);
void conv_panels_cell(const ConvCell& cell);
int64_t conv_region_scratch_floats(const ConvCell& cell, const ConvRegion& region);
void conv_region(const ConvCell& cell, const ConvRegion& region);
int64_t depthwise_scratch_floats(const DepthwiseCell& cell);
void depthwise_cell(const DepthwiseCell& cell);
int64_t depthwise_lanes_scratch_floats(const DepthwiseCell& cell);
void depthwise_lanes_cell(const DepthwiseCell& cell);
int64_t depthwise_region_scratch_floats(const ConvRegion& region);
void depthwise_region(const DepthwiseCell& cell, const ConvRegion& region);

}  // namespace axrun::runtime::AXRUN_ISA
