#include "runtime/kernels/isa/table.h"

#include "runtime/kernels/isa/activation.h"
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
    .unary = unary,
    .activate = activate,
    .affine_row = affine_row,
    .affine_columns = affine_columns,
};

}  // namespace axrun::runtime::AXRUN_ISA
