#pragma once

#include "runtime/kernels/isa/gemm_tile.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

/// A register tile of output channels, rows of packed weights, that stores to the cell's output planes; with
/// all of its epilogue but what each channel has of its own.
static inline Tile conv_tile(const ConvCell& cell) {
  const CoreEpilogue& e = cell.epilogue;
  Tile tile = {};
  tile.a_stride = gemm_panel_rows(cell.out_channels, tile_rows);
  tile.a_ahead = packed_ahead;
  tile.c_row_stride = tile.residual_row_stride = cell.geometry.out_height * cell.geometry.out_width;
  tile.scale = e.scale;
  tile.residual_scale = e.residual_scale;
  tile.activation = e.activation;
  tile.alpha = e.alpha;
  tile.beta = e.beta;
  return tile;
}

}  // namespace axrun::runtime::AXRUN_ISA
