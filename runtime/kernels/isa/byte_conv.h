#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in table.h.
int64_t byte_conv_packed_words(const ConvGeometry& geometry, int64_t channels, int64_t out_channels);
void byte_conv_pack(const ConvGeometry& geometry, int64_t channels, int64_t out_channels, Byte type,
                    const void* weights, const int32_t* zero_points, uint32_t* packed);
int64_t byte_conv_strip_words(const ConvGeometry& geometry, int64_t channels, int64_t rows);
int64_t byte_conv_scratch_bytes(const ByteConvCell& cell);
void byte_conv_cell(const ByteConvCell& cell);

}  // namespace axrun::runtime::AXRUN_ISA
