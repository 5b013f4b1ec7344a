#include "runtime/optimizer/layouts_question.h"

#include <algorithm>

#include "ir/error.h"
#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;
using search::layouts::LayoutChoice;
using search::layouts::LayoutNode;
using search::layouts::LayoutProblem;
using search::layouts::LayoutValue;
using search::layouts::PriceTerm;

[[noreturn]] void refuse_layouts() { throw Error(Fault::user, "it makes no sense as layouts"); }

}  // namespace

std::string write_layout_problem(const LayoutProblem& problem) {
  Writer out;
  out.put(problem.layouts);
  put_count(out, problem.values.size());
  for (const LayoutValue& value : problem.values) {
    out.put(value.made).put(value.wanted);
    put_all(out, value.conversions);
  }
  put_count(out, problem.nodes.size());
  for (const LayoutNode& node : problem.nodes) {
    put_all(out, node.inputs);
    put_all(out, node.outputs);
    put_count(out, node.terms.size());
    for (const PriceTerm& term : node.terms) {
      put_all(out, term.ports);
      put_all(out, term.prices);
    }
  }
  return std::move(out).text();
}

LayoutProblem read_layout_problem(std::string_view bytes) {
  Reader in(bytes);
  LayoutProblem problem;
  problem.layouts = in.get<int>();
  problem.values.resize(in.count(12));
  for (LayoutValue& value : problem.values) {
    value.made = in.get<uint32_t>();
    value.wanted = in.get<uint32_t>();
    value.conversions = get_all<double>(in);
  }
  problem.nodes.resize(in.count(12));
  for (LayoutNode& node : problem.nodes) {
    node.inputs = get_all<int>(in);
    node.outputs = get_all<int>(in);
    node.terms.resize(in.count(8));
    for (PriceTerm& term : node.terms) {
      term.ports = get_all<int>(in);
      term.prices = get_all<double>(in);
    }
  }
  require_finished(in, "layouts");
  return problem;
}

std::string write_layout_choice(const LayoutChoice& choice) {
  Writer out;
  put_all(out, choice.made);
  put_all(out, choice.there);
  put_count(out, choice.reads.size());
  for (const std::vector<int>& reads : choice.reads) put_all(out, reads);
  out.put(choice.cost).put(choice.plain_cost).put(choice.bound).put(choice.is_best).put(choice.visits);
  return std::move(out).text();
}

LayoutChoice read_layout_choice(std::string_view bytes, const LayoutProblem& problem) {
  Reader in(bytes);
  LayoutChoice choice;
  choice.made = get_all<int>(in);
  choice.there = get_all<uint32_t>(in);
  choice.reads.resize(in.count(4));
  for (std::vector<int>& reads : choice.reads) reads = get_all<int>(in);
  choice.cost = in.get<double>();
  choice.plain_cost = in.get<double>();
  choice.bound = in.get<double>();
  choice.is_best = in.get<bool>();
  choice.visits = in.get<int64_t>();
  if (!in.finished() || choice.made.size() != problem.values.size() ||
      choice.there.size() != problem.values.size() || choice.reads.size() != problem.nodes.size())
    refuse_layouts();
  const auto is_layout = [&](int layout) { return layout >= 0 && layout < problem.layouts; };
  const auto is_there = [&](int value, int layout) {
    return is_layout(layout) && (choice.there[static_cast<size_t>(value)] >> layout & 1) != 0;
  };
  for (size_t v = 0; v < choice.made.size(); ++v) {
    const int made = choice.made[v];
    if (!is_there(static_cast<int>(v), made) || (problem.values[v].made >> made & 1) == 0 ||
        choice.there[v] >> problem.layouts != 0)
      refuse_layouts();
  }
  for (size_t n = 0; n < choice.reads.size(); ++n) {
    const std::vector<int>& inputs = problem.nodes[n].inputs;
    if (choice.reads[n].size() != inputs.size()) refuse_layouts();
    for (size_t k = 0; k < inputs.size(); ++k)
      if (!is_there(inputs[k], choice.reads[n][k])) refuse_layouts();
  }
  return choice;
}

}  // namespace axrun::runtime
