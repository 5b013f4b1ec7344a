// Convolutions of few output pixels: a product whose rows are pixels, with vectors of output channels.
#include <algorithm>

#include "runtime/kernels/conv_parts.h"

namespace axrun::runtime {
namespace {

/// few_pixels: images that are one product, so that weights are read for several register tiles.
int64_t images_at_once(const ConvShape& s) {
  constexpr int64_t rows = 56;
  return std::clamp<int64_t>(rows / std::max<int64_t>(out_plane(s), 1), 1, std::max<int64_t>(s.batch, 1));
}

/// few_pixels: result[image][pixel][channel] = windows[tap][image][pixel]^T * W^T.
GemmArguments pixel_product(const ConvShape& s, int64_t images) {
  GemmArguments g;
  g.m = images * out_plane(s);
  g.n = s.out_channels;
  g.k = s.in_channels * taps(s);
  const bool as_it_lies = is_pointwise(s) && out_plane(s) == 1;
  g.a_row_stride = as_it_lies ? g.k : 1;
  g.a_column_stride = as_it_lies ? 1 : g.m;
  g.c_row_stride = g.n;
  static const float placeholder = 0;
  g.packed_b = &placeholder;
  return g;
}

/// One image's, `stride` apart from tap to tap.
void gather_windows(const ConvShape& s, const float* x, int64_t stride, float* windows) {
  for (int64_t channel = 0; channel < s.in_channels; ++channel, x += in_plane(s)) {
    for (int64_t h = 0; h < s.kernel_height; ++h) {
      for (int64_t w = 0; w < s.kernel_width; ++w, windows += stride) {
        // Output columns [first, last) read inside the input.
        const int64_t shift = w * s.dilation_width - s.pad_left;
        const int64_t first = shift >= 0 ? 0 : std::min(s.out_width, divide_up(-shift, s.stride_width));
        const int64_t room = s.in_width - shift;
        const int64_t last =
            room <= 0 ? first : std::clamp(divide_up(room, s.stride_width), first, s.out_width);
        float* to = windows;
        for (int64_t i = 0; i < s.out_height; ++i, to += s.out_width) {
          const int64_t row = i * s.stride_height + h * s.dilation_height - s.pad_top;
          if (row < 0 || row >= s.in_height) {
            std::fill_n(to, s.out_width, 0.0f);
            continue;
          }
          const float* from = x + row * s.in_width + shift;
          for (int64_t j = 0; j < first; ++j) to[j] = 0.0f;
          for (int64_t j = first; j < last; ++j) to[j] = from[j * s.stride_width];
          for (int64_t j = last; j < s.out_width; ++j) to[j] = 0.0f;
        }
      }
    }
  }
}

/// Points the product to the windows of images, which are copied unless they lie as they are read.
void set_windows(const ConvShape& s, const float* x, int64_t images, float* windows, GemmArguments& g) {
  if (is_pointwise(s) && (images == 1 || out_plane(s) == 1)) {
    g.a = x;
    return;
  }
  for (int64_t image = 0; image < images; ++image)
    gather_windows(s, x + image * s.in_channels * in_plane(s), g.m, windows + image * out_plane(s));
  g.a = windows;
}

/// The results of an image as planes, with what has not been done of the epilogue.
void turn_pixels(const ConvShape& s, const float* result, const float* residual, const Epilogue& epilogue,
                 float* output) {
  const int64_t pixels = out_plane(s), count = s.out_channels * pixels;
  if (residual == nullptr) {
    kernel_table().transpose_block(sizeof(float), s.out_channels, pixels, result, s.out_channels, output,
                                   pixels);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    output[i] = result[i / pixels + i % pixels * s.out_channels] + epilogue.residual_scale * residual[i];
  }
  kernel_table().activate(epilogue.activation, count, output, output, epilogue.alpha, epilogue.beta);
}

}  // namespace

size_t few_pixels_scratch_bytes(const ConvShape& s, int threads) {
  const int64_t images = images_at_once(s), rest = s.batch % images;
  const GemmArguments g = pixel_product(s, images);
  size_t of_gemm = gemm_scratch_bytes(g, threads);
  if (rest > 0) of_gemm = std::max(of_gemm, gemm_scratch_bytes(pixel_product(s, rest), threads));
  return static_cast<size_t>(round_up_to_line(g.k * g.m) + round_up_to_line(g.m * g.n)) * sizeof(float) +
         of_gemm;
}

void run_few_pixels(const ConvShape& s, const float* packed, const float* x, float* y,
                    const Epilogue& epilogue, float* scratch, ThreadPool& pool) {
  const int64_t at_once = images_at_once(s), pixels = out_plane(s);
  const int64_t in_image = s.in_channels * in_plane(s), out_image = s.out_channels * pixels;
  float* const windows = scratch;
  float* const result = windows + round_up_to_line(s.in_channels * taps(s) * at_once * pixels);
  float* const gemm_scratch = result + round_up_to_line(at_once * out_image);
  const bool single = pixels == 1;
  for (int64_t image = 0; image < s.batch; image += at_once) {
    const int64_t images = std::min(at_once, s.batch - image);
    GemmArguments g = pixel_product(s, images);
    g.packed_b = packed;
    // The product's rows are pixels: what we have per row is per column of the transposed result.
    g.epilogue.scale = epilogue.scale;
    g.epilogue.column_factor = epilogue.row_factor;
    g.epilogue.column_bias = epilogue.row_bias;
    if (single || epilogue.residual == nullptr) {
      g.epilogue.activation = epilogue.activation;
      g.epilogue.alpha = epilogue.alpha;
      g.epilogue.beta = epilogue.beta;
    }
    const float* const residual =
        epilogue.residual == nullptr ? nullptr : epilogue.residual + image * out_image;
    float* const output = y + image * out_image;
    set_windows(s, x + image * in_image, images, windows, g);
    g.c = single ? output : result;
    if (single && residual != nullptr) {
      g.epilogue.residual = residual;
      g.epilogue.residual_row_stride = g.n;
      g.epilogue.residual_scale = epilogue.residual_scale;
    }
    gemm(g, gemm_scratch, pool);
    for (int64_t i = 0; !single && i < images; ++i) {
      turn_pixels(s, result + i * out_image, residual == nullptr ? nullptr : residual + i * out_image,
                  epilogue, output + i * out_image);
    }
  }
}

}  // namespace axrun::runtime
