#include "search/algebra/bilinear_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/compose.h"
#include "ir/error.h"
#include "ir/known_scalars.h"
#include "search/algebra/bilinear.h"

namespace axrun::search::algebra {
namespace {

using ir::ValueId;
using Sizes = std::vector<int64_t>;

constexpr int64_t taps = 3;
/// Fewer channels or results are no work for products of matrices.
constexpr int64_t fewest_channels = 8;

const Sizes* integers(const ir::Node& node, const char* name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second.integers;
}

bool all_are(const ir::Node& node, const char* name, int64_t value) {
  const Sizes* const list = integers(node, name);
  return list == nullptr || std::all_of(list->begin(), list->end(), [&](int64_t k) { return k == value; });
}

std::optional<BilinearSite> site_of(const ir::Inference& facts, int number) {
  const ir::Node& node = facts.graph().nodes[static_cast<size_t>(number)];
  if (!node.domain.empty() || node.op != "Conv" || node.inputs.size() < 2) return std::nullopt;
  BilinearSite site;
  site.node = number;
  site.image = node.inputs[0];
  site.filters = node.inputs[1];
  site.result = node.outputs[0];
  if (node.inputs.size() > 2) site.bias = node.inputs[2];
  const auto shape_of = [&](ValueId id) -> std::optional<ir::Shape> {
    const ir::ValueFact& fact = facts.fact(id);
    if (fact.type != ir::ElementType::f32 || !fact.dims) return std::nullopt;
    return ir::constant_dims(*fact.dims);
  };
  const auto image = shape_of(site.image), filters = shape_of(site.filters);
  if (!image || !filters || image->size() != 4 || filters->size() != 4) return std::nullopt;
  const auto group = node.attributes.find("group");
  const auto auto_pad = node.attributes.find("auto_pad");
  if (!facts.is_constant(site.filters) || (*filters)[1] != (*image)[1] || (*filters)[2] != taps ||
      (*filters)[3] != taps || !all_are(node, "strides", 1) || !all_are(node, "dilations", 1) ||
      (group != node.attributes.end() && group->second.integer != 1) ||
      (auto_pad != node.attributes.end() && auto_pad->second.string != "NOTSET"))
    return std::nullopt;
  const Sizes* const pads = integers(node, "pads");
  site.pads = pads != nullptr ? *pads : Sizes(4, 0);
  site.batch = (*image)[0];
  site.channels = (*image)[1];
  site.height = (*image)[2];
  site.width = (*image)[3];
  site.results = (*filters)[0];
  const bool is_work = site.batch > 0 && site.channels >= fewest_channels && site.results >= fewest_channels;
  if (!is_work || site.pads.size() != 4 || *std::min_element(site.pads.begin(), site.pads.end()) < 0 ||
      site.height + site.pads[0] + site.pads[2] < taps || site.width + site.pads[1] + site.pads[3] < taps)
    return std::nullopt;
  return site;
}

/// Sizes of a site in tiles.
struct Tiling {
  int64_t outputs, points, rows, columns;  ///< rows, columns: of tiles
  int64_t height, width;                   ///< of the result
  Sizes pads;                              ///< with which tiles are whole

  explicit Tiling(const BilinearChoice& choice) {
    const BilinearSite& site = choice.site;
    outputs = choice.outputs;
    points = outputs + taps - 1;
    height = site.height + site.pads[0] + site.pads[2] - taps + 1;
    width = site.width + site.pads[1] + site.pads[3] - taps + 1;
    rows = (height + outputs - 1) / outputs;
    columns = (width + outputs - 1) / outputs;
    pads = {site.pads[0], site.pads[1], site.pads[2] + rows * outputs - height,
            site.pads[3] + columns * outputs - width};
  }
  bool is_exact() const { return rows * outputs == height && columns * outputs == width; }
};

/// Adds nodes to a graph, in order.
class Nodes {
 public:
  Nodes(ir::Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  ValueId constant(const Sizes& elements) { return constant(ir::Tensor::from_i64(elements)); }
  ValueId constant(ir::Tensor tensor) {
    return graph_.add_constant(fmt::format("{}:constant_{}", name_, graph_.values.size()), std::move(tensor));
  }
  ValueId scalar(double number) { return constant(ir::Tensor::scalar(ir::ElementType::f32, number)); }
  ValueId matrix(const BilinearAlgorithm::Matrix& rows, const ir::Shape& shape, bool transposed = false) {
    ir::Tensor tensor = ir::Tensor::allocate(ir::ElementType::f32, shape);
    auto* to = tensor.as<float>();
    const size_t columns = rows.front().size();
    for (size_t k = 0; k < rows.size() * columns; ++k)
      to[k] = static_cast<float>(transposed ? rows[k % rows.size()][k / rows.size()]
                                            : rows[k / columns][k % columns]);
    return constant(std::move(tensor));
  }

  ValueId add(const char* op, int version, std::vector<ValueId> inputs,
              const std::map<std::string, Sizes>& attributes = {}) {
    ir::Node node;
    node.name = fmt::format("{}:bilinear_{}", name_, nodes_.size());
    node.op = op;
    node.version = version;
    node.inputs = std::move(inputs);
    for (const auto& [name, list] : attributes) {
      ir::Attribute& attribute = node.attributes[name];
      attribute.kind = ir::Attribute::Kind::integers;
      attribute.integers = list;
    }
    node.rewritten = true;
    ir::Value value;
    value.name = node.name;
    node.outputs = {graph_.add_value(std::move(value))};
    nodes_.push_back(std::move(node));
    return nodes_.back().outputs[0];
  }
  ValueId joined(std::vector<ValueId> inputs) {  // along the first axis
    const ValueId made = add("Concat", 13, std::move(inputs));
    ir::Attribute& axis = nodes_.back().attributes["axis"];
    axis.kind = ir::Attribute::Kind::integer;
    axis.integer = 0;
    return made;
  }
  ValueId reshape(ValueId value, const Sizes& shape) { return add("Reshape", 13, {value, constant(shape)}); }
  ValueId transpose(ValueId value, const Sizes& order) {
    return add("Transpose", 13, {value}, {{"perm", order}});
  }
  ValueId product(ValueId a, ValueId b) { return add("MatMul", 13, {a, b}); }

  /// From now on the value is what `made` is, the result of the last node.
  void give(ValueId made, ValueId value) {
    AXRUN_ASSERT(nodes_.back().outputs[0] == made);
    nodes_.back().outputs[0] = value;
  }
  std::vector<ir::Node>& nodes() { return nodes_; }

 private:
  ir::Graph& graph_;
  const std::string name_;
  std::vector<ir::Node> nodes_;
};

/// What a site's nodes read.
struct Operands {
  ValueId image, filters, bias;
  ValueId a, g, b;  ///< outputs x points, points x taps, points x 1 x points along each dimension
};

/// Planes of the tiles' results, by `order` those of [batch, results, rows, outputs, columns, outputs],
/// become the image that the site gives.
ValueId finish(Nodes& nodes, const BilinearSite& site, const Tiling& tiling, ValueId planes,
               const Sizes& shape, const Sizes& order, ValueId bias) {
  ValueId image = nodes.transpose(nodes.reshape(planes, shape), order);
  image = nodes.reshape(
      image, {site.batch, site.results, tiling.rows * tiling.outputs, tiling.columns * tiling.outputs});
  if (!tiling.is_exact()) {
    image = nodes.add("Slice", 13,
                      {image, nodes.constant(Sizes{0, 0}), nodes.constant(Sizes{tiling.height, tiling.width}),
                       nodes.constant(Sizes{2, 3})});
  }
  if (bias == ir::absent) return image;
  return nodes.add("Add", 14, {image, nodes.reshape(bias, {1, site.results, 1, 1})});
}

/// By the algorithm. transformed: is told the filters.
ValueId by_points(Nodes& nodes, const BilinearSite& site, const Tiling& tiling, const Operands& operands,
                  int64_t scale, ValueId& transformed) {
  const int64_t points = tiling.points * tiling.points, tiles = tiling.rows * tiling.columns,
                m = tiling.outputs;
  const ValueId flat =
      nodes.transpose(nodes.reshape(operands.filters, {site.results * site.channels, taps * taps}), {1, 0});
  const ValueId sums = nodes.product(operands.g, flat);
  transformed = nodes.reshape(nodes.add("Div", 14, {sums, nodes.scalar(static_cast<double>(scale))}),
                              {points, site.results, site.channels});
  const ValueId plane =
      nodes.reshape(operands.image, {site.batch * site.channels, 1, site.height, site.width});
  ValueId image = nodes.add(
      "Conv", 11, {plane, operands.b},
      {{"kernel_shape", {tiling.points, tiling.points}}, {"strides", {m, m}}, {"pads", tiling.pads}});
  if (site.batch == 1) {
    image = nodes.transpose(image, {1, 0, 2, 3});
  } else {
    image = nodes.transpose(nodes.reshape(image, {site.batch, site.channels, points, tiles}), {2, 1, 0, 3});
  }
  image = nodes.reshape(image, {points, site.channels, site.batch * tiles});
  const ValueId products =
      nodes.reshape(nodes.product(transformed, image), {points, site.results * site.batch * tiles});
  return finish(nodes, site, tiling, nodes.product(operands.a, products),
                {m, m, site.results, site.batch, tiling.rows, tiling.columns}, {3, 2, 4, 0, 5, 1},
                operands.bias);
}

/// By a convolution with outputs x outputs filters for each, in steps of tiles.
ValueId by_tiles(Nodes& nodes, const BilinearSite& site, const Tiling& tiling, ValueId image, ValueId filters,
                 ValueId bias) {
  const int64_t m = tiling.outputs;
  const ValueId planes = nodes.add(
      "Conv", 11, {image, filters},
      {{"kernel_shape", {tiling.points, tiling.points}}, {"strides", {m, m}}, {"pads", tiling.pads}});
  return finish(nodes, site, tiling, planes, {site.batch, m, m, site.results, tiling.rows, tiling.columns},
                {0, 3, 4, 1, 5, 2}, bias);
}

/// The filters that the algorithm amounts to.
ValueId summed_filters(Nodes& nodes, const BilinearSite& site, const Tiling& tiling, const Operands& operands,
                       int64_t scale) {
  const int64_t points = tiling.points * tiling.points, m = tiling.outputs;
  const ValueId weights = nodes.reshape(nodes.transpose(operands.g, {1, 0}), {1, taps * taps, points});
  const ValueId of_outputs = nodes.reshape(operands.a, {m * m, 1, points});
  const ValueId pairs = nodes.add("Mul", 14, {of_outputs, weights});
  const ValueId sums = nodes.product(pairs, nodes.reshape(operands.b, {points, points}));
  const ValueId coefficients = nodes.add("Div", 14, {sums, nodes.scalar(static_cast<double>(scale))});
  const ValueId flat = nodes.reshape(operands.filters, {site.results * site.channels, taps * taps});
  return nodes.reshape(nodes.product(flat, coefficients),
                       {m * m * site.results, site.channels, tiling.points, tiling.points});
}

/// Those in which weights are where they belong.
ValueId shifted_filters(Nodes& nodes, const Tiling& tiling, ValueId filters) {
  std::vector<ValueId> shifted;
  for (int64_t p = 0; p < tiling.outputs; ++p) {
    for (int64_t q = 0; q < tiling.outputs; ++q) {
      const Sizes pads{0, 0, p, q, 0, 0, tiling.outputs - 1 - p, tiling.outputs - 1 - q};
      shifted.push_back(nodes.add("Pad", 13, {filters, nodes.constant(pads)}));
    }
  }
  return nodes.joined(std::move(shifted));
}

/// Of a site by itself: the expression of nodes that are added to it.
class Alone {
 public:
  Alone(const BilinearSite& site, const Tiling& tiling) : nodes_(graph_, "site") {
    const int64_t points = tiling.points * tiling.points, outputs = tiling.outputs * tiling.outputs;
    operands.image = input("image", {site.batch, site.channels, site.height, site.width});
    operands.filters = input("filters", {site.results, site.channels, taps, taps});
    operands.bias = site.bias == ir::absent ? ir::absent : input("bias", {site.results});
    operands.a = input("a", {outputs, points});
    operands.g = input("g", {points, taps * taps});
    operands.b = input("b", {points, 1, tiling.points, tiling.points});
  }
  Nodes& nodes() { return nodes_; }
  ir::Program program(ValueId result) {
    graph_.nodes = std::move(nodes_.nodes());
    graph_.outputs = {result};
    ir::Inference::Options options;
    options.fold = false;
    ir::Inference facts(graph_, options);
    std::vector<std::shared_ptr<const ir::Program>> programs;
    std::vector<ir::Part> parts;
    for (const ir::Node& node : graph_.nodes) {
      programs.push_back(facts.define(node));
      AXRUN_ASSERT(programs.back() != nullptr);
      facts.conclude(node, *programs.back());
      parts.push_back({programs.back().get(), node.inputs, node.outputs});
    }
    // Sizes are part of the programs that read them; scalars are written into the expression.
    std::vector<ValueId> outside = graph_.inputs;
    std::vector<const ir::Tensor*> known(outside.size(), nullptr);
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      if (!graph_.values[id].constant.defined()) continue;
      outside.push_back(static_cast<ValueId>(id));
      known.push_back(&graph_.values[id].constant);
    }
    ir::Program made = ir::with_known_scalars(ir::compose("site", parts, outside, {result}), known);
    AXRUN_ASSERT(std::all_of(made.operands.begin() + static_cast<std::ptrdiff_t>(graph_.inputs.size()),
                             made.operands.end(), [](ir::TensorId id) { return id == ir::none; }));
    made.operands.resize(graph_.inputs.size());
    return made;
  }

  Operands operands{};

 private:
  ValueId input(const char* name, const ir::Shape& shape) {
    ir::Value value;
    value.name = name;
    value.type = ir::ElementType::f32;
    value.dims = ir::to_dims(shape);
    graph_.inputs.push_back(graph_.add_value(std::move(value)));
    return graph_.inputs.back();
  }

  ir::Graph graph_;
  Nodes nodes_;
};

}  // namespace

std::string BilinearSite::kind() const {
  return fmt::format("{}x{}x{}x{} {} pads {} bias {}", batch, channels, height, width, results,
                     fmt::join(pads, ","), bias != ir::absent);
}

std::vector<BilinearSite> bilinear_sites(const ir::Inference& facts) {
  std::vector<BilinearSite> sites;
  for (size_t n = 0; n < facts.graph().nodes.size(); ++n) {
    if (auto site = site_of(facts, static_cast<int>(n))) sites.push_back(std::move(*site));
  }
  return sites;
}

BilinearGraph with_bilinear(const ir::Graph& graph, const std::vector<BilinearChoice>& choices) {
  AXRUN_ASSERT(!graph.limits);
  BilinearGraph made{std::make_shared<ir::Graph>(graph), {}};
  made.graph->nodes.clear();
  std::map<int, size_t> choice_of;
  for (size_t k = 0; k < choices.size(); ++k) choice_of.emplace(choices[k].site.node, k);
  made.nodes.resize(choices.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto found = choice_of.find(static_cast<int>(n));
    if (found == choice_of.end()) {
      made.graph->nodes.push_back(graph.nodes[n]);
      continue;
    }
    const BilinearChoice& choice = choices[found->second];
    const BilinearSite& site = choice.site;
    const Tiling tiling(choice);
    const verify::BilinearCoefficients coefficients = bilinear_coefficients(choice.outputs);
    const int64_t points = tiling.points * tiling.points, outputs = tiling.outputs * tiling.outputs;
    Nodes nodes(*made.graph, graph.nodes[n].name);
    const Operands operands{site.image,
                            site.filters,
                            site.bias,
                            nodes.matrix(coefficients.a, {outputs, points}, true),
                            nodes.matrix(coefficients.g, {points, taps * taps}),
                            nodes.matrix(coefficients.b, {points, 1, tiling.points, tiling.points})};
    BilinearNodes& own = made.nodes[found->second];
    const ValueId result = by_points(nodes, site, tiling, operands, coefficients.scale, own.transformed);
    nodes.give(result, site.result);
    for (ir::Node& node : nodes.nodes()) {
      own.values.push_back(node.outputs[0]);
      made.graph->nodes.push_back(std::move(node));
    }
  }
  return made;
}

std::vector<Sides> bilinear_obligations(const BilinearChoice& choice) {
  const BilinearSite& site = choice.site;
  const Tiling tiling(choice);
  const int64_t scale = bilinear_coefficients(choice.outputs).scale;
  Alone points(site, tiling), sums(site, tiling), plain(site, tiling), shifts(site, tiling);
  ValueId transformed = ir::absent;
  const ValueId by_algorithm = by_points(points.nodes(), site, tiling, points.operands, scale, transformed);
  const ValueId by_sums =
      by_tiles(sums.nodes(), site, tiling, sums.operands.image,
               summed_filters(sums.nodes(), site, tiling, sums.operands, scale), sums.operands.bias);
  std::vector<ValueId> inputs{plain.operands.image, plain.operands.filters};
  if (site.bias != ir::absent) inputs.push_back(plain.operands.bias);
  const ValueId by_definition =
      plain.nodes().add("Conv", 11, std::move(inputs), {{"kernel_shape", {taps, taps}}, {"pads", site.pads}});
  const ValueId by_shifts =
      by_tiles(shifts.nodes(), site, tiling, shifts.operands.image,
               shifted_filters(shifts.nodes(), tiling, shifts.operands.filters), shifts.operands.bias);
  std::vector<Sides> made;
  made.push_back({sums.program(by_sums), points.program(by_algorithm)});
  made.push_back({plain.program(by_definition), shifts.program(by_shifts)});
  return made;
}

verify::BilinearCoefficients bilinear_coefficients(int outputs) {
  return in_two_dimensions(bilinear_algorithm(outputs, taps));
}

double bilinear_growth(int outputs) {
  const double of_one_dimension = bilinear_algorithm(outputs, taps).growth();
  return of_one_dimension * of_one_dimension;
}

size_t transformed_bytes(const BilinearChoice& choice) {
  const int64_t points = Tiling(choice).points;
  return static_cast<size_t>(points * points * choice.site.channels * choice.site.results) * sizeof(float);
}

double bilinear_room(int outputs) {
  const verify::BilinearCoefficients coefficients = bilinear_coefficients(outputs);
  const auto magnitude = [](const BilinearAlgorithm::Matrix& rows, bool by_column) {
    double largest = 1;
    const size_t lines = by_column ? rows.front().size() : rows.size();
    for (size_t line = 0; line < lines; ++line) {
      double sum = 0;
      for (size_t k = 0; k < (by_column ? rows.size() : rows.front().size()); ++k)
        sum += std::fabs(static_cast<double>(by_column ? rows[k][line] : rows[line][k]));
      largest = std::max(largest, sum);
    }
    return largest;
  };
  // Any partial sum, in any order, is below the sum of magnitudes; rounding adds less than as much again.
  return static_cast<double>(std::numeric_limits<float>::max()) / 4 / magnitude(coefficients.b, false) /
         magnitude(coefficients.a, true);
}

}  // namespace axrun::search::algebra
