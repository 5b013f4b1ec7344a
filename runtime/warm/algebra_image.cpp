#include "runtime/warm/algebra_image.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/error.h"
#include "runtime/warm/layout_image.h"
#include "runtime/warm/lists.h"
#include "runtime/warm/model_identity.h"
#include "runtime/warm/warm_keys.h"
#include "runtime/warm/window_image.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;

/// Of one model: each is a graph.
constexpr size_t most_rewrites = 16;

struct Kept {
  std::vector<ir::Shape> shapes;
  std::string layouts;      ///< of the graph that is rewritten: nothing for the model's
  cache::Hash structure{};  ///< of the graph that is made
  AlgebraRecipe algebra;
};

void write(Writer& out, const AlgebraReport& report) {
  out.put(report.outcome).put(static_cast<int32_t>(report.rules)).put(static_cast<int32_t>(report.looked_at));
  out.put(report.speedup);
  put_count(out, report.windows.size());
  for (const AlgebraReport::Window& window : report.windows) write_report(out, window);
}

AlgebraReport read_report(Reader& in) {
  AlgebraReport report;
  report.outcome = in.text(longest_rule);
  report.rules = in.get<int32_t>();
  report.looked_at = in.get<int32_t>();
  report.speedup = in.get<double>();
  report.windows.resize(in.count(28));
  for (AlgebraReport::Window& window : report.windows) window = read_report_of_window(in);
  return report;
}

void write_rewrite(Writer& out, const ChosenLayouts::Choice& choice) {
  put_count(out, choice.shapes.size());
  for (const ir::Shape& shape : choice.shapes) put_all(out, shape);
  out.put(choice.base ? write_layouts({choice.base}) : std::string());
  for (const uint8_t byte : structure_of(*choice.graph)) out.put(byte);
  const AlgebraRecipe& algebra = *choice.algebra;
  write_windows(out, algebra.windows);
  put_count(out, algebra.rules.size());
  for (const std::string& rule : algebra.rules) out.put(rule);
  write(out, algebra.report);
}

Kept read_one(Reader& in) {
  Kept kept;
  kept.shapes.resize(in.count(4));
  for (ir::Shape& shape : kept.shapes) shape = get_all<int64_t>(in);
  kept.layouts = in.text(longest_layouts);
  for (uint8_t& byte : kept.structure) byte = in.get<uint8_t>();
  kept.algebra.windows = read_windows(in);
  kept.algebra.rules.resize(in.count(4));
  for (std::string& rule : kept.algebra.rules) rule = in.text(longest_rule);
  kept.algebra.report = read_report(in);
  return kept;
}

std::optional<std::vector<Kept>> read_all(std::string_view bytes) {
  Reader in(bytes);
  std::vector<Kept> list(std::min(in.count(32), most_rewrites + 1));
  if (list.size() > most_rewrites) return std::nullopt;
  for (Kept& one : list) one = read_one(in);
  if (!in.finished()) return std::nullopt;
  return list;
}

}  // namespace

std::string write_rewrites(const std::vector<std::shared_ptr<const ChosenLayouts::Choice>>& choices) {
  Writer out;
  put_count(out, choices.size());
  for (const auto& choice : choices) write_rewrite(out, *choice);
  return std::move(out).text();
}

cache::Hash name_of_rewrite(const AlgebraRecipe& recipe, const cache::Hash& structure) {
  Writer out;
  for (const uint8_t byte : structure) out.put(byte);
  write_windows(out, recipe.windows);
  return cache::hash_of_bytes(out.text().data(), out.text().size());
}

std::optional<ReadRewrites> read_rewrites(std::string_view bytes, const ir::Graph& model, ThreadPool& pool,
                                          const MakeGraph& make, const FindGraph& find) {
  std::optional<std::vector<Kept>> list = read_all(bytes);
  if (!list) return std::nullopt;
  ReadRewrites read;
  for (Kept& one : *list) {
    if (one.shapes.size() != model.inputs.size()) return std::nullopt;
    try {
      std::shared_ptr<const ChosenLayouts::Choice> base;
      if (!one.layouts.empty()) {
        auto laid_out = read_layouts(one.layouts, model);
        if (!laid_out || laid_out->size() != 1) return std::nullopt;
        base = std::make_shared<const ChosenLayouts::Choice>(std::move(laid_out->front()));
      }
      const ir::Graph& from = base ? *base->graph : model;
      // Kernels are told by the places of their nodes.
      const auto fits = [&](const auto& graph) { return graph && structure_of(*graph) == one.structure; };
      RewrittenGraph made;
      if (find) made.graph = find(name_of_rewrite(one.algebra, one.structure), from);
      if (!fits(made.graph)) made = folded_graph(make(from, one.algebra.windows), pool);
      if (!fits(made.graph)) return std::nullopt;
      std::move(made.folded.begin(), made.folded.end(), std::back_inserter(read.folded));
      read.choices.push_back({std::move(one.shapes),
                              {},
                              std::make_shared<const AlgebraRecipe>(std::move(one.algebra)),
                              std::move(base),
                              std::move(made.graph)});
    } catch (const std::exception&) {  // recipes that make no sense, or nobody who makes the graph
      return std::nullopt;
    }
  }
  return read;
}

std::optional<std::vector<AlgebraRecipe>> rewrites_in(std::string_view bytes) {
  std::optional<std::vector<Kept>> list = read_all(bytes);
  if (!list) return std::nullopt;
  std::vector<AlgebraRecipe> recipes;
  for (Kept& one : *list) recipes.push_back(std::move(one.algebra));
  return recipes;
}

}  // namespace axrun::runtime
