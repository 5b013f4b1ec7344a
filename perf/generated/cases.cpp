#include "perf/generated/cases.h"

#include <cmath>
#include <cstdio>
#include <map>

#include "ir/builder.h"
#include "ir/operator.h"
#include "perf/generated/planes.h"

namespace axrun::perf {
namespace {

using ir::Builder;
using ir::ElementType;
using ir::Indices;

/// a[m, k] b[k, n], and gelu(... + bias[n]).
ir::Program product(int64_t m, int64_t n, int64_t k, bool bias_gelu) {
  Builder b("product");
  const auto left = b.operand(0, ElementType::f32, {m, k}, "a");
  const auto right = b.operand(1, ElementType::f32, {k, n}, "b");
  ir::TensorRef bias;
  if (bias_gelu) bias = b.operand(2, ElementType::f32, {n}, "bias");
  const auto sum = b.reduce(
      ir::Monoid::Kind::sum, {m, n}, {k},
      [&](const Indices& i, const Indices& r) {
        return left({i[0], r[0]}) * right({r[0], i[1]});
      },
      "sum");
  if (!bias_gelu) {
    b.output(sum);
    return b.finish();
  }
  b.output(b.map(
      {m, n},
      [&](const Indices& i) {
        const auto x = sum(i) + bias({i[1]});
        return x * 0.5 * (erf(x * std::sqrt(0.5)) + 1.0);
      },
      "c"));
  return b.finish();
}

ir::Program softmax(int64_t m, int64_t n) {
  Builder b("softmax");
  const auto x = b.operand(0, ElementType::f32, {m, n}, "x");
  const auto top = b.reduce(ir::Monoid::Kind::max, {m}, {n}, [&](const Indices& i, const Indices& r) {
    return x({i[0], r[0]});
  });
  const auto power = b.map({m, n}, [&](const Indices& i) { return exp(x(i) - top({i[0]})); });
  const auto total = b.sum({m}, {n}, [&](const Indices& i, const Indices& r) { return power({i[0], r[0]}); });
  b.output(b.map({m, n}, [&](const Indices& i) { return power(i) / total({i[0]}); }));
  return b.finish();
}

ir::Program layer_norm(int64_t m, int64_t n) {
  Builder b("layer_norm");
  const auto x = b.operand(0, ElementType::f32, {m, n}, "x");
  const auto scale = b.operand(1, ElementType::f32, {n}, "scale");
  const auto bias = b.operand(2, ElementType::f32, {n}, "bias");
  const auto count = static_cast<double>(n);
  const auto total = b.sum({m}, {n}, [&](const Indices& i, const Indices& r) { return x({i[0], r[0]}); });
  const auto squares = b.sum({m}, {n}, [&](const Indices& i, const Indices& r) {
    const auto deviation = x({i[0], r[0]}) - total(i) / count;
    return deviation * deviation;
  });
  b.output(b.map({m, n}, [&](const Indices& i) {
    const auto deviation = x(i) - total({i[0]}) / count;
    return deviation / sqrt(squares({i[0]}) / count + 1e-5) * scale({i[1]}) + bias({i[1]});
  }));
  return b.finish();
}

ir::Program row_sums(int64_t m, int64_t n) {
  Builder b("sums");
  const auto x = b.operand(0, ElementType::f32, {m, n}, "x");
  b.output(b.sum({m}, {n}, [&](const Indices& i, const Indices& r) { return x({i[0], r[0]}); }));
  return b.finish();
}

std::optional<GeneratedCase> rows_case(const std::string& name) {
  using Make = ir::Program (*)(int64_t m, int64_t n);
  const std::map<std::string, Make> kinds = {
      {"softmax", softmax}, {"layer_norm", layer_norm}, {"sums", row_sums}};
  const size_t sizes = name.find_last_of('_');
  const auto kind = kinds.find(name.substr(0, sizes));
  if (sizes == std::string::npos || kind == kinds.end()) return std::nullopt;
  long m = 0, n = 0;
  char rest = 0;
  if (std::sscanf(name.c_str() + sizes, "_%ldx%ld%c", &m, &n, &rest) != 2 || m < 1 || n < 1)
    return std::nullopt;
  GeneratedCase one;
  one.name = name;
  one.flops = static_cast<double>(m) * static_cast<double>(n);
  one.constant = {false, true, true};
  one.make = [=, make = kind->second] { return make(m, n); };
  return one;
}

/// softmax(q k^T / sqrt(size)) v of heads that lie one after another.
ir::Program attention(int64_t heads, int64_t queries, int64_t keys, int64_t size) {
  Builder b("attention");
  const auto q = b.operand(0, ElementType::f32, {heads, queries, size}, "q");
  const auto k = b.operand(1, ElementType::f32, {heads, keys, size}, "k");
  const auto v = b.operand(2, ElementType::f32, {heads, keys, size}, "v");
  const ir::Dims scores{heads, queries, keys}, rows{heads, queries};
  const auto products = b.sum(scores, {size}, [&](const Indices& i, const Indices& r) {
    return q({i[0], i[1], r[0]}) * k({i[0], i[2], r[0]});
  });
  const auto scaled = b.map(
      scores, [&](const Indices& i) { return products(i) * (1 / std::sqrt(static_cast<double>(size))); });
  const auto in_row = [](const Indices& i, const Indices& r) { return Indices{i[0], i[1], r[0]}; };
  const auto top = b.reduce(ir::Monoid::Kind::max, rows, {keys},
                            [&](const Indices& i, const Indices& r) { return scaled(in_row(i, r)); });
  const auto power = b.map(scores, [&](const Indices& i) { return exp(scaled(i) - top({i[0], i[1]})); });
  const auto total =
      b.sum(rows, {keys}, [&](const Indices& i, const Indices& r) { return power(in_row(i, r)); });
  const auto share = b.map(scores, [&](const Indices& i) { return power(i) / total({i[0], i[1]}); });
  b.output(b.sum({heads, queries, size}, {keys}, [&](const Indices& i, const Indices& r) {
    return share({i[0], i[1], r[0]}) * v({i[0], r[0], i[2]});
  }));
  return b.finish();
}

std::optional<GeneratedCase> attention_case(const std::string& name) {
  long heads = 0, queries = 0, keys = 0, size = 0;
  char rest = 0;
  const int found =
      std::sscanf(name.c_str(), "attention_%ldx%ldx%ldx%ld%c", &heads, &queries, &keys, &size, &rest);
  if (found != 4 || heads < 1 || queries < 1 || keys < 1 || size < 1) return std::nullopt;
  GeneratedCase one;
  one.name = name;
  one.flops = 4.0 * static_cast<double>(heads) * static_cast<double>(queries) * static_cast<double>(keys) *
              static_cast<double>(size);
  one.make = [=] { return attention(heads, queries, keys, size); };
  return one;
}

/// x[channels, size, size] under a window of `kernel`, with w[filters, channels, kernel, kernel] and a bias.
ir::Program convolution(int64_t filters, int64_t channels, int64_t size, int64_t kernel, int64_t stride,
                        bool silu) {
  Builder b("convolution");
  const int64_t pad = (kernel - 1) / 2, out = (size + 2 * pad - kernel) / stride + 1;
  const auto x = b.operand(0, ElementType::f32, {channels, size, size}, "x");
  const auto w = b.operand(1, ElementType::f32, {filters, channels, kernel, kernel}, "w");
  const auto bias = b.operand(2, ElementType::f32, {filters}, "bias");
  const auto sum = b.reduce(
      ir::Monoid::Kind::sum, {filters, out, out}, {channels, kernel, kernel},
      [&](const Indices& i, const Indices& r) {
        return x.padded({r[0], i[1] * stride + r[1] - pad, i[2] * stride + r[2] - pad}, 0.0) *
               w({i[0], r[0], r[1], r[2]});
      },
      "sum");
  b.output(b.map(
      {filters, out, out},
      [&](const Indices& i) {
        const auto x = sum(i) + bias({i[0]});
        return silu ? x / (exp(-x) + 1.0) : max(x, 0.0);
      },
      "c"));
  return b.finish();
}

/// convolution_FILTERSxCHANNELSxSIZEkKERNELsSTRIDE[_silu]: a square plane, padded to keep its size at
/// stride 1.
std::optional<GeneratedCase> convolution_case(const std::string& name) {
  long filters = 0, channels = 0, size = 0, kernel = 0, stride = 0;
  char rest[32] = "";
  const int found = std::sscanf(name.c_str(), "convolution_%ldx%ldx%ldk%lds%ld%31s", &filters, &channels,
                                &size, &kernel, &stride, rest);
  const std::string epilogue = rest;
  if (found < 5 || filters < 1 || channels < 1 || size < 1 || kernel < 1 || stride < 1) return std::nullopt;
  if (!epilogue.empty() && epilogue != "_silu") return std::nullopt;
  const bool silu = !epilogue.empty();
  const int64_t out = (size + (kernel - 1) / 2 * 2 - kernel) / stride + 1;
  GeneratedCase one;
  one.name = name;
  one.flops =
      2.0 * static_cast<double>(filters * channels) * static_cast<double>(out * out * kernel * kernel);
  one.constant = {false, true, true};
  if (silu) one.base = name.substr(0, name.size() - epilogue.size());
  one.make = [=] { return convolution(filters, channels, size, kernel, stride, silu); };
  return one;
}

ir::Attribute attribute(ir::Attribute::Kind kind, int64_t value, const std::string& words = {}) {
  ir::Attribute made;
  made.kind = kind;
  made.integer = value;
  made.string = words;
  return made;
}

/// Of one sequence, from states that are given. gru: both directions, or forwards as long as a length that is
/// data.
ir::Program recurrent(const std::string& op, int64_t steps, int64_t inputs, int64_t hidden, bool lengths) {
  const bool gru = op == "GRU";
  const int64_t directions = gru && !lengths ? 2 : 1, rows = (gru ? 3 : 4) * hidden;
  ir::Node node;
  node.op = op;
  node.version = 22;
  if (gru) {
    node.attributes["linear_before_reset"] = attribute(ir::Attribute::Kind::integer, 1);
    if (directions == 2)
      node.attributes["direction"] = attribute(ir::Attribute::Kind::string, 0, "bidirectional");
  }
  const ir::Dims state = {directions, 1, hidden};
  std::vector<ir::Dims> dims = {{steps, 1, inputs},
                                {directions, rows, inputs},
                                {directions, rows, hidden},
                                {directions, 2 * rows},
                                {},
                                state};
  if (lengths) dims[4] = {1};
  if (!gru) dims.push_back(state);
  std::vector<ir::OperandInfo> operands(dims.size());
  for (size_t k = 0; k < dims.size(); ++k) {
    operands[k].present = !dims[k].empty();
    operands[k].type = k == 4 ? ElementType::i32 : ElementType::f32;
    operands[k].dims = dims[k];
    node.inputs.push_back(operands[k].present ? static_cast<ir::ValueId>(k) : ir::absent);
  }
  for (int k = 0; k < (gru ? 2 : 3); ++k) node.outputs.push_back(static_cast<ir::ValueId>(dims.size()) + k);
  return ir::define_node(node, operands);
}

/// lstm_STEPSxINPUTSxHIDDEN, gru_STEPSxINPUTSxHIDDEN, gru_STEPSxINPUTSxHIDDEN_lengths.
std::optional<GeneratedCase> recurrent_case(const std::string& name) {
  long steps = 0, inputs = 0, hidden = 0;
  char op[8] = "", rest[16] = "";
  const int found = std::sscanf(name.c_str(), "%4[a-z]_%ldx%ldx%ld%15s", op, &steps, &inputs, &hidden, rest);
  const bool gru = std::string(op) == "gru", lengths = gru && std::string(rest) == "_lengths";
  if (found < 4 || (!gru && std::string(op) != "lstm") || (found == 5 && !lengths) || steps < 1 ||
      inputs < 1 || hidden < 1)
    return std::nullopt;
  GeneratedCase one;
  one.name = name;
  one.flops = (gru ? 6.0 : 8.0) * static_cast<double>(steps * hidden) * static_cast<double>(inputs + hidden);
  if (gru && !lengths) one.flops *= 2;
  one.constant = {false, true, true, true, false, false, false};
  one.make = [=] { return recurrent(gru ? "GRU" : "LSTM", steps, inputs, hidden, lengths); };
  return one;
}

}  // namespace

std::optional<GeneratedCase> generated_case(const std::string& name) {
  if (auto rows = rows_case(name)) return rows;
  if (auto attention = attention_case(name)) return attention;
  if (auto convolution = convolution_case(name)) return convolution;
  if (auto recurrent = recurrent_case(name)) return recurrent;
  if (auto planes = planes_case(name)) return planes;
  long m = 0, k = 0, n = 0;
  char rest[32] = "";
  const int found = std::sscanf(name.c_str(), "product_%ldx%ldx%ld%31s", &m, &k, &n, rest);
  const std::string epilogue = rest;
  if (found < 3 || m < 1 || k < 1 || n < 1 || (!epilogue.empty() && epilogue != "_bias_gelu"))
    return std::nullopt;
  GeneratedCase one;
  one.name = name;
  one.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  one.constant = {false, true};
  const bool fused = !epilogue.empty();
  if (fused) {
    one.constant.push_back(true);
    one.base = name.substr(0, name.size() - epilogue.size());
  }
  one.make = [=] { return product(m, n, k, fused); };
  return one;
}

std::vector<std::string> generated_cases() {
  std::vector<std::string> names;
  for (const char* sizes : {"512x512x512", "1024x1024x1024", "128x768x3072", "128x3072x768"}) {
    names.push_back(std::string("product_") + sizes);
    names.push_back(names.back() + "_bias_gelu");
  }
  for (const char* rows : {"softmax_1536x128", "softmax_256x1024", "layer_norm_128x768"})
    names.emplace_back(rows);
  // ResNet-50's.
  for (const char* sizes :
       {"64x64x56k3s1", "128x128x28k3s1", "256x256x14k3s1", "512x512x7k3s1", "64x3x224k7s2"})
    names.push_back(std::string("convolution_") + sizes);
  for (const char* sizes : {"1x128x128", "16x128x64", "50x256x256"})
    names.push_back(std::string("lstm_") + sizes);
  // Tashkeel's.
  for (const char* sizes : {"22x96x48", "22x96x48_lengths"}) names.push_back(std::string("gru_") + sizes);
  return names;
}

}  // namespace axrun::perf
