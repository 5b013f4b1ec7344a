#include "runtime/kernels/isa/table.h"

#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/isa/block_quantized.h"
#include "runtime/kernels/isa/byte_conv.h"
#include "runtime/kernels/isa/byte_conv_tile.h"
#include "runtime/kernels/isa/conv.h"
#include "runtime/kernels/isa/copy.h"
#include "runtime/kernels/isa/elementwise.h"
#include "runtime/kernels/isa/fourier.h"
#include "runtime/kernels/isa/gemm.h"
#include "runtime/kernels/isa/narrow.h"
#include "runtime/kernels/isa/pool.h"
#include "runtime/kernels/isa/quantized.h"
#include "runtime/kernels/isa/recurrent.h"
#include "runtime/kernels/isa/rows.h"
#include "runtime/kernels/isa/trees.h"
#include "runtime/kernels/isa/unary.h"
#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {

extern const KernelTable table;
const KernelTable table = {
    .panel_rows = tile_rows,
    .panel_columns = tile_columns,
    .gemm_scratch_floats = gemm_scratch_floats,
    .gemm_scratch_bound = gemm_scratch_bound,
    .gemm_cell = gemm_cell,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .conv_scratch_floats = conv_scratch_floats,
    .conv_cell = conv_cell,
    .conv_region_scratch_floats = conv_region_scratch_floats,
    .conv_region = conv_region,
    .depthwise_scratch_floats = depthwise_scratch_floats,
    .depthwise_cell = depthwise_cell,
    .depthwise_lanes_scratch_floats = depthwise_lanes_scratch_floats,
    .depthwise_lanes_cell = depthwise_lanes_cell,
    .depthwise_region_scratch_floats = depthwise_region_scratch_floats,
    .depthwise_region = depthwise_region,
    .unary = unary,
    .activate = activate,
    .affine_row = affine_row,
    .affine_columns = affine_columns,
    .binary = binary,
    .compare = compare,
    .select = select,
    .softmax_row = softmax_row,
    .softmax_columns = softmax_columns,
    .normalize_row = normalize_row,
    .reduce_rows = reduce_rows,
    .reduce_columns = reduce_columns,
    .max_pool = max_pool,
    .average_pool = average_pool,
    .transpose_block = transpose_block,
    .quantize_row = quantize_row,
    .dequantize_row = dequantize_row,
    .quantize_columns = quantize_columns,
    .dequantize_columns = dequantize_columns,
    .quantized_packed_bytes = quantized_packed_bytes,
    .quantized_pack_b = quantized_pack_b,
    .quantized_scratch_bytes = quantized_scratch_bytes,
    .quantized_cell = quantized_cell,
    .requantize_row = requantize_row,
    .byte_conv_rows = byte_tile_rows,
    .byte_conv_packed_words = byte_conv_packed_words,
    .byte_conv_pack = byte_conv_pack,
    .byte_conv_strip_words = byte_conv_strip_words,
    .byte_conv_scratch_bytes = byte_conv_scratch_bytes,
    .byte_conv_cell = byte_conv_cell,
    .widen = widen,
    .narrow = narrow,
    .block_columns = block_columns,
    .block_arranged_floats = block_arranged_floats,
    .block_zeros_floats = block_zeros_floats,
    .block_arrange = block_arrange,
    .block_products = block_products,
    .block_unpack = block_unpack,
    .lstm_step = lstm_step,
    .gru_step = gru_step,
    .gru_reset = gru_reset,
    .gru_update = gru_update,
    .fourier_lanes = fourier_lanes,
    .fourier_scratch_doubles = fourier_scratch_doubles,
    .fourier = fourier,
    .tree_block_rows = lanes,
    .tree_exits = tree_exits,
};

}  // namespace axrun::runtime::AXRUN_ISA
