#include "tests/search/placement_cases.h"

#include "ir/compose.h"
#include "ir/operator.h"

namespace axrun::tests {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Program;

namespace {

ir::OperandInfo of(const Dims& dims, ElementType type) {
  ir::OperandInfo info;
  info.present = true;
  info.type = type;
  info.dims = dims;
  return info;
}

/// ScatterND or ScatterElements (along axis 0) with known indices.
Program scatter(const std::string& op, const Dims& base, const ir::Shape& shape,
                const std::vector<int64_t>& indices, const Dims& updates,
                const std::string& reduction = "none", ElementType type = ElementType::f32) {
  ir::Node node;
  node.name = "n";
  node.op = op;
  node.version = 18;
  node.inputs = {0, 1, 2};
  node.outputs = {3};
  node.attributes["reduction"] = text(reduction);
  ir::Tensor places = ir::Tensor::allocate(ElementType::i64, shape);
  for (size_t k = 0; k < indices.size(); ++k) places.set_int(static_cast<int64_t>(k), indices[k]);
  std::vector<ir::OperandInfo> operands = {of(base, type), of(ir::to_dims(shape), ElementType::i64),
                                           of(updates, type)};
  operands[1].constant = &places;
  return ir::without_dead_stages(ir::define_node(node, operands));  // the base may be written over
}

/// Tuples of every point of a box [from, from + extents) of a tensor.
std::vector<int64_t> tuples_of(const ir::Shape& from, const ir::Shape& extents, const ir::Shape& steps) {
  std::vector<int64_t> tuples;
  const ir::Shape strides = ir::row_major_strides(extents);
  for (int64_t k = 0; k < ir::element_count(extents); ++k) {
    for (size_t d = 0; d < extents.size(); ++d)
      tuples.push_back(from[d] + k / strides[d] % extents[d] * steps[d]);
  }
  return tuples;
}

Program box_of(const ir::Shape& base, const ir::Shape& from, const ir::Shape& extents, const ir::Shape& steps,
               const std::string& reduction = "none", ElementType type = ElementType::f32) {
  ir::Shape shape = extents;
  shape.push_back(static_cast<int64_t>(extents.size()));
  return scatter("ScatterND", ir::to_dims(base), shape, tuples_of(from, extents, steps), ir::to_dims(extents),
                 reduction, type);
}

Program node_of(const std::string& op, int version, const std::vector<Dims>& inputs) {
  ir::Node node;
  node.name = "n";
  node.op = op;
  node.version = version;
  std::vector<ir::OperandInfo> operands;
  for (size_t k = 0; k < inputs.size(); ++k) {
    node.inputs.push_back(static_cast<ir::ValueId>(k));
    operands.push_back(of(inputs[k], ElementType::f32));
  }
  node.outputs = {0};
  return ir::define_node(node, operands);
}

/// tanh(x) with rows of relu(a) and b, which together are all of its middle rows, plus c.
Program written_in_two_parts() {
  const Dims base = {2, 5, 33};
  const Program tanh = node_of("Tanh", 13, {base}), relu = node_of("Relu", 14, {{2, 2, 33}}),
                first = box_of({2, 5, 33}, {0, 1, 0}, {2, 2, 33}, {1, 1, 1}),
                second = box_of({2, 5, 33}, {0, 3, 0}, {2, 1, 33}, {1, 1, 1}),
                add = node_of("Add", 14, {base, base});
  const std::vector<ir::Part> parts = {{&tanh, {1}, {10}},
                                       {&relu, {2}, {11}},
                                       {&first, {10, ir::absent, 11}, {12}},
                                       {&second, {12, ir::absent, 3}, {13}},
                                       {&add, {13, 4}, {14}}};
  return ir::compose("two_parts", parts, {1, 2, 3, 4}, {14});
}

void add_scatters(std::vector<Case>& cases) {
  const ir::loop::Size n{"n", 1, 4096, 1};
  const std::vector<SizeValues> some_n = {{{"n", 1}}, {{"n", 16}}, {{"n", 37}}};
  const auto add = [&](const std::string& name, const std::function<Program()>& make,
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    cases.push_back({name, "map", make, sizes, {}, values});
  };
  add("ScatterOfOneRow", [] { return scatter("ScatterND", {5, 3, 21}, {1, 1}, {2}, {1, 3, 21}); });
  add("ScatterOfTheLastRows", [] { return scatter("ScatterND", {5, 70}, {2, 1}, {-2, -1}, {2, 70}); });
  add(
      "ScatterOfRowsOfAnyLength",
      [] {
        return scatter("ScatterND", {5, Dim::symbol("n")}, {2, 1}, {-2, -1}, {2, Dim::symbol("n")});
      },
      {n}, some_n);
  add("ScatterOfABox", [] { return box_of({1, 4, 9, 33}, {0, 1, 2, 0}, {1, 3, 5, 33}, {1, 1, 1, 1}); });
  add("ScatterOfColumns", [] { return box_of({6, 50}, {0, 3}, {6, 40}, {1, 1}); });
  add("ScatterOfFewColumns", [] { return box_of({6, 50}, {2, 17}, {3, 2}, {1, 1}); });
  add("ScatterOfEverySecondRow", [] { return box_of({7, 40}, {1, 0}, {3, 40}, {2, 1}); });
  add("ScatterOfEverything", [] { return box_of({3, 20}, {0, 0}, {3, 20}, {1, 1}); });
  add("ScatterOfElements", [] {
    return scatter("ScatterElements", {6, 20}, {2, 18},
                   [] {
                     std::vector<int64_t> rows(36, 3);
                     for (size_t k = 18; k < 36; ++k) rows[k] = 4;
                     return rows;
                   }(),
                   {2, 18});
  });
  for (const std::string reduction : {"add", "mul", "max", "min"}) {
    add("ScatterOfABoxBy_" + reduction, [reduction] {
      return box_of({5, 40}, {1, 0}, {3, 33}, {1, 1}, reduction);
    });
    add("ScatterOfIntegersBy_" + reduction, [reduction] {
      return box_of({5, 40}, {1, 0}, {3, 33}, {1, 1}, reduction, ElementType::i32);
    });
  }
  add("ScatterOfBytes", [] { return box_of({5, 70}, {1, 4}, {3, 60}, {1, 1}, "none", ElementType::u8); });
  add("ScatterOfWideIntegers", [] {
    return box_of({5, 20}, {1, 0}, {3, 20}, {1, 1}, "none", ElementType::i64);
  });
  cases.push_back({"ScattersBetweenMaps", "map+map", written_in_two_parts, {}, {}});
}

/// Of the last dimensions, to the sizes; with `scales` as exporters write them, by their ratios.
Program resize(const ir::Shape& from, const ir::Shape& to, const std::string& coordinates,
               ElementType type = ElementType::f32, bool scales = false, const std::string& mode = "linear") {
  ir::Node node;
  node.name = "n";
  node.op = "Resize";
  node.version = 13;
  node.inputs = {0, ir::absent, 1, 2};
  node.outputs = {3};
  node.attributes["mode"] = text(mode);
  node.attributes["coordinate_transformation_mode"] = text(coordinates);
  const auto rank = static_cast<int64_t>(from.size());
  ir::Tensor ratios = ir::Tensor::allocate(ElementType::f32, {scales ? rank : 0});
  ir::Tensor sizes = ir::Tensor::allocate(ElementType::i64, {scales ? 0 : rank});
  for (int64_t d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    if (scales) ratios.set_real(d, static_cast<double>(to[at]) / static_cast<double>(from[at]));
    if (!scales) sizes.set_int(d, to[at]);
  }
  std::vector<ir::OperandInfo> operands = {of(ir::to_dims(from), type),
                                           {},
                                           of(ir::to_dims(ratios.shape()), ElementType::f32),
                                           of(ir::to_dims(sizes.shape()), ElementType::i64)};
  operands[2].constant = &ratios;
  operands[3].constant = &sizes;
  return ir::define_node(node, operands);
}

void add_resizes(std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, const std::string& kind,
                       const std::function<Program()>& make) {
    cases.push_back({name, kind, make, {}, {}});
  };
  const std::string planes = "map+map+map+map", lines = "map+map";
  add("ResizeByOddRatios", planes, [] { return resize({1, 3, 9, 21}, {1, 3, 23, 67}, "half_pixel"); });
  add("ResizeWithCornersAligned", planes, [] {
    return resize({1, 2, 7, 33}, {1, 2, 25, 65}, "align_corners");
  });
  add("ResizeFromTheEdgeByAWrittenRatio", planes, [] {
    return resize({1, 2, 33, 33}, {1, 2, 257, 257}, "asymmetric", ElementType::f32, true);
  });
  add("ResizeOfLines", lines, [] { return resize({2, 40}, {2, 130}, "half_pixel"); });
  add("ResizeOfColumns", lines, [] { return resize({1, 13, 40}, {1, 37, 40}, "pytorch_half_pixel"); });
  add("ResizeToLess", planes, [] { return resize({2, 1, 31, 70}, {2, 1, 19, 41}, "half_pixel_symmetric"); });
  add("ResizeByTwoAndByAnOddRatio", "map+map+map", [] {
    return resize({1, 2, 5, 31}, {1, 2, 10, 75}, "half_pixel");
  });
  add("ResizeOfColumnsOfHalfFloats", lines, [] {
    return resize({2, 6, 43}, {2, 11, 43}, "half_pixel", ElementType::f16);
  });
  add("ResizeOfColumnsOfBytes", lines, [] {
    return resize({2, 6, 43}, {2, 11, 43}, "asymmetric", ElementType::u8);
  });
  const auto nearest = [&](const std::string& name, const ir::Shape& from, const ir::Shape& to,
                           const std::string& coordinates, ElementType type = ElementType::f32) {
    add(name, "map", [=] { return resize(from, to, coordinates, type, false, "nearest"); });
  };
  add("ResizeOfLongLines", lines, [] { return resize({3, 301}, {3, 700}, "half_pixel"); });
  add("ResizeOfLongLinesOfWideFloats", lines, [] {
    return resize({2, 300}, {2, 530}, "align_corners", ElementType::f64);
  });
  nearest("NearestOfLongLines", {3, 500}, {3, 610}, "half_pixel");
  nearest("NearestToAFewOfMany", {2, 700}, {2, 37}, "asymmetric");
  nearest("NearestByOddRatios", {1, 3, 13, 25}, {1, 3, 25, 49}, "half_pixel");
  nearest("NearestToHalf", {1, 3, 12, 66}, {1, 3, 6, 33}, "asymmetric");
  nearest("NearestToLess", {2, 31, 70}, {2, 19, 41}, "align_corners");
  nearest("NearestOfWideIntegers", {2, 3, 20}, {2, 3, 47}, "half_pixel", ElementType::i64);
  nearest("NearestOfBytes", {2, 6, 43}, {2, 11, 70}, "asymmetric", ElementType::u8);
  nearest("NearestOfHalfFloats", {2, 6, 43}, {2, 11, 40}, "half_pixel", ElementType::f16);
  nearest("NearestOfShortIntegers", {2, 60}, {2, 33}, "half_pixel", ElementType::i16);
  add("ResizeOfHalfFloats", planes, [] {
    return resize({1, 2, 6, 30}, {1, 2, 11, 43}, "half_pixel", ElementType::f16);
  });
  // By odd divisors: no value lies halfway between integers, where the last bit of a float would decide.
  add("ResizeOfBytes", planes, [] {
    return resize({1, 2, 6, 60}, {1, 2, 11, 43}, "asymmetric", ElementType::u8);
  });
  add("ResizeOfWideFloats", planes, [] {
    return resize({1, 2, 6, 30}, {1, 2, 11, 43}, "align_corners", ElementType::f64);
  });
}

}  // namespace

std::vector<Case> placement_cases() {
  std::vector<Case> cases;
  add_scatters(cases);
  add_resizes(cases);
  return cases;
}

}  // namespace axrun::tests
