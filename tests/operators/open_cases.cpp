#include "tests/operators/open_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tests/operators/sized_generators.h"

namespace axrun::runtime {

using ir::Dim;
using ir::Tensor;

ir::Graph graph_of(const Case& given) {
  ir::Graph graph;
  graph.nodes = given.nodes;
  graph.values.resize(given.values.size());
  for (size_t id = 0; id < given.values.size(); ++id)
    if (given.constant[id]) graph.values[id].constant = given.values[id];
  return graph;
}

OpenPrograms programs_of(ir::Inference& inference) {
  OpenPrograms programs;
  for (const ir::Node& node : inference.graph().nodes) {
    programs.push_back(inference.define(node));
    if (!programs.back()) return {};
    inference.conclude(node, *programs.back());
  }
  return programs;
}

NamedSizes::NamedSizes(const Case& given, bool by_number) : by_number_(by_number) {
  for_axes(given,
           [&](size_t id, size_t axis, int64_t extent) { numbers_[name_of(id, axis, extent)] = extent; });
}

void NamedSizes::for_axes(const Case& given, const std::function<void(size_t, size_t, int64_t)>& call) {
  for (size_t id = 0; id < given.values.size(); ++id) {
    if (given.constant[id] || !given.values[id].defined()) continue;
    const ir::Shape& shape = given.values[id].shape();
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] > 1) call(id, axis, shape[axis]);
  }
}

std::string NamedSizes::name_of(size_t id, size_t axis, int64_t extent) const {
  return by_number_ ? fmt::format("n{}", extent) : fmt::format("v{}a{}", id, axis);
}

std::vector<std::string> NamedSizes::names() const {
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers_) names.push_back(name);
  return names;
}

std::vector<int64_t> NamedSizes::values() const {
  std::vector<int64_t> values;
  for (const auto& [name, number] : numbers_) values.push_back(number);
  return values;
}

void NamedSizes::change(Random& random) {
  for (auto& [name, number] : numbers_) {
    if (!random.chance(by_number_ ? 60 : 25)) continue;
    number = random.chance(30) ? 2 * number : random.integer(2, number + 4);
  }
}

std::vector<ir::ValueFact> facts_of(const Case& given, const ir::Graph& graph) {
  std::vector<ir::ValueFact> facts = ir::facts_of_constants(graph);
  for (size_t id = 0; id < facts.size(); ++id) {
    const Tensor& value = given.values[id];
    if (!given.constant[id] && value.defined())
      facts[id] = {value.type(), ir::to_dims(value.shape()), {}, {}};
  }
  return facts;
}

Case at_sizes(const Case& given, const NamedSizes& sizes) {
  Case other = given;
  std::vector<ir::Shape> shapes(given.values.size());
  for (size_t id = 0; id < shapes.size(); ++id)
    if (given.values[id].defined()) shapes[id] = given.values[id].shape();
  NamedSizes::for_axes(given, [&](size_t id, size_t axis, int64_t extent) {
    shapes[id][axis] = sizes.numbers().at(sizes.name_of(id, axis, extent));
  });
  for (size_t id = 0; id < shapes.size(); ++id) {
    const Tensor& value = given.values[id];
    if (given.constant[id] || !value.defined()) continue;
    Tensor grown = Tensor::allocate(value.type(), shapes[id]);
    for (int64_t k = 0; k < grown.size() && value.size() > 0; ++k) {
      if (ir::is_float(value.type())) {
        grown.set_real(k, value.get_real(k % value.size()));
      } else {
        grown.set_int(k, value.get_int(k % value.size()));
      }
    }
    other.values[id] = grown;
  }
  return other;
}

OpenCase::OpenCase(const Case& given, const NamedSizes& sizes)
    : graph_(graph_of(given)), program_(sizes.names()) {
  std::vector<ir::ValueFact> facts = facts_of(given, graph_);
  NamedSizes::for_axes(given, [&](size_t id, size_t axis, int64_t extent) {
    (*facts[id].dims)[axis] = Dim::symbol(sizes.name_of(id, axis, extent));
  });
  ir::SizesAtHand at_hand(sizes.numbers());
  ir::Inference inference(graph_, {.sizes = &at_hand}, std::move(facts));
  const OpenPrograms open = programs_of(inference);
  for (const ir::SizeGuard& guard : at_hand.guards())
    guards_.emplace_back(program_.add(guard.difference), guard.relation);
  for (const auto& one : open) programs_.emplace_back(one, program_);
  facts_ = inference.take_facts();
}

bool OpenCase::is_open() const {
  return std::any_of(programs_.begin(), programs_.end(),
                     [](const ir::OpenProgram& one) { return one.is_open(); });
}

std::vector<int64_t> OpenCase::numbers_at(const NamedSizes& sizes) const {
  std::vector<int64_t> numbers = sizes.values();
  program_.run(numbers);
  return numbers;
}

bool OpenCase::lets_through(const std::vector<int64_t>& numbers) const {
  return std::all_of(guards_.begin(), guards_.end(), [&](const auto& guard) {
    return ir::SizeGuard::holds(guard.second, numbers[guard.first]);
  });
}

std::vector<GeneratorEntry> drawn_generators() {
  std::vector<GeneratorEntry> all = all_generators();
  const std::vector<GeneratorEntry> more = sized_generators();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string name_of(const GeneratorEntry& generator, size_t index) {
  std::string name =
      fmt::format("{}_{}_{}", generator.domain.empty() ? "onnx" : generator.domain, generator.op, index);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

}  // namespace axrun::runtime
