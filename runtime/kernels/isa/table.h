#pragma once

// What each instruction-set level exports to the drivers in the folder above: single-threaded cores on
// sub-ranges, as plain function pointers over plain structs. No member has an initializer, so that no
// constructor is emitted by several levels.

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/activation.h"
#include "runtime/kernels/trees.h"

namespace axrun::runtime {

enum class Number : int32_t;
enum class Unary : int32_t;
enum class Binary : int32_t;
enum class Comparison : int32_t;
enum class Reduction : int32_t;
enum class Byte : int32_t;
enum class NarrowFloat : int32_t;
struct BlockQuantizedGemm;
struct BlockQuantizedMatrix;
struct LstmStep;
struct GruStep;
struct FourierBatch;

/// Epilogue without initializers; see activation.h.
struct CoreEpilogue {
  float scale;
  const float* row_factor;
  const float* column_factor;
  const float* row_bias;
  const float* column_bias;
  const float* residual;
  int64_t residual_row_stride;
  float residual_scale;
  Activation activation;
  float alpha, beta;
};

enum class OperandForm : int32_t {
  packed,   ///< panels made by pack_a or pack_b
  rows,     ///< columns contiguous, `stride` between rows
  columns,  ///< rows contiguous, `stride` between columns
  strided,  ///< neither
};

/// One operand of a product. `column_stride` is used by `strided` only, where `stride` is the row stride.
struct GemmOperand {
  const float* data;
  OperandForm form;
  int64_t stride, column_stride;
};

/// Rows [m0, m1) and columns [n0, n1) of one product. m is the full row count: packed A's panel height
/// follows from it; m0 is a multiple of gemm_panel_rows(m), n0 of the panel width.
struct GemmCell {
  int64_t m, m0, m1, n0, n1, k;
  GemmOperand a, b;
  float* c;
  int64_t c_row_stride;
  CoreEpilogue epilogue;
  float* scratch;  ///< gemm_scratch_floats
};

/// A convolution's window geometry over one plane.
struct ConvGeometry {
  int64_t in_height, in_width, out_height, out_width;
  int64_t kernel_height, kernel_width, stride_height, stride_width;
  int64_t dilation_height, dilation_width, pad_top, pad_left;
};

/// Output rows [row0, row1) and channels [channel0, channel1) of one group of one image.
struct ConvCell {
  ConvGeometry geometry;
  int64_t channels, out_channels;          ///< of this group
  int64_t block_channels;                  ///< gathered at a time; 0: tiles read a strip of all channels
  int64_t row0, row1, channel0, channel1;  ///< channel0 is a multiple of gemm_panel_rows(out_channels)
  const float* packed_weights;             ///< pack_a of W[out_channels][channels * kernel]
  const float* x;                          ///< the group's first input plane
  float* y;                                ///< the group's first output plane
  /// Factors, bias and residual of this group; residual_row_stride is a plane.
  CoreEpilogue epilogue;
  float* scratch;
};

/// Output rows [row0, row1) of the `multiplier` output planes of each of some adjacent input channels of one
/// image.
struct DepthwiseCell {
  ConvGeometry geometry;
  int64_t multiplier, channels;
  int64_t row0, row1;
  const float* weights;  ///< [channels][multiplier][kernel]
  const float* x;
  float* y;
  CoreEpilogue epilogue;  ///< factors, bias and residual from the first output plane on
  float* scratch;
};

/// Outputs [row0, row1) x [column0, column1) of a convolution at all of which the same taps, [tap_row0,
/// tap_row1) x [tap_column0, tap_column1), read the input; the others read padding.
struct ConvRegion {
  int64_t row0, row1, column0, column1;
  int64_t tap_row0, tap_row1, tap_column0, tap_column1;
};

/// Rows [m0, m1) and columns [n0, n1) of an integer product with n columns; n0 is a multiple of the panel
/// width.
struct QuantizedGemmCell {
  int64_t n, m0, m1, n0, n1, k;
  Byte a_type;
  const uint8_t* a;
  int64_t a_row_stride;
  int32_t a_zero_point;
  const void* packed_b;
  int32_t* c;
  int64_t c_row_stride;
  void* scratch;
};

/// Output rows [row0, row1) and channels [channel0, channel1) of each of some adjacent groups of one image of
/// a convolution of bytes; channel0 is a multiple of gemm_panel_rows(out_channels, byte_conv_rows).
struct ByteConvCell {
  ConvGeometry geometry;
  int64_t in_plane, out_plane;             ///< between channels
  int64_t groups, channels, out_channels;  ///< channels of a group
  int64_t row0, row1, channel0, channel1;
  int64_t strip_rows;  ///< output rows whose input is arranged at a time
  Byte x_type;
  int32_t x_zero_point;
  const uint8_t* x;        ///< the first group's first plane
  const uint8_t* x_end;    ///< of what may be read
  const uint32_t* packed;  ///< byte_conv_pack, group after group
  const int32_t* bias;     ///< of the first group on, or null
  /// The first group's first plane of the result: sums, floats or bytes; the others are null.
  int32_t* sums;
  float* floats;
  uint8_t* y;
  int32_t y_zero_point;
  const float* multipliers;   ///< of the first group on
  int64_t multiplier_stride;  ///< 0: one for all
  const float* addends;       ///< of the first group on, or null
  float low, high;            ///< of floats; of bytes after the zero point
  void* scratch;
};

/// Columns [n0, n1) and rows [k0, k1) of the transpose of a W. n0 is a multiple of the panel width, k0 of
/// block_panel_alignment.
inline constexpr int64_t block_panel_alignment = 512;
struct BlockPanel {
  const BlockQuantizedMatrix* w;
  int64_t n0, n1, k0, k1;
};

struct PoolCell {
  int64_t in_height, in_width, out_height, out_width;
  int64_t kernel_height, kernel_width, stride_height, stride_width;
  int64_t dilation_height, dilation_width, pad_top, pad_left;
  int64_t padded_end_height, padded_end_width;
  bool include_pad;
};

struct KernelTable {
  // gemm.cpp
  int64_t panel_rows, panel_columns;  ///< largest register tile
  int64_t (*gemm_scratch_floats)(const GemmCell&);
  /// What no cell of up to n columns and k terms exceeds.
  int64_t (*gemm_scratch_bound)(int64_t n, int64_t k);
  void (*gemm_cell)(const GemmCell&);
  void (*pack_a)(int64_t m, int64_t k, const float* a, int64_t row_stride, int64_t column_stride,
                 float* packed);
  void (*pack_b)(int64_t k, int64_t n, const float* b, int64_t row_stride, int64_t column_stride,
                 float* packed);

  // conv.cpp, conv_region.cpp, depthwise.cpp. Regions stand for the rows of cells.
  int64_t (*conv_scratch_floats)(const ConvCell&);
  void (*conv_cell)(const ConvCell&);
  int64_t (*conv_region_scratch_floats)(const ConvCell&, const ConvRegion&);
  void (*conv_region)(const ConvCell&, const ConvRegion&);
  int64_t (*depthwise_scratch_floats)(const DepthwiseCell&);
  void (*depthwise_cell)(const DepthwiseCell&);
  /// The same for a multiplier of 1: lanes are channels.
  int64_t (*depthwise_lanes_scratch_floats)(const DepthwiseCell&);
  void (*depthwise_lanes_cell)(const DepthwiseCell&);
  int64_t (*depthwise_region_scratch_floats)(const ConvRegion&);
  void (*depthwise_region)(const DepthwiseCell&, const ConvRegion&);

  // math.cpp, elementwise.cpp
  void (*unary)(Unary, int64_t count, const float* x, float* y, float alpha, float beta);
  void (*activate)(Activation, int64_t count, const float* x, float* y, float alpha, float beta);
  void (*affine_row)(int64_t count, const float* x, float scale, float bias, float* y);
  void (*affine_columns)(int64_t count, const float* x, const float* scale, const float* bias, float* y);
  /// Element strides of a and b are 0 or 1.
  void (*binary)(Binary, Number, int64_t count, const void* a, int64_t a_stride, const void* b,
                 int64_t b_stride, void* y);
  void (*compare)(Comparison, Number, int64_t count, const void* a, int64_t a_stride, const void* b,
                  int64_t b_stride, uint8_t* y);
  void (*select)(size_t element_bytes, int64_t count, const uint8_t* condition, int64_t condition_stride,
                 const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* y);

  // rows.cpp, reduce.cpp
  void (*softmax_row)(bool logarithm, int64_t count, const float* x, float* y);
  void (*softmax_columns)(bool logarithm, int64_t extent, int64_t inner, int64_t inner0, int64_t inner1,
                          const float* x, float* y);
  void (*normalize_row)(bool subtract_mean, int64_t count, const float* x, const float* scale,
                        const float* bias, bool scalar_scale, float epsilon, float* y, float* mean,
                        float* inverse_deviation);
  void (*reduce_rows)(Reduction, int64_t rows, int64_t extent, const float* x, float* y);
  void (*reduce_columns)(Reduction, int64_t extent, int64_t inner, int64_t inner0, int64_t inner1,
                         const float* x, float* y);

  // pool.cpp
  void (*max_pool)(const PoolCell&, const float* x, float* y);
  void (*average_pool)(const PoolCell&, const float* x, float* y);

  // copy.cpp
  /// y[i * y_stride + j] = x[i + j * x_stride] for i < rows, j < columns.
  void (*transpose_block)(size_t element_bytes, int64_t rows, int64_t columns, const void* x,
                          int64_t x_stride, void* y, int64_t y_stride);

  // quantized.cpp
  void (*quantize_row)(Byte, int64_t count, const float* x, float scale, int32_t zero_point, void* y);
  void (*dequantize_row)(Byte, int64_t count, const void* x, float scale, int32_t zero_point, float* y);
  void (*quantize_columns)(Byte, int64_t count, const float* x, const float* scale, const void* zero_points,
                           void* y);
  void (*dequantize_columns)(Byte, int64_t count, const void* x, const float* scale, const void* zero_points,
                             float* y);
  int64_t (*quantized_packed_bytes)(int64_t k, int64_t n);
  void (*quantized_pack_b)(Byte, int64_t k, int64_t n, const void* b, int64_t row_stride,
                           int64_t column_stride, const int32_t* zero_points, bool per_column, void* packed);
  int64_t (*quantized_scratch_bytes)(const QuantizedGemmCell&);
  void (*quantized_cell)(const QuantizedGemmCell&);

  /// y = saturate(round_half_even(sum * multiplier) + zero_point), as requantize_row in operators says.
  void (*requantize_row)(Byte, int64_t count, const int32_t* sums, float multiplier, int32_t zero_point,
                         void* y);

  // byte_conv.cpp: one group
  int64_t byte_conv_rows;  ///< output channels of the largest register tile
  int64_t (*byte_conv_packed_words)(const ConvGeometry&, int64_t channels, int64_t out_channels);
  /// W[out_channels][channels][kernel]; a zero point for each output channel, or null.
  void (*byte_conv_pack)(const ConvGeometry&, int64_t channels, int64_t out_channels, Byte,
                         const void* weights, const int32_t* zero_points, uint32_t* packed);
  /// Words of the arranged input of so many output rows.
  int64_t (*byte_conv_strip_words)(const ConvGeometry&, int64_t channels, int64_t rows);
  int64_t (*byte_conv_scratch_bytes)(const ByteConvCell&);
  void (*byte_conv_cell)(const ByteConvCell&);

  // narrow.cpp: contracts in runtime/kernels/narrow.h
  void (*widen)(NarrowFloat, int64_t count, const uint16_t* x, float* y);
  void (*narrow)(NarrowFloat, int64_t count, const float* x, uint16_t* y);

  // block_products.cpp, block_unpack.cpp
  int64_t block_columns;  ///< of the result, computed together
  /// Floats of a row of A in the order in which products read it.
  int64_t (*block_arranged_floats)(const BlockQuantizedMatrix&);
  int64_t (*block_zeros_floats)(const BlockQuantizedMatrix&);
  void (*block_arrange)(const BlockQuantizedGemm&, float* arranged);
  /// All rows of columns [first, last); `first` is a multiple of block_columns. `zeros` is scratch of
  /// block_zeros_floats.
  void (*block_products)(const BlockQuantizedGemm&, const float* arranged, int64_t first, int64_t last,
                         float* zeros);
  /// In the form of pack_b; columns beyond n1 hold anything.
  void (*block_unpack)(const BlockPanel&, float* packed);

  // recurrent.cpp: contracts in runtime/kernels/recurrent.h
  void (*lstm_step)(const LstmStep&, int64_t first, int64_t last);
  void (*gru_step)(const GruStep&, int64_t first, int64_t last);
  void (*gru_reset)(const GruStep&, int64_t first, int64_t last);
  void (*gru_update)(const GruStep&, int64_t first, int64_t last);

  // fourier.cpp: contracts in runtime/kernels/fourier_batch.h
  int64_t fourier_lanes;  ///< signals that are transformed together
  int64_t (*fourier_scratch_doubles)(const FourierBatch&);
  void (*fourier)(const FourierBatch&);

  // trees.cpp
  int64_t tree_block_rows;
  TreeExits tree_exits;
};

namespace sse2 {
extern const KernelTable table;
}
namespace avx2 {
extern const KernelTable table;
}
namespace avx512 {
extern const KernelTable table;
}

/// The table of the level in force.
const KernelTable& kernel_table();

/// a / b rounded up, for a >= 0 and b > 0. (32-bit division is several times faster on older processors.)
static inline int64_t divide_up(int64_t a, int64_t b) {
  const uint64_t sum = static_cast<uint64_t>(a) + static_cast<uint64_t>(b) - 1;
  if (((sum | static_cast<uint64_t>(b)) >> 32) == 0) {
    return static_cast<uint32_t>(sum) / static_cast<uint32_t>(b);
  }
  return static_cast<int64_t>(sum / static_cast<uint64_t>(b));
}

/// Height of packed A's panels: the rows split evenly over as few panels as the largest tile allows.
static inline int64_t gemm_panel_rows(int64_t m, int64_t largest) {
  if (m <= largest) return m < 1 ? 1 : m;
  return divide_up(m, divide_up(m, largest));
}

}  // namespace axrun::runtime
