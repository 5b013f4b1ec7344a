#include "search/algebra/window_recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "search/algebra/term_text.h"

namespace axrun::search::algebra {
namespace {

constexpr size_t most_recipe_terms = 4096, most_recipe_children = 64;

}  // namespace

WindowRecipe recipe_of(const Terms& terms, const std::vector<TermId>& from, const std::vector<TermId>& to,
                       const std::vector<std::vector<ir::ValueId>>& roots,
                       const std::function<ir::ValueId(TermId)>& value_of) {
  WindowRecipe recipe;
  recipe.roots = roots;
  std::vector<TermId> both = from;
  both.insert(both.end(), to.begin(), to.end());
  std::map<TermId, size_t> numbers;
  for (const TermId id : reached_from(terms, both)) {
    const Term& term = terms[id];
    if (term.literal) {
      recipe.text += fmt::format("number {}\n", print_literal(term));
    } else if (term.operation < 0) {
      recipe.text += fmt::format("leaf {}{}{}\n", ir::name_of(term.facts.type),
                                 ir::to_string(term.facts.dims), term.facts.constant ? " constant" : "");
    } else {
      std::vector<size_t> children;
      for (const TermId child : term.children) children.push_back(numbers.at(child));
      recipe.text += fmt::format("make {}({})\n", print_operation(terms, id), fmt::join(children, ", "));
    }
    numbers.emplace(id, recipe.values.size());
    recipe.values.push_back(value_of(id));
  }
  for (const auto& [word, list] : {std::pair("from", &from), std::pair("to", &to)})
    for (const TermId id : *list) recipe.text += fmt::format("{} {}\n", word, numbers.at(id));
  return recipe;
}

WindowSides parse_window(std::string_view text, Terms& terms) {
  ir::text::Scanner in(text);
  WindowSides sides;
  const auto numbered = [&] {
    const uint64_t number = in.natural();
    if (number >= sides.numbered.size()) in.fail("no such term");
    return sides.numbered[number];
  };
  while (!in.at_end() && in.peek_word() != "from") {
    if (sides.numbered.size() >= most_recipe_terms) in.fail("too many terms");
    if (in.accept_word("number")) {
      sides.numbered.push_back(parse_literal(in, terms));
      continue;
    }
    if (in.accept_word("leaf")) {
      Facts facts;
      facts.type = parse_type(in);
      facts.dims = parse_dims(in);
      facts.constant = in.accept_word("constant");
      sides.numbered.push_back(terms.leaf(fmt::format("x{}", sides.numbered.size()), facts));
      continue;
    }
    in.expect_word("make");
    const auto [operation, parameters] = parse_operation_with_parameters(in);
    std::vector<TermId> children;
    in.expect("(");
    while (!in.accept(")")) {
      if (!children.empty()) in.expect(",");
      if (children.size() >= most_recipe_children) in.fail("too many arguments");
      children.push_back(numbered());
    }
    const TermId made = terms.make(terms.operation(operation), parameters, children);
    if (made == no_term) in.fail("the operation is not defined there: " + operation.name);
    sides.numbered.push_back(made);
  }
  while (in.accept_word("from")) sides.from.push_back(numbered());
  while (in.accept_word("to")) sides.to.push_back(numbered());
  if (!in.at_end() || sides.from.empty() || sides.from.size() != sides.to.size())
    in.fail("the sides are not there");
  for (size_t k = 0; k < sides.from.size(); ++k) {
    const Facts &from = terms[sides.from[k]].facts, &to = terms[sides.to[k]].facts;
    if (from.type != to.type || from.dims != to.dims) in.fail("the sides differ in type or dims");
  }
  return sides;
}

bool follows_from(std::string_view text, const std::vector<std::shared_ptr<const Rule>>& rules,
                  const SaturationOptions& options) {
  EGraph graph({options.most_terms});
  const WindowSides sides = parse_window(text, graph.terms());
  graph.take_in();
  const auto are_equal = [&] {
    return std::equal(sides.from.begin(), sides.from.end(), sides.to.begin(),
                      [&](TermId a, TermId b) { return graph.equal(a, b); });
  };
  // Selections go a long way, by few rules.
  saturate(graph, rules, moving_selections(options));
  if (!are_equal()) saturate(graph, rules, options);
  if (!are_equal()) return false;
  for (size_t k = 0; k < sides.from.size(); ++k) {
    const Explanation explanation = graph.explain(sides.from[k], sides.to[k]);
    if (!explanation.safe || replay(explanation, graph.terms())) return false;
  }
  return true;
}

}  // namespace axrun::search::algebra
