#include "runtime/warm/layout_image.h"

#include <algorithm>
#include <utility>

#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;

/// Of one model: each is a graph.
constexpr size_t most_layouts = 64;

/// The graph is the same without it.
bool changes_nothing(const LayoutRecipe::Step& step, const LayoutRecipe& recipe) {
  return step.nodes.size() <= 1 && step.reads.empty() &&
         std::none_of(step.outputs.begin(), step.outputs.end(),
                      [&](ir::ValueId id) { return recipe.values.count(id) != 0; });
}

void write_layout(Writer& out, const ChosenLayouts::Choice& choice) {
  const LayoutRecipe& recipe = choice.recipe;
  put_count(out, choice.shapes.size());
  for (const ir::Shape& shape : choice.shapes) put_all(out, shape);
  put_count(out, recipe.values.size());
  for (const auto& [id, stored] : recipe.values)
    out.put(id).put(stored.layout.made).put(stored.layout.there).put(stored.rank);
  put_count(out, static_cast<size_t>(std::count_if(
                     recipe.steps.begin(), recipe.steps.end(),
                     [&](const LayoutRecipe::Step& step) { return !changes_nothing(step, recipe); })));
  for (const LayoutRecipe::Step& step : recipe.steps) {
    if (changes_nothing(step, recipe)) continue;
    put_all(out, step.nodes);
    put_all(out, step.outputs);
    put_count(out, step.reads.size());
    for (const auto& [id, layout] : step.reads) out.put(id).put(layout);
  }
}

bool read(Reader& in, const ir::Graph& graph, ChosenLayouts::Choice& choice) {
  choice.shapes.resize(in.count(4));
  for (ir::Shape& shape : choice.shapes) shape = get_all<int64_t>(in);
  LayoutRecipe& recipe = choice.recipe;
  const size_t values = in.count(17);
  for (size_t k = 0; k < values; ++k) {
    LayoutRecipe::Stored& stored = recipe.values[in.get<ir::ValueId>()];
    stored.layout.made = in.get<Layout>();
    stored.layout.there = in.get<uint32_t>();
    stored.rank = in.get<int64_t>();
  }
  recipe.steps.resize(in.count(12));
  for (LayoutRecipe::Step& step : recipe.steps) {
    step.nodes = get_all<int>(in);
    step.outputs = get_all<ir::ValueId>(in);
    const size_t reads = in.count(5);
    for (size_t k = 0; k < reads; ++k) {
      const auto id = in.get<ir::ValueId>();
      step.reads[id] = in.get<Layout>();
    }
  }
  if (choice.shapes.size() != graph.inputs.size()) in.fail();
  if (!in.failed()) choice.graph = lay_out(graph, recipe);
  if (choice.graph == nullptr) in.fail();
  return !in.failed();
}

}  // namespace

std::string write_layouts(const std::vector<std::shared_ptr<const ChosenLayouts::Choice>>& choices) {
  Writer out;
  put_count(out, choices.size());
  for (const auto& choice : choices) write_layout(out, *choice);
  return std::move(out).text();
}

std::optional<std::vector<ChosenLayouts::Choice>> read_layouts(std::string_view bytes,
                                                               const ir::Graph& graph) {
  Reader in(bytes);
  const size_t count = in.count(12);
  if (count > most_layouts) return std::nullopt;
  std::vector<ChosenLayouts::Choice> choices(count);
  for (ChosenLayouts::Choice& choice : choices) {
    if (!read(in, graph, choice)) return std::nullopt;
  }
  if (!in.finished()) return std::nullopt;
  return choices;
}

}  // namespace axrun::runtime
