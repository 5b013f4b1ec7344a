#include "perf/generated/cases.h"

#include <cmath>
#include <cstdio>
#include <map>

#include "ir/builder.h"

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

}  // namespace

std::optional<GeneratedCase> generated_case(const std::string& name) {
  if (auto rows = rows_case(name)) return rows;
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
  return names;
}

}  // namespace axrun::perf
