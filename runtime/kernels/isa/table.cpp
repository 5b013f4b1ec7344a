#include "runtime/kernels/isa/table.h"

#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/isa/conv.h"
#include "runtime/kernels/isa/copy.h"
#include "runtime/kernels/isa/gemm.h"
#include "runtime/kernels/isa/unary.h"

namespace axrun::runtime::AXRUN_ISA {

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
extern const KernelTable table;
const KernelTable table = {
    .panel_rows = tile_rows,
    .panel_columns = tile_columns,
    .gemm_scratch_floats = gemm_scratch_floats,
    .gemm_cell = gemm_cell,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .conv_scratch_floats = conv_scratch_floats,
    .conv_cell = conv_cell,
    .depthwise_scratch_floats = depthwise_scratch_floats,
    .depthwise_cell = depthwise_cell,
    .unary = unary,
    .activate = activate,
    .affine_row = affine_row,
    .affine_columns = affine_columns,
    .transpose_block = transpose_block,
};

}  // namespace axrun::runtime::AXRUN_ISA
