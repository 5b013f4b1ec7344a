#include "runtime/kernels/conv_regions.h"
#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

/// Convolution by definition over any spatial rank, in double precision, without epilogue.
std::vector<double> reference(const ConvNdShape& s, bool transposed, const std::vector<float>& weights,
                              const std::vector<float>& x) {
  const auto size = [&](const int64_t* extents) {
    int64_t product = 1;
    for (int i = 0; i < s.spatial_rank; ++i) product *= extents[i];
    return product;
  };
  const int64_t in_size = size(s.in_extents), out_size = size(s.out_extents), taps = size(s.kernel);
  const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  std::vector<double> y(static_cast<size_t>(s.batch * s.out_channels * out_size));
  for (int64_t image = 0; image < s.batch; ++image) {
    for (int64_t channel = 0; channel < s.out_channels; ++channel) {
      for (int64_t c = 0; c < in; ++c) {
        const int64_t in_channel = channel / out * in + c;
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t w_at =
              (transposed ? in_channel * out + channel % out : channel * in + c) * taps + tap;
          // Walk the grid that the stride multiplies; the other one follows.
          const int64_t* small = transposed ? s.in_extents : s.out_extents;
          const int64_t* large = transposed ? s.out_extents : s.in_extents;
          for (int64_t flat = 0; flat < size(small); ++flat) {
            int64_t small_rest = flat, tap_rest = tap, large_at = 0, large_stride = 1;
            bool inside = true;
            for (int i = s.spatial_rank - 1; i >= 0; --i) {
              const int64_t position = small_rest % small[i] * s.strides[i] +
                                       tap_rest % s.kernel[i] * s.dilations[i] - s.pads_begin[i];
              small_rest /= small[i];
              tap_rest /= s.kernel[i];
              inside = inside && position >= 0 && position < large[i];
              large_at += position * large_stride;
              large_stride *= large[i];
            }
            if (!inside) continue;
            const int64_t in_at =
                (image * s.in_channels + in_channel) * in_size + (transposed ? flat : large_at);
            const int64_t out_at =
                (image * s.out_channels + channel) * out_size + (transposed ? large_at : flat);
            y[static_cast<size_t>(out_at)] +=
                static_cast<double>(weights[static_cast<size_t>(w_at)]) * x[static_cast<size_t>(in_at)];
          }
        }
      }
    }
  }
  return y;
}

ConvNdShape general(const ConvShape& s) {
  ConvNdShape n;
  n.spatial_rank = 2;
  n.batch = s.batch, n.groups = s.groups, n.in_channels = s.in_channels, n.out_channels = s.out_channels;
  n.in_extents[0] = s.in_height, n.in_extents[1] = s.in_width;
  n.out_extents[0] = s.out_height, n.out_extents[1] = s.out_width;
  n.kernel[0] = s.kernel_height, n.kernel[1] = s.kernel_width;
  n.strides[0] = s.stride_height, n.strides[1] = s.stride_width;
  n.dilations[0] = s.dilation_height, n.dilations[1] = s.dilation_width;
  n.pads_begin[0] = s.pad_top, n.pads_begin[1] = s.pad_left;
  return n;
}

class Conv : public KernelTest {
 protected:
  struct EpilogueData {
    Epilogue epilogue;
    std::vector<float> factor, bias, residual;
  };
  /// `y` is filled with random numbers, and may be the residual.
  EpilogueData random_epilogue(int64_t channels, std::vector<float>& y, bool allow_in_place) {
    EpilogueData data;
    Epilogue& e = data.epilogue;
    data.factor = numbers(channels);
    data.bias = numbers(channels);
    for (float& value : y) value = number();
    if (chance(20)) e.scale = number();
    if (chance(30)) e.row_factor = data.factor.data();
    if (chance(70)) e.row_bias = data.bias.data();
    if (chance(30)) {
      data.residual = numbers(static_cast<int64_t>(y.size()));
      e.residual = data.residual.data();
      if (allow_in_place && chance(50)) {
        y = data.residual;
        e.residual = y.data();
      }
      e.residual_scale = chance(50) ? 1.0f : number();
    }
    e.activation = static_cast<Activation>(integer(0, 10));
    e.alpha = number(-0.5f, 0.0f), e.beta = number(0.1f, 0.5f);
    return data;
  }

  void compare(const std::vector<double>& sums, const EpilogueData& data, int64_t channels, int64_t plane,
               int64_t terms, const std::vector<float>& y) {
    const Epilogue& e = data.epilogue;
    for (size_t i = 0; i < y.size(); ++i) {
      double value = sums[i] * e.scale;
      const size_t channel = i / static_cast<size_t>(plane) % static_cast<size_t>(channels);
      if (e.row_factor != nullptr) value *= data.factor[channel];
      if (e.row_bias != nullptr) value += data.bias[channel];
      if (e.residual != nullptr) value += static_cast<double>(data.residual[i]) * e.residual_scale;
      const double expected = reference_activation(e.activation, value, e.alpha, e.beta);
      ASSERT_TRUE(near(expected, y[i], 1e-6 * (4 + static_cast<double>(terms) / 8)))
          << "at " << i << ": " << expected << " and " << y[i];
    }
  }

  void check(ConvMethod method, const ConvShape& s) {
    SCOPED_TRACE(testing::Message() << "method " << static_cast<int>(method) << " groups " << s.groups
                                    << " in " << s.in_channels << "x" << s.in_height << "x" << s.in_width
                                    << " out " << s.out_channels << "x" << s.out_height << "x" << s.out_width
                                    << " kernel " << s.kernel_height << "x" << s.kernel_width << " stride "
                                    << s.stride_height << "," << s.stride_width << " dilation "
                                    << s.dilation_height << "," << s.dilation_width << " pad " << s.pad_top
                                    << "," << s.pad_left << " seed " << test_seed());
    ASSERT_TRUE(conv_method_fits(method, s));
    const int64_t terms = s.in_channels / s.groups * s.kernel_height * s.kernel_width;
    const std::vector<float> x = numbers(s.batch * s.in_channels * s.in_height * s.in_width);
    const std::vector<float> weights = numbers(s.out_channels * terms);
    std::vector<float> y(static_cast<size_t>(s.batch * s.out_channels * s.out_height * s.out_width));
    const EpilogueData data = random_epilogue(s.out_channels, y, true);
    ThreadPool& threads = pool();
    Buffer packed(conv_packed_bytes(method, s)), scratch(conv_scratch_bytes(method, s, threads.threads()));
    conv_pack(method, s, weights.data(), packed.floats());
    conv2d(method, s, packed.floats(), x.data(), y.data(), data.epilogue, scratch.data(), threads);
    compare(reference(general(s), false, weights, x), data, s.out_channels, s.out_height * s.out_width, terms,
            y);
  }

  /// Extents, strides, pads and so on; channels are the caller's.
  ConvShape random_window(int64_t largest) {
    ConvShape s;
    s.batch = integer(1, 2);
    s.in_height = integer(1, largest), s.in_width = integer(1, largest);
    s.kernel_height = integer(1, 5), s.kernel_width = integer(1, 5);
    s.stride_height = integer(1, 3), s.stride_width = integer(1, 3);
    s.dilation_height = chance(70) ? 1 : integer(1, 3), s.dilation_width = chance(70) ? 1 : integer(1, 3);
    s.pad_top = chance(10) ? -1 : integer(0, 3), s.pad_left = chance(10) ? -1 : integer(0, 3);
    // The trailing pads are whatever the output extent makes them.
    s.out_height = integer(1, s.in_height / s.stride_height + 3);
    s.out_width = integer(1, s.in_width / s.stride_width + 3);
    return s;
  }

  /// Dilations beyond the input's extents among them, and windows that read nothing but padding.
  ConvShape random_dilation() {
    ConvShape s;
    s.batch = integer(1, 2);
    s.in_height = integer(1, 30), s.in_width = integer(1, 50);
    s.kernel_height = integer(1, 4), s.kernel_width = integer(2, 4);
    s.dilation_height = integer(1, 40), s.dilation_width = integer(2, 40);
    s.stride_height = chance(70) ? 1 : integer(2, 3), s.stride_width = chance(70) ? 1 : integer(2, 3);
    s.pad_top = chance(70) ? s.dilation_height : integer(-1, 50);
    s.pad_left = chance(70) ? s.dilation_width : integer(-1, 50);
    s.out_height = chance(70) ? s.in_height : integer(1, 60);
    s.out_width = chance(70) ? s.in_width : integer(1, 90);
    return s;
  }
};

TEST_P(Conv, ImplicitGemm) {
  for (int i = 0; i < 150; ++i) {
    ConvShape s = random_window(20);
    s.groups = pick<int64_t>({1, 1, 2, 3});
    s.in_channels = s.groups * integer(1, 5);
    s.out_channels = s.groups * integer(1, 35);
    check(ConvMethod::implicit_gemm, s);
  }
}

TEST_P(Conv, ImplicitGemmInSeveralCells) {
  ConvShape s;
  s.in_channels = 24, s.in_height = 57, s.in_width = 61;
  s.out_channels = 130, s.out_height = 57, s.out_width = 61;
  s.kernel_height = s.kernel_width = 3;
  s.pad_top = s.pad_left = 1;
  check(ConvMethod::implicit_gemm, s);
  s.stride_height = s.stride_width = 2;
  s.out_height = 29, s.out_width = 31;
  check(ConvMethod::implicit_gemm, s);
  s.kernel_height = s.kernel_width = 1;
  s.pad_top = s.pad_left = 0;
  check(ConvMethod::implicit_gemm, s);
}

/// Enough terms and output channels that panels are gathered, in several blocks of either.
TEST_P(Conv, GatheredPanels) {
  for (int i = 0; i < 30; ++i) {
    ConvShape s = random_window(9);
    s.groups = pick<int64_t>({1, 1, 2});
    s.in_channels = s.groups * integer(16, 80);
    s.out_channels = s.groups * integer(30, 260);
    check(ConvMethod::implicit_gemm, s);
  }
  for (int i = 0; i < 30; ++i) {
    ConvShape s;
    s.batch = integer(1, 2);
    s.groups = pick<int64_t>({1, 1, 2});
    s.in_channels = s.groups * integer(1, 700);
    s.out_channels = s.groups * integer(13, 300);
    s.in_height = s.out_height = integer(1, 8);
    s.in_width = s.out_width = integer(1, 8);
    check(ConvMethod::implicit_gemm, s);
  }
  ConvShape deep;
  deep.in_channels = 130, deep.out_channels = 500;
  deep.in_height = deep.in_width = deep.out_height = deep.out_width = 7;
  deep.kernel_height = deep.kernel_width = 3;
  deep.pad_top = deep.pad_left = 1;
  check(ConvMethod::implicit_gemm, deep);
}

/// Most taps read padding: region by region, of one tap to all of them, or none.
TEST_P(Conv, LargeDilation) {
  for (int i = 0; i < 50; ++i) {
    ConvShape s = random_dilation();
    s.groups = pick<int64_t>({1, 1, 2, 3});
    s.in_channels = s.groups * pick<int64_t>({1, 3, 25});
    s.out_channels = s.groups * pick<int64_t>({1, 5, 16, 33});
    check(ConvMethod::implicit_gemm, s);
    s.groups = s.in_channels = integer(1, 9);
    s.out_channels = s.groups * integer(1, 3);
    check(ConvMethod::depthwise, s);
  }
  for (const int64_t stride : {1, 2, 3}) {
    ConvShape s;
    s.kernel_height = s.kernel_width = 3;
    s.stride_height = s.stride_width = stride;
    s.in_channels = 70, s.out_channels = 270;  // several blocks of both
    s.in_height = s.in_width = 13;
    s.out_height = s.out_width = (s.in_height - 1) / stride + 1;
    s.dilation_height = s.dilation_width = s.pad_top = s.pad_left = 5;
    check(ConvMethod::implicit_gemm, s);
    s.groups = s.in_channels = 3, s.out_channels = 6;
    s.in_height = 66, s.in_width = 131;
    s.out_height = (s.in_height - 1) / stride + 1, s.out_width = (s.in_width - 1) / stride + 1;
    s.dilation_height = s.dilation_width = s.pad_top = s.pad_left = 25;
    check(ConvMethod::depthwise, s);
  }
}

TEST_P(Conv, LargeDilationTakesNoMemoryForPadding) {
  ConvShape s;
  s.in_channels = s.out_channels = 64;
  s.in_height = s.in_width = s.out_height = s.out_width = 65;
  s.kernel_height = s.kernel_width = 3;
  s.dilation_height = s.dilation_width = s.pad_top = s.pad_left = 48;
  const size_t plane = 65 * 65 * sizeof(float);
  EXPECT_LT(conv_scratch_bytes(ConvMethod::implicit_gemm, s, 1), 64 * plane);
  s.groups = 64;
  EXPECT_LT(conv_scratch_bytes(ConvMethod::depthwise, s, 1), plane);
}

/// Every output is in one region, whose taps are those that read the input there.
TEST_P(Conv, Regions) {
  for (int i = 0; i < 100; ++i) {
    const ConvShape s = random_dilation();
    const ConvRegions regions(s, integer(1, 300));
    std::vector<int> seen(static_cast<size_t>(s.out_height * s.out_width));
    const auto reads = [](int64_t at, int64_t tap, int64_t dilation, int64_t pad, int64_t in) {
      const int64_t position = at + tap * dilation - pad;
      return position >= 0 && position < in;
    };
    for (int64_t k = 0; k < regions.count(); ++k) {
      const ConvRegion r = regions.region(k);
      for (int64_t row = r.row0; row < r.row1; ++row) {
        for (int64_t tap = 0; tap < s.kernel_height; ++tap)
          ASSERT_EQ(tap >= r.tap_row0 && tap < r.tap_row1,
                    reads(row * s.stride_height, tap, s.dilation_height, s.pad_top, s.in_height));
        for (int64_t column = r.column0; column < r.column1; ++column) {
          ++seen[static_cast<size_t>(row * s.out_width + column)];
          for (int64_t tap = 0; tap < s.kernel_width; ++tap)
            ASSERT_EQ(tap >= r.tap_column0 && tap < r.tap_column1,
                      reads(column * s.stride_width, tap, s.dilation_width, s.pad_left, s.in_width));
        }
      }
    }
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
  }
}

TEST_P(Conv, Pointwise) {
  for (int i = 0; i < 60; ++i) {
    ConvShape s;
    s.batch = integer(1, 3);
    s.groups = pick<int64_t>({1, 1, 2});
    s.in_channels = s.groups * integer(1, 40);
    s.out_channels = s.groups * integer(1, 40);
    s.in_height = s.out_height = integer(1, 20);
    s.in_width = s.out_width = integer(1, 20);
    check(ConvMethod::pointwise, s);
  }
}

TEST_P(Conv, Depthwise) {
  for (int i = 0; i < 150; ++i) {
    ConvShape s = random_window(40);
    s.in_channels = s.groups = integer(1, 6);
    s.out_channels = s.groups * integer(1, 3);
    check(ConvMethod::depthwise, s);
  }
  ConvShape large;
  large.in_channels = large.out_channels = large.groups = 3;
  large.in_height = large.in_width = large.out_height = large.out_width = 150;
  large.kernel_height = large.kernel_width = 3;
  large.pad_top = large.pad_left = 1;
  check(ConvMethod::depthwise, large);
}

/// Channels in lanes, where that pays: whole vectors of them and parts, planes of few pixels and of many
/// rows.
TEST_P(Conv, DepthwiseOfManyChannels) {
  for (int i = 0; i < 120; ++i) {
    ConvShape s = random_window(chance(70) ? 9 : 25);
    s.in_channels = s.groups = s.out_channels = integer(3, 40);
    check(ConvMethod::depthwise, s);
  }
  for (const int64_t kernel : {5, 7}) {
    ConvShape large;
    large.batch = 2;
    large.in_channels = large.out_channels = large.groups = 21;
    large.in_height = large.in_width = 70;
    large.kernel_height = large.kernel_width = kernel;
    large.pad_top = large.pad_left = kernel / 2;
    large.stride_height = large.stride_width = kernel - 4;
    large.out_height = large.out_width = 69 / large.stride_width + 1;
    check(ConvMethod::depthwise, large);
  }
}

TEST_P(Conv, FewPixels) {
  for (int i = 0; i < 80; ++i) {
    ConvShape s = random_window(6);
    s.in_channels = integer(1, 20);
    s.out_channels = integer(1, 80);
    check(ConvMethod::few_pixels, s);
    s.kernel_height = s.kernel_width = s.stride_height = s.stride_width = 1;
    s.pad_top = s.pad_left = 0;
    s.in_height = s.out_height = integer(1, 3), s.in_width = s.out_width = integer(1, 3);
    check(ConvMethod::few_pixels, s);
  }
  // Several images are one product; here they are its rows as they lie, 4 KiB apart.
  ConvShape images;
  images.batch = 60;
  images.in_channels = 1024, images.out_channels = 130;
  check(ConvMethod::few_pixels, images);
  for (int i = 0; i < 40; ++i) {
    ConvShape s = random_window(5);
    s.batch = integer(2, 70);
    s.in_channels = integer(1, 9);
    s.out_channels = integer(1, 40);
    check(ConvMethod::few_pixels, s);
  }
}

TEST_P(Conv, ChosenMethodFits) {
  for (int i = 0; i < 300; ++i) {
    ConvShape s = random_window(12);
    s.groups = integer(1, 4);
    s.in_channels = s.groups * integer(1, 4);
    s.out_channels = s.groups * integer(1, 4);
    EXPECT_TRUE(conv_method_fits(choose_conv_method(s), s));
  }
}

TEST_P(Conv, Empty) {
  ConvShape s = random_window(5);
  s.in_channels = 3, s.out_channels = 4, s.batch = 0;
  check(ConvMethod::implicit_gemm, s);
  s.batch = 1, s.out_height = 0;
  check(ConvMethod::implicit_gemm, s);
}

TEST_P(Conv, Transposed) {
  for (int i = 0; i < 150; ++i) {
    ConvShape s = random_window(9);
    if (s.stride_height > 1) s.dilation_height = 1;
    if (s.stride_width > 1) s.dilation_width = 1;
    s.groups = pick<int64_t>({1, 1, 2});
    s.in_channels = s.groups * integer(1, 5);
    s.out_channels = s.groups * integer(1, 20);
    s.out_height = integer(1, s.in_height * s.stride_height + 4);
    s.out_width = integer(1, s.in_width * s.stride_width + 4);
    SCOPED_TRACE(testing::Message() << "stride " << s.stride_height << "," << s.stride_width << " kernel "
                                    << s.kernel_height << "x" << s.kernel_width << " pad " << s.pad_top << ","
                                    << s.pad_left << " seed " << test_seed());
    const int64_t taps = s.kernel_height * s.kernel_width;
    const std::vector<float> x = numbers(s.batch * s.in_channels * s.in_height * s.in_width);
    const std::vector<float> weights = numbers(s.in_channels * (s.out_channels / s.groups) * taps);
    std::vector<float> y(static_cast<size_t>(s.batch * s.out_channels * s.out_height * s.out_width));
    const EpilogueData data = random_epilogue(s.out_channels, y, true);
    ThreadPool& threads = pool();
    Buffer packed(conv_transpose_packed_bytes(s)),
        scratch(conv_transpose_scratch_bytes(s, threads.threads()));
    conv_transpose_pack(s, weights.data(), packed.floats());
    conv_transpose2d(s, packed.floats(), x.data(), y.data(), data.epilogue, scratch.data(), threads);
    compare(reference(general(s), true, weights, x), data, s.out_channels, s.out_height * s.out_width,
            s.in_channels * taps, y);
  }
}

TEST_P(Conv, AnyRank) {
  for (int i = 0; i < 100; ++i) {
    const bool transposed = chance(50);
    ConvNdShape s;
    s.spatial_rank = static_cast<int>(integer(1, 4));
    s.batch = integer(1, 2), s.groups = integer(1, 2);
    s.in_channels = s.groups * integer(1, 3), s.out_channels = s.groups * integer(1, 3);
    int64_t in_size = 1, out_size = 1, taps = 1;
    for (int d = 0; d < s.spatial_rank; ++d) {
      s.in_extents[d] = integer(1, 6), s.out_extents[d] = integer(1, 6), s.kernel[d] = integer(1, 3);
      s.strides[d] = integer(1, 3), s.dilations[d] = integer(1, 2), s.pads_begin[d] = integer(-1, 2);
      in_size *= s.in_extents[d], out_size *= s.out_extents[d], taps *= s.kernel[d];
    }
    const std::vector<float> x = numbers(s.batch * s.in_channels * in_size);
    const std::vector<float> weights = numbers((transposed ? s.in_channels * (s.out_channels / s.groups)
                                                           : s.out_channels * (s.in_channels / s.groups)) *
                                               taps);
    std::vector<float> y(static_cast<size_t>(s.batch * s.out_channels * out_size));
    const EpilogueData data = random_epilogue(s.out_channels, y, false);
    (transposed ? conv_transpose_nd : conv_nd)(s, weights.data(), x.data(), y.data(), data.epilogue, pool());
    compare(reference(s, transposed, weights, x), data, s.out_channels, out_size, s.in_channels * taps, y);
  }
}

AXRUN_KERNEL_TESTS(Conv);

}  // namespace
}  // namespace axrun::runtime
