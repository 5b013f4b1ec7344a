#include "perf/generated/cases.h"

#include <cmath>
#include <cstdio>

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

}  // namespace

std::optional<GeneratedCase> product_case(const std::string& name) {
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
  return names;
}

}  // namespace axrun::perf
