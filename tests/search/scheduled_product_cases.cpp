#include "tests/search/scheduled_product_cases.h"

#include <string>
#include <utility>

#include "ir/builder.h"

namespace axrun::tests {
namespace {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;
using ir::TensorRef;
using search::schedules::Axis;
using search::schedules::Decision;
using search::schedules::Layout;
using search::schedules::Operand;
using Kind = Decision::Kind;

/// Fits the registers of both vector widths.
constexpr search::RegisterTile tile{6, 16};

Decision loop(Axis axis, int32_t size) { return {.kind = Kind::tile, .axis = axis, .size = size}; }
Decision rows(int32_t size) { return loop(Axis::rows, size); }
Decision columns(int32_t size) { return loop(Axis::columns, size); }
Decision depth(int32_t size) { return loop(Axis::depth, size); }
Decision spread(Axis axis, int32_t size) { return {.kind = Kind::spread, .axis = axis, .size = size}; }
Decision arrange(Operand operand) {
  return {.kind = Kind::move, .operand = operand, .level = 1, .layout = Layout::panels};
}
const Decision left = arrange(Operand::left), right = arrange(Operand::right);
const Decision sums_near = {
    .kind = Kind::move, .operand = Operand::result, .level = 1, .layout = Layout::panels};
const Decision accumulate = {.kind = Kind::accumulate}, kernel = {.kind = Kind::kernel};

struct Product {
  std::string name = {};
  std::vector<Decision> decisions = {};
  Dim m = 1, n = 1, k = 1;
  Dims batch = {};
  bool left_across = false, right_across = false;  ///< a[k, m], b[n, k]
  bool left_constant = false, right_constant = false;
  enum class Map : uint8_t { none, bias, gelu } map = Map::none;
  bool residual = false;
};

Program program_of(const Product& c) {
  Builder b("product");
  const size_t leading = c.batch.size();
  const auto with = [&](const Dims& dims) {
    Dims all = c.batch;
    all.insert(all.end(), dims.begin(), dims.end());
    return all;
  };
  const auto at = [&](const Indices& i, const Indices& last) {
    Indices all(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(leading));
    all.insert(all.end(), last.begin(), last.end());
    return all;
  };
  const TensorRef x =
      b.operand(0, ElementType::f32, with(c.left_across ? Dims{c.k, c.m} : Dims{c.m, c.k}), "a");
  const TensorRef y = b.operand(1, ElementType::f32, c.right_across ? Dims{c.n, c.k} : Dims{c.k, c.n}, "b");
  TensorRef addend, residual;
  if (c.map != Product::Map::none) addend = b.operand(2, ElementType::f32, {c.n}, "bias");
  if (c.residual) residual = b.operand(3, ElementType::f32, with({c.m, c.n}), "z");
  const TensorRef sum = b.reduce(
      ir::Monoid::Kind::sum, with({c.m, c.n}), {c.k},
      [&](const Indices& i, const Indices& r) {
        const auto row = i[leading], column = i[leading + 1];
        return x(c.left_across ? at(i, {r[0], row}) : at(i, {row, r[0]})) *
               (c.right_across ? y({column, r[0]}) : y({r[0], column}));
      },
      "sum");
  if (c.map == Product::Map::none) {
    b.output(sum);
    return b.finish();
  }
  b.output(b.map(
      with({c.m, c.n}),
      [&](const Indices& i) {
        auto value = sum(i) + addend({i[leading + 1]});
        if (c.map == Product::Map::gelu) value = value * 0.5 * (erf(value * 0.75) + 1.0);
        if (c.residual) value = value + residual(i);
        return value;
      },
      "c"));
  return b.finish();
}

Dim open(const char* name) { return Dim::symbol(name); }

/// A product under the schedule that is given.
Case case_of(const Product& product, const search::Sizes& sizes, const std::vector<SizeValues>& values) {
  Case c{"Scheduled" + product.name,
         "contraction",
         [product] { return program_of(product); },
         sizes,
         {product.left_constant, product.right_constant, true, false},
         values};
  c.schedule = {tile, product.decisions};
  return c;
}

const search::Sizes m = {{"m", 1, 4096, 1}};
const std::vector<SizeValues> some_rows = {{{"m", 1}}, {{"m", 6}}, {{"m", 31}}};

}  // namespace

std::vector<Case> scheduled_product_cases() {
  std::vector<Case> cases;
  const auto add = [&](const Product& product, const search::Sizes& sizes = {},
                       const std::vector<SizeValues>& values = {{}}) {
    cases.push_back(case_of(product, sizes, values));
  };
  add({.name = "NothingDecided", .decisions = {kernel}, .m = 13, .n = 20, .k = 5});
  add({.name = "ThreeLevels",
       .decisions = {rows(24), columns(32), accumulate, sums_near, depth(64), rows(12), columns(16), rows(6),
                     kernel},
       .m = 38,
       .n = 70,
       .k = 130});
  add({.name = "WholeBlocks",
       .decisions = {columns(32), accumulate, depth(64), rows(12), columns(16), rows(6), kernel},
       .m = 24,
       .n = 64,
       .k = 128});
  add({.name = "BothSidesArranged",
       .decisions = {accumulate, depth(64), rows(12), left, columns(32), right, rows(6), columns(16), kernel},
       .m = 31,
       .n = 50,
       .k = 100,
       .map = Product::Map::bias});
  add({.name = "SidesThatLieAcross",
       .decisions = {rows(12), left, accumulate, depth(64), right, rows(6), columns(16), kernel},
       .m = 19,
       .n = 41,
       .k = 75,
       .left_across = true,
       .right_across = true});
  add({.name = "LeftOfAllDepth",
       .decisions = {rows(6), left, columns(16), kernel},
       .m = 20,
       .n = 33,
       .k = 37});
  add({.name = "OneColumnMore",
       .decisions = {columns(16), right, rows(6), kernel},
       .m = 20,
       .n = 33,
       .k = 37,
       .left_constant = true});
  add({.name = "OneColumnMoreAsItLies",
       .decisions = {columns(16), rows(6), kernel},
       .m = 20,
       .n = 33,
       .k = 37});
  add({.name = "RightOfAllDepth",
       .decisions = {columns(32), right, rows(6), columns(16), kernel},
       .m = 20,
       .n = 70,
       .k = 21,
       .right_across = true});
  add({.name = "SpreadRows",
       .decisions = {spread(Axis::rows, 12), left, columns(16), rows(6), kernel},
       .m = 44,
       .n = 35,
       .k = 40,
       .right_constant = true,
       .map = Product::Map::gelu});
  add({.name = "SpreadColumns",
       .decisions = {spread(Axis::columns, 32), accumulate, depth(128), columns(16), rows(6), kernel},
       .m = 17,
       .n = 99,
       .k = 200,
       .right_constant = true,
       .map = Product::Map::gelu,
       .residual = true});
  add({.name = "SpreadAroundABatch",
       .decisions = {spread(Axis::columns, 32), columns(16), rows(6), kernel},
       .m = 13,
       .n = 80,
       .k = 12,
       .batch = {2},
       .left_across = true,
       .right_constant = true});
  add({.name = "Batch",
       .decisions = {accumulate, depth(64), columns(16), right, rows(6), kernel},
       .m = 9,
       .n = 24,
       .k = 70,
       .batch = {3},
       .left_across = true,
       .map = Product::Map::bias,
       .residual = true});
  add({.name = "FewSteps",
       .decisions = {rows(12), left, columns(16), right, rows(6), kernel},
       .m = 15,
       .n = 34,
       .k = 3});
  add({.name = "OneRow",
       .decisions = {columns(64), accumulate, depth(64), columns(16), kernel},
       .m = 1,
       .n = 130,
       .k = 150,
       .right_constant = true});
  add({.name = "TurnedConstant",
       .decisions = {columns(32), accumulate, depth(64), rows(6), columns(16), kernel},
       .m = 64,
       .n = 6,
       .k = 150,
       .left_constant = true});
  add({.name = "TurnedConstantAtOnce",
       .decisions = {columns(32), rows(6), columns(16), kernel},
       .m = 50,
       .n = 7,
       .k = 20,
       .left_constant = true});
  add({.name = "ConstantLeft",
       .decisions = {rows(12), columns(32), right, rows(6), columns(16), kernel},
       .m = 30,
       .n = 70,
       .k = 20,
       .left_constant = true});
  add({.name = "AnyRows",
       .decisions = {rows(24), left, columns(32), accumulate, depth(64), rows(12), columns(16), rows(6),
                     kernel},
       .m = open("m"),
       .n = 40,
       .k = 100,
       .right_constant = true,
       .map = Product::Map::bias},
      m, some_rows);
  add({.name = "AnyRowsOfWaitingSums",
       .decisions = {columns(16), accumulate, depth(64), right, rows(6), kernel},
       .m = open("m"),
       .n = 20,
       .k = 70},
      m, some_rows);
  add({.name = "AnySizes",
       .decisions = {rows(12), columns(32), right, accumulate, depth(64), left, rows(6), columns(16), kernel},
       .m = open("m"),
       .n = open("n"),
       .k = open("k")},
      {{"m", 1, 4096, 1}, {"n", 1, 4096, 1}, {"k", 1, 4096, 1}},
      {{{"m", 1}, {"n", 1}, {"k", 1}}, {{"m", 14}, {"n", 37}, {"k", 70}}});
  add({.name = "AnyColumns",
       .decisions = {columns(32), right, accumulate, depth(64), rows(6), columns(16), kernel},
       .m = 12,
       .n = open("n"),
       .k = 70},
      {{"n", 1, 4096, 1}}, {{{"n", 1}}, {{"n", 8}}, {{"n", 21}}, {{"n", 37}}, {{"n", 103}}});
  add({.name = "MultiplesOfSixteen",
       .decisions = {columns(32), right, accumulate, depth(64), columns(16), rows(6), kernel},
       .m = open("m"),
       .n = open("n"),
       .k = 64},
      {{"m", 12, 4092, 12}, {"n", 32, 4096, 32}}, {{{"m", 12}, {"n", 32}}, {{"m", 36}, {"n", 64}}});
  return cases;
}

std::vector<Case> found_product_cases() {
  std::vector<Case> cases;
  const auto found = [&](const std::string& name, Product product, const search::Sizes& sizes = {},
                         const std::vector<SizeValues>& values = {{}}) {
    product.name = name;
    cases.push_back(case_of(product, sizes, values));
    cases.back().schedule.reset();
    cases.back().rank = 1;
  };
  found("FoundForConstantRight",
        {.m = 70, .n = 150, .k = 110, .right_constant = true, .map = Product::Map::gelu});
  found("FoundForVariableSides", {.m = 45, .n = 131, .k = 180, .right_across = true});
  found("FoundForTurnedSides",
        {.m = 150, .n = 49, .k = 141, .left_constant = true, .map = Product::Map::bias});
  found("FoundForABatch",
        {.m = 30, .n = 90, .k = 70, .batch = {6}, .left_across = true, .right_constant = true});
  found("FoundForAnyRows", {.m = open("m"), .n = 64, .k = 130, .right_constant = true}, m, some_rows);
  return cases;
}

}  // namespace axrun::tests
