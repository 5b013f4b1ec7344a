#include "search/algebra/independence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "search/algebra/saturation.h"

namespace axrun::search::algebra {
namespace {

/// A term without what forms do not tell apart.
struct Tree {
  std::string name;  ///< of an operator; of a variable by itself
  TermId variable = no_term;
  std::vector<Tree> parts;
};

bool changes_rank_alone(const ir::Dims& from, const ir::Dims& to) {
  const auto large = [](const ir::Dims& dims) {
    ir::Dims rest;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(rest),
                 [](const ir::Dim& dim) { return dim != ir::Dim(1); });
    return rest;
  };
  return large(from) == large(to);
}

Tree tree_of(const Terms& terms, TermId id) {
  const Term& term = terms[id];
  if (term.literal) {
    const bool special = *term.literal == 0 || *term.literal == 1;
    return {special ? fmt::format("{}", *term.literal) : "#", no_term, {}};
  }
  if (term.operation < 0) return {"", id, {}};
  if (terms.is(id, "Reshape") && changes_rank_alone(terms[term.children[0]].facts.dims, term.facts.dims))
    return tree_of(terms, term.children[0]);
  Tree tree{terms.name(id), no_term, {}};
  for (const TermId child : term.children) tree.parts.push_back(tree_of(terms, child));
  return tree;
}

bool commutes(const std::string& name) {
  constexpr std::string_view names[] = {"Add", "Mul", "Max", "Min", "And", "Or", "Xor", "Equal", "Sum"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}
bool joins(const std::string& name) {
  return name == "Concat" || name == "Max" || name == "Min" || name == "Add" || name == "Mul";
}

using Names = std::map<TermId, std::string>;

/// names: null for all variables alike.
std::string text_of(const Tree& tree, const Names* names) {
  if (tree.variable != no_term) return names != nullptr ? names->at(tree.variable) : "?";
  if (tree.parts.empty()) return tree.name;
  std::vector<std::string> parts;
  for (const Tree& part : tree.parts) parts.push_back(text_of(part, names));
  if (commutes(tree.name)) std::sort(parts.begin(), parts.end());
  return fmt::format("{}({})", tree.name, fmt::join(parts, ", "));
}

void collect(const Tree& tree, std::vector<TermId>& variables) {
  if (tree.variable != no_term &&
      std::find(variables.begin(), variables.end(), tree.variable) == variables.end())
    variables.push_back(tree.variable);
  for (const Tree& part : tree.parts) collect(part, variables);
}

enum class Removal : uint8_t { kept, gone, impossible };

/// Without these variables: what has nothing but them goes, what joins others loses them.
Removal remove(Tree& tree, const std::set<TermId>& variables) {
  if (tree.variable != no_term) return variables.count(tree.variable) != 0 ? Removal::gone : Removal::kept;
  if (tree.parts.empty()) return Removal::kept;
  std::vector<Tree> left;
  for (Tree& part : tree.parts) {
    const Removal removal = remove(part, variables);
    if (removal == Removal::impossible) return removal;
    if (removal == Removal::kept) left.push_back(std::move(part));
  }
  const bool all = left.size() == tree.parts.size();
  tree.parts = std::move(left);
  if (all) return Removal::kept;
  if (tree.parts.empty()) return Removal::gone;
  return joins(tree.name) && tree.parts.size() > 1 ? Removal::kept : Removal::impossible;
}

/// The last of three or more parts that are alike; null where there is none.
const Tree* spare_part(const Tree& tree) {
  if (joins(tree.name)) {
    std::map<std::string, std::vector<const Tree*>> alike;
    for (const Tree& part : tree.parts) alike[text_of(part, nullptr)].push_back(&part);
    for (const auto& [text, list] : alike)
      if (list.size() > 2) return list.back();
  }
  for (const Tree& part : tree.parts)
    if (const Tree* found = spare_part(part)) return found;
  return nullptr;
}

/// Two of what is joined stand for more.
void join_fewer(std::vector<Tree>& left, std::vector<Tree>& right) {
  for (;;) {
    const Tree* spare = nullptr;
    for (const Tree& root : left) spare = spare != nullptr ? spare : spare_part(root);
    for (const Tree& root : right) spare = spare != nullptr ? spare : spare_part(root);
    if (spare == nullptr) return;
    std::vector<TermId> variables;
    collect(*spare, variables);
    std::vector<Tree> less_left = left, less_right = right;
    for (auto* side : {&less_left, &less_right})
      for (Tree& root : *side)
        if (remove(root, {variables.begin(), variables.end()}) != Removal::kept) return;
    left = std::move(less_left);
    right = std::move(less_right);
  }
}

std::string side_text(const std::vector<Tree>& roots, const Names& names) {
  std::vector<std::string> texts;
  for (const Tree& root : roots) texts.push_back(text_of(root, &names));
  return fmt::format("{}", fmt::join(texts, " | "));
}

std::set<std::string> operators_of(const Rule& rule, const std::vector<TermId>& roots) {
  std::set<std::string> names;
  for (const TermId id : reached_from(rule.terms, roots))
    if (rule.terms[id].operation >= 0) names.insert(rule.terms.name(id));
  return names;
}

/// A rule, and which operators its sides have.
struct Candidate {
  std::shared_ptr<const Rule> rule;
  std::string form;
  std::set<std::string> left, right;
};

/// Those that may be applied to what the rule's sides are made of.
std::vector<std::shared_ptr<const Rule>> applicable(const Candidate& target,
                                                    const std::vector<Candidate>& all,
                                                    const std::set<std::string>& forms) {
  std::set<std::string> names = target.left;
  names.insert(target.right.begin(), target.right.end());
  std::vector<std::shared_ptr<const Rule>> chosen;
  std::set<const Rule*> known;
  for (bool more = true; more;) {
    more = false;
    for (const Candidate& one : all) {
      if (one.form == target.form || forms.count(one.form) == 0 || known.count(one.rule.get()) != 0) continue;
      const auto within = [&](const std::set<std::string>& side) {
        return std::includes(names.begin(), names.end(), side.begin(), side.end());
      };
      if (!within(one.left) && !within(one.right)) continue;
      known.insert(one.rule.get());
      chosen.push_back(one.rule);
      names.insert(one.left.begin(), one.left.end());
      names.insert(one.right.begin(), one.right.end());
      more = true;
    }
  }
  return chosen;
}

}  // namespace

std::string form_of(const Rule& rule) {
  std::vector<Tree> left, right;
  for (const TermId root : rule.left) left.push_back(tree_of(rule.terms, root));
  for (const TermId root : rule.right) right.push_back(tree_of(rule.terms, root));
  join_fewer(left, right);
  std::vector<TermId> variables;
  for (const auto* side : {&left, &right})
    for (const Tree& root : *side) collect(root, variables);
  // The least text under all namings, where these are few.
  constexpr size_t most_variables = 6;
  std::vector<size_t> order(variables.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::string least;
  do {
    Names names;
    for (size_t k = 0; k < variables.size(); ++k) names[variables[k]] = fmt::format("v{}", order[k]);
    std::string a = side_text(left, names), b = side_text(right, names);
    if (a == b) return "";
    if (b < a) std::swap(a, b);
    std::string text = a + " = " + b;
    if (least.empty() || text < least) least = std::move(text);
  } while (variables.size() <= most_variables && std::next_permutation(order.begin(), order.end()));
  return least;
}

Independence independent_identities(const RuleSet& rules, const std::function<bool()>& go_on) {
  Independence result;
  std::vector<Candidate> candidates;
  std::map<std::string, std::vector<size_t>> members;
  std::set<std::string> usable;
  for (const auto& [id, rule] : rules.rules()) {
    if (!rule->established || rule->equality.verdict != verify::Verdict::proved) continue;
    const std::string form = form_of(*rule);
    if (rule->usable(true) || rule->usable(false)) {
      ++result.rules;
      if (!form.empty()) usable.insert(form);
    }
    // What an identity follows from need not be safe.
    auto equal = std::make_shared<Rule>(*rule);
    equal->safety.verdict = equal->safety_back.verdict = verify::Verdict::proved;
    members[form].push_back(candidates.size());
    candidates.push_back({equal, form, operators_of(*rule, rule->left), operators_of(*rule, rule->right)});
  }
  result.forms = usable.size();
  std::set<std::string> kept;
  for (const auto& [form, list] : members) kept.insert(form);
  const auto size_of = [&](const std::string& form) {
    const Rule& rule = *candidates[members.at(form).front()].rule;
    return operations_in(rule.terms, rule.left) + operations_in(rule.terms, rule.right);
  };
  std::vector<std::string> order(usable.begin(), usable.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](const std::string& a, const std::string& b) { return size_of(a) > size_of(b); });
  SaturationOptions options;
  options.most_rounds = 4;
  options.most_terms = 1000;
  options.most_matches = 60;
  for (const std::string& form : order) {
    if (go_on && !go_on()) break;
    const std::vector<size_t>& list = members.at(form);
    const bool follows = std::any_of(list.begin(), list.end(), [&](size_t k) {
      return follows_from(*candidates[k].rule, applicable(candidates[k], candidates, kept), options);
    });
    if (follows) {
      kept.erase(form);
      continue;
    }
    const auto with_place = std::find_if(list.begin(), list.end(), [&](size_t k) {
      return candidates[k].rule->origin.find(" at ") != std::string::npos;
    });
    const size_t shown = with_place == list.end() ? list.front() : *with_place;
    result.identities.push_back({form, rules.find(candidates[shown].rule->id), list.size()});
  }
  return result;
}

SetComparison compared(const RuleSet& first, const RuleSet& second) {
  SetComparison result;
  result.first = first.size();
  result.second = second.size();
  for (const auto& [id, rule] : second.rules()) {
    const auto other = first.find(id);
    if (other == nullptr) {
      if (rule->equality.verdict == verify::Verdict::proved) result.only_second_proved.push_back(id);
      continue;
    }
    ++result.both;
    const auto same = [](const verify::Evidence& a, const verify::Evidence& b) {
      return a.verdict == b.verdict;
    };
    if (!same(rule->equality, other->equality) || !same(rule->safety, other->safety) ||
        !same(rule->safety_back, other->safety_back))
      result.differing.push_back(id);
  }
  return result;
}

}  // namespace axrun::search::algebra
