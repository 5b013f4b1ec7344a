// Speed of the reference interpreter on the programs of real operators: multiply-accumulates or elements per
// second of one thread.
//
//   bench_interpreter [--benchmark_filter=REGEX]

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/operator.h"

namespace axrun::ir {
namespace {

Tensor filled(ElementType type, const Shape& shape) {
  Tensor tensor = Tensor::allocate(type, shape);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_int(k, k * 7 % 11 - 5);
  return tensor;
}

Attribute integers(const std::vector<int64_t>& values) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::integers;
  attribute.integers = values;
  return attribute;
}

Attribute integer(int64_t value) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::integer;
  attribute.integer = value;
  return attribute;
}

/// `work`: what one evaluation counts.
void run(benchmark::State& state, const std::string& op, int version, const std::vector<Tensor>& inputs,
         const std::map<std::string, Attribute>& attributes, int64_t work) {
  Node node;
  node.name = op;
  node.op = op;
  node.version = version;
  node.attributes = attributes;
  node.outputs = {static_cast<ValueId>(inputs.size())};
  std::vector<OperandInfo> known(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    node.inputs.push_back(static_cast<ValueId>(k));
    known[k].present = true;
    known[k].type = inputs[k].type();
    known[k].dims = to_dims(inputs[k].shape());
    if (inputs[k].size() < 64) known[k].constant = &inputs[k];
  }
  const Program program = define_node(node, known);
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(program, inputs));
  state.counters["rate"] = benchmark::Counter(
      static_cast<double>(work) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

constexpr ElementType f32 = ElementType::f32;
constexpr ElementType u8 = ElementType::u8;
constexpr ElementType i8 = ElementType::i8;

/// Square images and kernels, "same" padding.
void conv(benchmark::State& state, int64_t in, int64_t out, int64_t size, int64_t kernel) {
  const int64_t pad = kernel / 2;
  run(state, "Conv", 11, {filled(f32, {1, in, size, size}), filled(f32, {out, in, kernel, kernel})},
      {{"pads", integers({pad, pad, pad, pad})}}, in * out * size * size * kernel * kernel);
}
BENCHMARK_CAPTURE(conv, image3x3, 32, 32, 224, 3)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(conv, middle3x3, 64, 64, 56, 3)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(conv, small3x3, 256, 256, 7, 3)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(conv, pointwise, 128, 128, 28, 1)->Unit(benchmark::kMillisecond);

void conv_transpose(benchmark::State& state) {
  run(state, "ConvTranspose", 11, {filled(f32, {1, 32, 32, 32}), filled(f32, {32, 32, 4, 4})},
      {{"strides", integers({2, 2})}, {"pads", integers({1, 1, 1, 1})}}, int64_t{32} * 32 * 32 * 32 * 16);
}
BENCHMARK(conv_transpose)->Unit(benchmark::kMillisecond);

void quantized_conv(benchmark::State& state) {
  const Tensor scale = Tensor::scalar(f32, 0.5);
  run(state, "QLinearConv", 10,
      {filled(u8, {1, 64, 28, 28}), scale, Tensor::scalar(u8, 3), filled(i8, {64, 64, 3, 3}), scale,
       Tensor::scalar(i8, 0), scale, Tensor::scalar(u8, 7)},
      {{"pads", integers({1, 1, 1, 1})}}, int64_t{64} * 64 * 28 * 28 * 9);
}
BENCHMARK(quantized_conv)->Unit(benchmark::kMillisecond);

void matmul(benchmark::State& state, int64_t rows, int64_t columns, int64_t depth) {
  run(state, "MatMul", 13, {filled(f32, {rows, depth}), filled(f32, {depth, columns})}, {},
      rows * columns * depth);
}
BENCHMARK_CAPTURE(matmul, square, 256, 256, 256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(matmul, one_row, 1, 1024, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(matmul, narrow, 512, 8, 512)->Unit(benchmark::kMillisecond);

void add(benchmark::State& state) {
  run(state, "Add", 13, {filled(f32, {1000, 1000}), filled(f32, {1000})}, {}, 1000000);
}
BENCHMARK(add)->Unit(benchmark::kMillisecond);

void softmax(benchmark::State& state) { run(state, "Softmax", 13, {filled(f32, {1000, 1000})}, {}, 1000000); }
BENCHMARK(softmax)->Unit(benchmark::kMillisecond);

/// Multiply-accumulates of the four gates.
void lstm(benchmark::State& state) {
  run(state, "LSTM", 14, {filled(f32, {100, 1, 64}), filled(f32, {1, 512, 64}), filled(f32, {1, 512, 128})},
      {{"hidden_size", integer(128)}}, int64_t{100} * 512 * 192);
}
BENCHMARK(lstm)->Unit(benchmark::kMillisecond);

void cumulative_sum(benchmark::State& state) {
  run(state, "CumSum", 14, {filled(f32, {10000}), Tensor::scalar(ElementType::i64, 0)}, {}, 10000);
}
BENCHMARK(cumulative_sum)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace axrun::ir

BENCHMARK_MAIN();
