#include "tests/search/cases.h"

#include "ir/builder.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;

namespace {

Dim sym(const char* name) { return Dim::symbol(name); }

/// a[m, k] b[k, n] + bias[n], each part optional.
Program product(const Dim& m, const Dim& n, const Dim& k, bool bias, bool relu, bool b_transposed = false) {
  Builder b("product");
  const auto left = b.operand(0, ElementType::f32, {m, k}, "a");
  const auto right = b.operand(1, ElementType::f32, b_transposed ? Dims{n, k} : Dims{k, n}, "b");
  ir::TensorRef addend;
  if (bias) addend = b.operand(2, ElementType::f32, {n}, "bias");
  const auto sum = b.reduce(
      ir::Monoid::Kind::sum, {m, n}, {k},
      [&](const Indices& i, const Indices& r) {
        return left({i[0], r[0]}) * (b_transposed ? right({i[1], r[0]}) : right({r[0], i[1]}));
      },
      "sum");
  if (!bias && !relu) {
    b.output(sum);
    return b.finish();
  }
  b.output(b.map(
      {m, n},
      [&](const Indices& i) {
        auto value = sum(i);
        if (bias) value = value + addend({i[1]});
        return relu ? max(value, 0.0) : value;
      },
      "c"));
  return b.finish();
}

}  // namespace

Program any_rows_product() { return product(sym("m"), 3072, 768, true, true); }

std::vector<Case> all_cases() {
  const ir::loop::Size m{"m", 1, 4096, 1};
  std::vector<Case> cases;
  cases.push_back({"ProductOfLiteralSizes",
                   "contraction",
                   [] { return product(13, 40, 8, false, false); },
                   {},
                   {false, true}});
  cases.push_back({"ProductWithBias",
                   "contraction",
                   [] { return product(24, 96, 12, true, false); },
                   {},
                   {false, true, true}});
  cases.push_back({"ProductOfAnyRows",
                   "contraction",
                   [] { return product(sym("m"), 64, 7, true, true); },
                   {m},
                   {false, true, true},
                   {{{"m", 1}}, {{"m", 12}}, {{"m", 31}}}});
  cases.push_back({"ProductOfAnySizes",
                   "contraction",
                   [] { return product(sym("m"), sym("n"), sym("k"), true, false, true); },
                   {m, {"n", 1, 200}, {"k", 1, 200}},
                   {false, true, true},
                   {{{"m", 1}, {"n", 1}, {"k", 1}}, {{"m", 17}, {"n", 50}, {"k", 5}}}});
  cases.push_back({"MatrixVector",
                   "contraction",
                   [] { return product(1, 70, 9, true, false); },
                   {},
                   {false, true, true}});
  cases.push_back(
      {"RightSideFromTheRun", "contraction", [] { return product(40, 40, 8, true, false, true); }, {}, {}});
  cases.push_back(
      {"RightSideReadWhereItLies", "contraction", [] { return product(5, 40, 6, true, false); }, {}, {}});
  return cases;
}

}  // namespace axrun::tests
