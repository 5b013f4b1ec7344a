#include <cmath>
#include <cstring>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

int32_t value(Byte type, uint8_t byte) { return type == Byte::u8 ? byte : static_cast<int8_t>(byte); }

/// A convolution of bytes and its operands, drawn at random.
struct ByteConvCase {
  ConvShape s;
  Byte x_type, w_type, y_type;
  std::vector<uint8_t> x, w;
  int32_t x_zero = 0, y_zero = 0;
  std::vector<int32_t> w_zeros;  ///< empty: 0
  std::vector<int32_t> bias;     ///< empty: none
  std::vector<float> multipliers;
  std::vector<float> addends;  ///< empty: none
  float low = -INFINITY, high = INFINITY;

  int64_t channels() const { return s.in_channels / s.groups; }
  int64_t out_channels() const { return s.out_channels / s.groups; }

  /// From the definition.
  int32_t sum(int64_t image, int64_t o, int64_t row, int64_t column) const {
    uint32_t sum = bias.empty() ? 0 : static_cast<uint32_t>(bias[static_cast<size_t>(o)]);
    const int32_t w_zero = w_zeros.empty() ? 0 : w_zeros[static_cast<size_t>(o)];
    for (int64_t c = 0; c < channels(); ++c) {
      const int64_t in = image * s.in_channels + o / out_channels() * channels() + c;
      for (int64_t h = 0; h < s.kernel_height; ++h) {
        for (int64_t v = 0; v < s.kernel_width; ++v) {
          const int64_t i = row * s.stride_height + h * s.dilation_height - s.pad_top;
          const int64_t j = column * s.stride_width + v * s.dilation_width - s.pad_left;
          if (i < 0 || i >= s.in_height || j < 0 || j >= s.in_width) continue;
          const int64_t from = (in * s.in_height + i) * s.in_width + j;
          const int64_t weight = ((o * channels() + c) * s.kernel_height + h) * s.kernel_width + v;
          sum += static_cast<uint32_t>((value(x_type, x[static_cast<size_t>(from)]) - x_zero) *
                                       (value(w_type, w[static_cast<size_t>(weight)]) - w_zero));
        }
      }
    }
    return static_cast<int32_t>(sum);
  }
  float scaled(int32_t sum, int64_t o) const {
    const float product =
        static_cast<float>(sum) * multipliers[multipliers.size() > 1 ? static_cast<size_t>(o) : 0];
    return std::fmin(std::fmax(addends.empty() ? product : product + addends[static_cast<size_t>(o)], low),
                     high);
  }
  int32_t result(float value) const {
    const float rounded = std::nearbyint(value) + static_cast<float>(y_zero);
    const float least = y_type == Byte::u8 ? 0.0f : -128.0f;
    return static_cast<int32_t>(std::fmin(std::fmax(rounded, least), least + 255));
  }
};

class ByteConv : public KernelTest {
 protected:
  std::vector<uint8_t> bytes(int64_t count) {
    std::vector<uint8_t> result(static_cast<size_t>(count));
    for (uint8_t& b : result) b = chance(10) ? pick<uint8_t>({0, 127, 128, 255}) : any_byte();
    return result;
  }
  uint8_t any_byte() { return static_cast<uint8_t>(random_()); }

  void draw_axis(int64_t& in, int64_t& out, int64_t kernel, int64_t& stride, int64_t& dilation, int64_t& pad,
                 int64_t most) {
    dilation = chance(70) ? 1 : integer(1, 3);
    stride = chance(50) ? 1 : integer(1, 5);
    const int64_t reach = (kernel - 1) * dilation;
    pad = chance(30) ? 0 : integer(chance(10) ? -2 : 0, reach + 1);
    const int64_t trailing = integer(0, reach);
    in = std::max(integer(1, most), reach + 1 - pad - trailing);
    out = (in + pad + trailing - reach - 1) / stride + 1;
  }

  ByteConvCase draw() {
    ByteConvCase c;
    c.s.batch = integer(1, 2);
    const bool depthwise = chance(30);
    c.s.groups = depthwise ? integer(1, 20) : chance(70) ? 1 : integer(1, 4);
    c.s.in_channels = c.s.groups * (depthwise ? 1 : integer(1, chance(20) ? 40 : 9));
    c.s.out_channels = c.s.groups * (depthwise && chance(70) ? 1 : integer(1, chance(20) ? 70 : 17));
    c.s.kernel_height = chance(40) ? 1 : integer(1, 5);
    c.s.kernel_width = chance(40) ? c.s.kernel_height : integer(1, 9);
    const int64_t most = chance(20) ? 90 : 20;
    draw_axis(c.s.in_height, c.s.out_height, c.s.kernel_height, c.s.stride_height, c.s.dilation_height,
              c.s.pad_top, most);
    draw_axis(c.s.in_width, c.s.out_width, c.s.kernel_width, c.s.stride_width, c.s.dilation_width,
              c.s.pad_left, most);
    c.x_type = pick({Byte::u8, Byte::i8}), c.w_type = pick({Byte::u8, Byte::i8});
    c.y_type = pick({Byte::u8, Byte::i8});
    c.x = bytes(c.s.batch * c.s.in_channels * c.s.in_height * c.s.in_width);
    c.w = bytes(c.s.out_channels * c.channels() * c.s.kernel_height * c.s.kernel_width);
    c.x_zero = value(c.x_type, any_byte()), c.y_zero = value(c.y_type, any_byte());
    if (chance(60)) {
      for (int64_t o = 0; o < c.s.out_channels; ++o)
        c.w_zeros.push_back(chance(30) ? 0 : value(c.w_type, any_byte()));
    }
    for (int64_t o = 0; c.bias.empty() ? o == 0 && chance(60) : o < c.s.out_channels; ++o)
      c.bias.push_back(static_cast<int32_t>(integer(-20000, 20000)));
    // Some results saturate.
    c.multipliers = numbers(chance(50) ? 1 : c.s.out_channels, 0.0001f, 0.01f);
    if (chance(50)) c.addends = numbers(c.s.out_channels, -20.0f, 20.0f);
    if (chance(30)) c.low = chance(50) ? 0.0f : number(-90, 0);
    if (chance(20)) c.high = number(0, 90);
    return c;
  }

  /// All forms of the result against the definition.
  void check(const ByteConvCase& c) {
    const ConvShape& s = c.s;
    Buffer packed(byte_conv_packed_bytes(s));
    byte_conv_pack(s, c.w_type, c.w.data(), c.w_zeros.empty() ? nullptr : c.w_zeros.data(), packed.data());
    ThreadPool& threads = pool();
    const size_t scratch_bytes = byte_conv_scratch_bytes(s, threads.threads());
    Buffer scratch(scratch_bytes);
    // Nothing may come of what is there before.
    std::memset(scratch.data(), pick({0, 0x5a, 0xff}), scratch_bytes);
    const auto count = static_cast<size_t>(s.batch * s.out_channels * s.out_height * s.out_width);
    std::vector<int32_t> sums(count + 1, -5);
    std::vector<uint8_t> y(count + 1, 77);
    std::vector<float> floats(count + 1, 5.5f);
    // Exactly as long as the input is, so that AddressSanitizer sees what is read past its end.
    const auto x = std::make_unique<uint8_t[]>(c.x.size());
    std::copy(c.x.begin(), c.x.end(), x.get());
    ByteConvArguments a;
    a.x_type = c.x_type, a.x = x.get(), a.x_zero_point = c.x_zero;
    a.packed = packed.data();
    a.bias = c.bias.empty() ? nullptr : c.bias.data();
    a.sums = sums.data();
    byte_conv(s, a, threads.threads(), scratch.data(), threads);
    a.sums = nullptr;
    a.multipliers = c.multipliers.data(), a.per_channel = c.multipliers.size() > 1;
    a.addends = c.addends.empty() ? nullptr : c.addends.data();
    a.low = c.low, a.high = c.high;
    a.floats = floats.data();
    byte_conv(s, a, threads.threads(), scratch.data(), threads);
    a.floats = nullptr;
    a.y_type = c.y_type, a.y = y.data(), a.y_zero_point = c.y_zero;
    byte_conv(s, a, threads.threads(), scratch.data(), threads);
    size_t at = 0;
    for (int64_t image = 0; image < s.batch; ++image) {
      for (int64_t o = 0; o < s.out_channels; ++o) {
        for (int64_t row = 0; row < s.out_height; ++row) {
          for (int64_t column = 0; column < s.out_width; ++column, ++at) {
            const int32_t sum = c.sum(image, o, row, column);
            ASSERT_EQ(sum, sums[at]) << describe(c) << " at " << o << " " << row << " " << column;
            const float scaled = c.scaled(sum, o);
            ASSERT_TRUE(near(scaled, floats[at], 1e-5)) << describe(c) << " sum " << sum;
            // A fused multiply-add may round a tie the other way; without something added there is none.
            const int32_t wanted = c.result(scaled), most = c.addends.empty() ? 0 : 1;
            ASSERT_LE(std::abs(wanted - value(c.y_type, y[at])), most) << describe(c) << " sum " << sum;
          }
        }
      }
    }
    ASSERT_EQ(sums[at], -5) << describe(c);
    ASSERT_EQ(y[at], 77) << describe(c);
    ASSERT_EQ(floats[at], 5.5f) << describe(c);
  }

  static std::string describe(const ByteConvCase& c) {
    const ConvShape& s = c.s;
    std::string text;
    for (const int64_t number :
         {s.batch, s.groups, s.in_channels, s.in_height, s.in_width, s.out_channels, s.out_height,
          s.out_width, s.kernel_height, s.kernel_width, s.stride_height, s.stride_width, s.dilation_height,
          s.dilation_width, s.pad_top, s.pad_left}) {
      text += std::to_string(number) + " ";
    }
    return text + "seed " + std::to_string(test_seed());
  }
};

TEST_P(ByteConv, IsExact) {
  for (int repeat = 0; repeat < 400; ++repeat) {
    const ByteConvCase c = draw();
    check(c);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ByteConv, PlanesThatAreCut) {
  for (int repeat = 0; repeat < 6; ++repeat) {
    ByteConvCase c = draw();
    c.s = {};
    c.s.groups = repeat % 3 == 0 ? 3 : 1;
    c.s.in_channels = c.s.groups * integer(1, 40), c.s.out_channels = c.s.groups * integer(1, 20);
    c.s.kernel_height = c.s.kernel_width = repeat % 2 == 0 ? 1 : 3;
    c.s.pad_top = c.s.pad_left = repeat % 2 == 0 ? 0 : 1;
    c.s.in_height = c.s.out_height = integer(20, 60);
    c.s.in_width = c.s.out_width = integer(20, 200);
    c.x = bytes(c.s.in_channels * c.s.in_height * c.s.in_width);
    c.w = bytes(c.s.out_channels * c.channels() * c.s.kernel_height * c.s.kernel_width);
    c.w_zeros.assign(static_cast<size_t>(c.s.out_channels), 3);
    c.bias.clear();
    c.multipliers = {0.001f}, c.addends.clear();
    check(c);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ByteConv, NoChannels) {
  ByteConvCase c = draw();
  c.s = {};
  c.s.out_channels = 3, c.s.out_width = c.s.in_width = 20;
  c.x.clear(), c.w.clear(), c.w_zeros.clear();
  c.bias = {7, -9, 100000};
  c.multipliers = {0.01f}, c.addends.clear();
  check(c);
}

AXRUN_KERNEL_TESTS(ByteConv);

}  // namespace
}  // namespace axrun::runtime
