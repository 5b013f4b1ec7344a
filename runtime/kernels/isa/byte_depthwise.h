#pragma once

#include "runtime/kernels/isa/byte_strip.h"

namespace axrun::runtime::AXRUN_ISA {

// Cells of byte_conv.h whose groups have one input channel. Weights are packed alike.

/// Whether this is the way to go about them.
bool is_byte_depthwise(const WordForm& form, int64_t out_channels);
int64_t byte_depthwise_scratch_bytes(const ByteConvCell& cell, const WordForm& form);
void byte_depthwise_cell(const ByteConvCell& cell, const WordForm& form);

}  // namespace axrun::runtime::AXRUN_ISA
