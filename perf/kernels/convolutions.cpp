// Convolutions with bias and Relu, as they stand in the standard architectures and in small models.
#include <string>

#include "perf/kernels/array.h"
#include "perf/kernels/workload.h"

namespace axrun::perf {
namespace {

struct ConvolutionCase {
  const char* name;
  int64_t groups, in, extent, out, kernel, stride, pad;
};

constexpr ConvolutionCase cases[] = {
    {"resnet50/stem", 1, 3, 224, 64, 7, 2, 3},
    {"resnet50/layer1", 1, 64, 56, 64, 3, 1, 1},
    {"resnet50/layer2", 1, 128, 28, 128, 3, 1, 1},
    {"resnet50/layer3", 1, 256, 14, 256, 3, 1, 1},
    {"resnet50/layer4", 1, 512, 7, 512, 3, 1, 1},
    {"resnet50/layer1_widen", 1, 64, 56, 256, 1, 1, 0},
    {"resnet50/layer3_narrow", 1, 1024, 14, 256, 1, 1, 0},
    {"resnet50/layer4_widen", 1, 512, 7, 2048, 1, 1, 0},
    {"resnet50/layer2_shortcut", 1, 256, 56, 512, 1, 2, 0},
    {"vgg16/first", 1, 3, 224, 64, 3, 1, 1},
    {"vgg16/block1", 1, 64, 224, 64, 3, 1, 1},
    {"vgg16/block3", 1, 256, 56, 256, 3, 1, 1},
    {"vgg16/block5", 1, 512, 14, 512, 3, 1, 1},
    {"densenet121/block1_bottleneck", 1, 224, 56, 128, 1, 1, 0},
    {"densenet121/block1_growth", 1, 128, 56, 32, 3, 1, 1},
    {"densenet121/block3_growth", 1, 128, 14, 32, 3, 1, 1},
    {"densenet121/transition2", 1, 512, 28, 256, 1, 1, 0},
    {"unet/encoder1", 1, 32, 256, 32, 3, 1, 1},
    {"unet/decoder2", 1, 128, 128, 64, 3, 1, 1},
    {"mobilenet_v2/stem", 1, 3, 224, 32, 3, 2, 1},
    {"mobilenet_v2/depthwise_112", 32, 32, 112, 32, 3, 1, 1},
    {"mobilenet_v2/depthwise_112_halving", 96, 96, 112, 96, 3, 2, 1},
    {"mobilenet_v2/depthwise_56", 144, 144, 56, 144, 3, 1, 1},
    {"mobilenet_v2/depthwise_14", 384, 384, 14, 384, 3, 1, 1},
    {"mobilenet_v2/depthwise_7", 960, 960, 7, 960, 3, 1, 1},
    {"mobilenet_v2/project_112", 1, 32, 112, 16, 1, 1, 0},
    {"mobilenet_v2/expand_56", 1, 24, 56, 144, 1, 1, 0},
    {"mobilenet_v2/last", 1, 320, 7, 1280, 1, 1, 0},
    {"small/depthwise_5x5", 240, 240, 14, 240, 5, 1, 2},
    {"small/squeeze_excite", 1, 960, 1, 240, 1, 1, 0},
    {"small/digits_first", 1, 1, 28, 8, 5, 1, 2},
    {"small/digits_second", 1, 8, 14, 16, 5, 1, 2},
    {"small/detector_3x3", 1, 16, 24, 16, 3, 1, 1},
    {"small/detector_halving", 1, 32, 12, 64, 3, 2, 1},
    {"small/superresolution", 1, 64, 224, 32, 3, 1, 1},
    {"small/style_9x9", 1, 3, 224, 32, 9, 1, 4},
};

Workload make(const ConvolutionCase& c, Team& team) {
  runtime::ConvShape s;
  s.groups = c.groups;
  s.in_channels = c.in, s.in_height = s.in_width = c.extent;
  s.kernel_height = s.kernel_width = c.kernel;
  s.stride_height = s.stride_width = c.stride;
  s.pad_top = s.pad_left = c.pad;
  s.out_channels = c.out;
  s.out_height = s.out_width = (c.extent + 2 * c.pad - c.kernel) / c.stride + 1;
  const int64_t terms = c.in / c.groups * c.kernel * c.kernel;
  const Array<float> x = random_floats(c.in * c.extent * c.extent, 1),
                     weights = random_floats(c.out * terms, 2);
  const Array<float> bias = random_floats(c.out, 3);
  Workload workload;
  workload.results = c.out * s.out_height * s.out_width;
  workload.operations = 2.0 * static_cast<double>(workload.results * terms);
  workload.reads = {{{x.data(), x.bytes()}, {weights.data(), weights.bytes()}, {bias.data(), bias.bytes()}}};
  workload.tolerance = tolerance_of_sums(terms);
  workload.keep = {x.owner(), weights.owner(), bias.owner()};
  for (Library* library : team.libraries) {
    const Array<float> y(workload.results);
    const Convolution convolution{s, x.data(), weights.data(), bias.data(), y.data()};
    workload.entrants.push_back({library->name(), library->convolution(convolution, team.pool), y.data()});
    workload.keep.push_back(y.owner());
  }
  return workload;
}

std::string name_of(const ConvolutionCase& c) {
  const auto text = [](int64_t number) { return std::to_string(number); };
  std::string name = std::string("conv/") + c.name + "/" + text(c.in) + "x" + text(c.extent) + "x" +
                     text(c.extent) + "_" + text(c.out) + "_" + text(c.kernel) + "x" + text(c.kernel);
  if (c.stride > 1) name += "_stride" + text(c.stride);
  return name;
}

}  // namespace

void add_convolutions(Bench& bench) {
  for (const ConvolutionCase& c : cases) {
    bench.add(name_of(c), [&c](Team& team) { return make(c, team); });
  }
}

}  // namespace axrun::perf
