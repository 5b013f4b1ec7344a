// Speed of single fallback kernels: GFLOP/s of matrix products and convolutions beside the processor's
// measured peak.
//
//   bench_kernels [--benchmark_filter=REGEX]        AXRUN_BENCH_THREADS=N sets the pool's size (1)
//
// Read `GFLOPS` against the line `peak/...`: the fused multiply-add rate of one core in the same run. Both
// are of the fastest batch; the columns Time and CPU belong to the benchmark library's iterations and mean
// nothing here.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernels/kernels.h"

namespace axrun::runtime {
namespace {

ThreadPool& pool() {
  static const std::unique_ptr<ThreadPool> pool = [] {
    const char* threads = std::getenv("AXRUN_BENCH_THREADS");
    return ThreadPool::make(threads == nullptr ? 1 : std::atoi(threads));
  }();
  return *pool;
}

struct Buffer {
  explicit Buffer(size_t bytes)
      : bytes_((bytes + 63) / 64 * 64 + 64), data(static_cast<float*>(std::aligned_alloc(64, bytes_))) {
    for (size_t i = 0; i < bytes_ / 4; ++i) data[i] = static_cast<float>(i % 17) * 0.01f - 0.08f;
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  size_t bytes_;
  float* data;
};

/// Runs `body` in batches of about 50 us and reports the rate of the fastest batch: on a shared machine the
/// mean tells more about the neighbours.
template <class Body>
void measure(benchmark::State& state, double operations, Body body) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [&](int64_t repeats) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < repeats; ++i) body();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  seconds_of(1);
  const auto repeats = static_cast<int64_t>(50e-6 / seconds_of(2) * 2) + 1;
  double best = 1e30;
  for (auto _ : state) best = std::min(best, seconds_of(repeats) / static_cast<double>(repeats));
  state.counters["us"] = best * 1e6;
  state.counters["GFLOPS"] = operations / best * 1e-9;
}

typedef float Wide512 __attribute__((vector_size(64)));
typedef float Wide256 __attribute__((vector_size(32)));

/// Independent multiply-adds in registers: the rate of the units themselves.
__attribute__((noinline, target("avx512f"))) void multiply_adds_avx512(Wide512* result) {
  const Wide512 factor = *result;
  Wide512 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = factor + static_cast<float>(i);
  for (int i = 0; i < 1000; ++i) {
#pragma GCC unroll 12
    for (Wide512& sum : sums) sum = __builtin_ia32_vfmaddps512_mask(sum, factor, factor, -1, 4);
  }
#pragma GCC unroll 12
  for (const Wide512& sum : sums) *result += sum;
}
__attribute__((noinline, target("avx2,fma"))) void multiply_adds_avx2(Wide256* result) {
  const Wide256 factor = *result;
  Wide256 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = factor + static_cast<float>(i);
  for (int i = 0; i < 1000; ++i) {
#pragma GCC unroll 12
    for (Wide256& sum : sums) sum = __builtin_ia32_vfmaddps256(sum, factor, factor);
  }
#pragma GCC unroll 12
  for (const Wide256& sum : sums) *result += sum;
}

void peak_avx512(benchmark::State& state) {
  measure(state, 1000.0 * 12 * 32, [] {
    Wide512 value = {};
    multiply_adds_avx512(&value);
    benchmark::DoNotOptimize(value);
  });
}
void peak_avx2(benchmark::State& state) {
  measure(state, 1000.0 * 12 * 16, [] {
    Wide256 value = {};
    multiply_adds_avx2(&value);
    benchmark::DoNotOptimize(value);
  });
}

struct GemmCase {
  const char* name;
  int64_t m, n, k;
  bool pack_a, pack_b, transpose_b;
};

void bench_gemm(benchmark::State& state, const GemmCase& shape) {
  const Buffer a(static_cast<size_t>(shape.m * shape.k) * 4), b(static_cast<size_t>(shape.k * shape.n) * 4);
  const Buffer c(static_cast<size_t>(shape.m * shape.n) * 4);
  const Buffer packed_a(gemm_packed_a_bytes(shape.m, shape.k)),
      packed_b(gemm_packed_b_bytes(shape.k, shape.n));
  GemmArguments g;
  g.m = shape.m, g.n = shape.n, g.k = shape.k;
  g.a = a.data, g.a_row_stride = shape.k;
  g.b = b.data;
  g.b_row_stride = shape.transpose_b ? 1 : shape.n;
  g.b_column_stride = shape.transpose_b ? shape.k : 1;
  g.c = c.data, g.c_row_stride = shape.n;
  if (shape.pack_a) {
    gemm_pack_a(g.m, g.k, g.a, g.a_row_stride, 1, packed_a.data);
    g.packed_a = packed_a.data;
  }
  if (shape.pack_b) {
    gemm_pack_b(g.k, g.n, g.b, g.b_row_stride, g.b_column_stride, packed_b.data);
    g.packed_b = packed_b.data;
  }
  const Buffer scratch(gemm_scratch_bytes(g, pool().threads()));
  const double operations =
      2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  measure(state, operations, [&] { gemm(g, scratch.data, pool()); });
}

constexpr GemmCase gemm_cases[] = {
    {"512x512x512/packed", 512, 512, 512, false, true, false},
    {"512x512x512/plain", 512, 512, 512, false, false, false},
    {"512x512x512/transposed", 512, 512, 512, false, false, true},
    {"1024x1024x1024/packed", 1024, 1024, 1024, false, true, false},
    {"1000x1024x1000/packed", 1000, 1024, 1000, false, true, false},
    {"1024x1024x1024/both", 1024, 1024, 1024, true, true, false},
    {"1x768x768/packed", 1, 768, 768, false, true, false},
    {"1x768x768/plain", 1, 768, 768, false, false, false},
    {"1x768x768/transposed", 1, 768, 768, false, false, true},
    {"1x4096x4096/packed", 1, 4096, 4096, false, true, false},
    {"1x4096x4096/plain", 1, 4096, 4096, false, false, false},
    {"4x768x768/packed", 4, 768, 768, false, true, false},
    {"16x768x768/packed", 16, 768, 768, false, true, false},
    {"128x768x768/packed", 128, 768, 768, false, true, false},
    {"128x3072x768/packed", 128, 3072, 768, false, true, false},
    {"49x576x96/packed", 49, 576, 96, false, true, false},
    {"49x96x576/packed", 49, 96, 576, false, true, false},
    {"8x64x8/packed", 8, 64, 8, false, true, false},
    {"8x8x64/plain", 8, 8, 64, false, false, false},
    {"32x32x32/plain", 32, 32, 32, false, false, false},
    {"64x64x64/transposed", 64, 64, 64, false, false, true},
    {"128x128x64/transposed", 128, 128, 64, false, false, true},
    {"128x64x128/plain", 128, 64, 128, false, false, false},
    {"64x3136x64/weights", 64, 3136, 64, true, false, false},
    {"256x3136x64/weights", 256, 3136, 64, true, false, false},
    {"16x12544x96/weights", 16, 12544, 96, true, false, false},
    {"96x12544x16/weights", 96, 12544, 16, true, false, false},
    {"512x196x1024/weights", 512, 196, 1024, true, false, false},
    {"2048x49x512/weights", 2048, 49, 512, true, false, false},
};

struct ConvCase {
  const char* name;
  int64_t groups, in, height, out, kernel, stride, pad;
};

void bench_conv(benchmark::State& state, const ConvCase& c) {
  ConvShape s;
  s.groups = c.groups;
  s.in_channels = c.in, s.in_height = s.in_width = c.height;
  s.kernel_height = s.kernel_width = c.kernel;
  s.stride_height = s.stride_width = c.stride;
  s.pad_top = s.pad_left = c.pad;
  s.out_channels = c.out;
  s.out_height = s.out_width = (c.height + 2 * c.pad - c.kernel) / c.stride + 1;
  const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
  const int64_t terms = c.in / c.groups * c.kernel * c.kernel;
  const ConvMethod method = choose_conv_method(s);
  const Buffer x(bytes(c.in * c.height * c.height)), y(bytes(c.out * s.out_height * s.out_width));
  const Buffer weights(bytes(c.out * terms)), bias(bytes(c.out)), packed(conv_packed_bytes(method, s));
  const Buffer scratch(conv_scratch_bytes(method, s, pool().threads()));
  conv_pack(method, s, weights.data, packed.data);
  Epilogue epilogue;
  epilogue.row_bias = bias.data;
  epilogue.activation = Activation::relu;
  const double operations =
      2.0 * static_cast<double>(c.out * s.out_height * s.out_width) * static_cast<double>(terms);
  measure(state, operations,
          [&] { conv2d(method, s, packed.data, x.data, y.data, epilogue, scratch.data, pool()); });
}

constexpr ConvCase conv_cases[] = {
    {"resnet/stem-7x7s2", 1, 3, 224, 64, 7, 2, 3},
    {"resnet/56-64-3x3", 1, 64, 56, 64, 3, 1, 1},
    {"resnet/28-128-3x3", 1, 128, 28, 128, 3, 1, 1},
    {"resnet/14-256-3x3", 1, 256, 14, 256, 3, 1, 1},
    {"resnet/7-512-3x3", 1, 512, 7, 512, 3, 1, 1},
    {"resnet/56-256-512-1x1s2", 1, 256, 56, 512, 1, 2, 0},
    {"resnet/56-64-256-1x1", 1, 64, 56, 256, 1, 1, 0},
    {"resnet/14-1024-256-1x1", 1, 1024, 14, 256, 1, 1, 0},
    {"resnet/7-512-2048-1x1", 1, 512, 7, 2048, 1, 1, 0},
    {"mobilenet/stem-3x3s2", 1, 3, 224, 32, 3, 2, 1},
    {"mobilenet/112-32-dw3", 32, 32, 112, 32, 3, 1, 1},
    {"mobilenet/112-96-dw3s2", 96, 96, 112, 96, 3, 2, 1},
    {"mobilenet/56-144-dw3", 144, 144, 56, 144, 3, 1, 1},
    {"mobilenet/28-192-dw3", 192, 192, 28, 192, 3, 1, 1},
    {"mobilenet/14-384-dw3", 384, 384, 14, 384, 3, 1, 1},
    {"mobilenet/14-576-dw3s2", 576, 576, 14, 576, 3, 2, 1},
    {"mobilenet/7-960-dw3", 960, 960, 7, 960, 3, 1, 1},
    {"mobilenet/14-240-dw5", 240, 240, 14, 240, 5, 1, 2},
    {"mobilenet/112-32-16-1x1", 1, 32, 112, 16, 1, 1, 0},
    {"mobilenet/56-24-144-1x1", 1, 24, 56, 144, 1, 1, 0},
    {"mobilenet/7-320-1280-1x1", 1, 320, 7, 1280, 1, 1, 0},
    {"mobilenet/1-960-240-1x1", 1, 960, 1, 240, 1, 1, 0},
    {"small/24-16-16-3x3", 1, 16, 24, 16, 3, 1, 1},
    {"small/28-1-8-5x5", 1, 1, 28, 8, 5, 1, 2},
    {"small/12-32-64-3x3s2", 1, 32, 12, 64, 3, 2, 1},
    {"small/4-128-128-3x3", 1, 128, 4, 128, 3, 1, 1},
};

}  // namespace
}  // namespace axrun::runtime

int main(int argc, char** argv) {
  using namespace axrun::runtime;
  const IsaLevel best = best_isa_level();
  if (best >= IsaLevel::avx512) benchmark::RegisterBenchmark("peak/avx512", peak_avx512);
  if (best >= IsaLevel::avx2) benchmark::RegisterBenchmark("peak/avx2", peak_avx2);
  for (const GemmCase& shape : gemm_cases) {
    benchmark::RegisterBenchmark((std::string("gemm/") + shape.name).c_str(), bench_gemm, shape);
  }
  for (const ConvCase& shape : conv_cases) {
    benchmark::RegisterBenchmark((std::string("conv/") + shape.name).c_str(), bench_conv, shape);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
