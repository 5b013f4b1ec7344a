#include "search/algebra/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace axrun::search::algebra {

std::string Site::text() const {
  std::string text;
  for (const Leaf& leaf : leaves) {
    text += fmt::format("{}{}{};", ir::name_of(leaf.facts.type), ir::to_string(leaf.facts.dims),
                        leaf.literal ? fmt::format("={}", *leaf.literal) : "");
  }
  for (const Step& step : steps) {
    text += step.operation.key();
    for (const ir::Dims& list : step.parameters) text += ir::to_string(list);
    for (const Argument& argument : step.arguments)
      text += fmt::format(" {}{}", argument.leaf ? "?" : "!", argument.index);
    text += ';';
  }
  for (const size_t root : roots) text += fmt::format(" {}", root);
  return text;
}

std::vector<TermId> Site::build(Terms& terms) const {
  std::vector<TermId> values, made, found;
  for (size_t k = 0; k < leaves.size(); ++k) {
    const Facts& facts = leaves[k].facts;
    values.push_back(leaves[k].literal ? terms.literal(facts.type, *leaves[k].literal, facts.dims)
                                       : terms.leaf(fmt::format("x{}", k), {facts.type, facts.dims, false}));
  }
  for (const Step& step : steps) {
    std::vector<TermId> children;
    for (const Argument& argument : step.arguments)
      children.push_back(argument.leaf ? values[argument.index] : made[argument.index]);
    made.push_back(terms.make(terms.operation(step.operation), step.parameters, children));
    if (made.back() == no_term) return {};
  }
  for (const size_t root : roots) found.push_back(made[root]);
  return found;
}

Site site_of(const Terms& terms, const std::vector<TermId>& inner, size_t roots, bool keep_numbers) {
  Site site;
  std::map<TermId, size_t> steps, leaves;
  for (const TermId id : inner) {
    const Term& term = terms[id];
    Site::Step step{terms.operation(term.operation), term.parameters, {}};
    for (const TermId child : term.children) {
      if (const auto known = steps.find(child); known != steps.end()) {
        step.arguments.push_back({false, known->second});
        continue;
      }
      const auto [place, added] = leaves.emplace(child, site.leaves.size());
      if (added)
        site.leaves.push_back(
            {terms[child].facts, keep_numbers ? terms[child].literal : std::optional<double>()});
      step.arguments.push_back({true, place->second});
    }
    steps.emplace(id, site.steps.size());
    site.steps.push_back(std::move(step));
  }
  for (size_t k = site.steps.size() - roots; k < site.steps.size(); ++k) site.roots.push_back(k);
  return site;
}

namespace {

using Replacement = std::function<ir::Dim(const ir::Dim&)>;

bool is_defined(const Site& site) {
  Terms terms;
  return !site.build(terms).empty();
}

/// Names for numbers, by value, so that what Reshape and Slice say of them holds.
class Naming {
 public:
  explicit Naming(const Site& site) : site_(site) {
    Terms terms;
    std::vector<TermId> values;
    for (size_t k = 0; k < site.leaves.size(); ++k)
      values.push_back(
          terms.leaf(fmt::format("x{}", k), {site.leaves[k].facts.type, site.leaves[k].facts.dims, false}));
    std::vector<TermId> made;
    for (const Site::Step& step : site.steps) {
      std::vector<TermId> children;
      for (const auto& argument : step.arguments)
        children.push_back(argument.leaf ? values[argument.index] : made[argument.index]);
      made.push_back(terms.make(terms.operation(step.operation), step.parameters, children));
      if (made.back() == no_term || children.empty()) return;
      const ir::Dims from = terms[children[0]].facts.dims;
      if (step.operation.name == "Reshape") align(from, step.parameters[0]);
      if (step.operation.name == "Slice" && step.parameters.size() == 3) cut(from, step.parameters);
    }
  }

  Site renamed() const {
    Site site = site_;
    for (auto& leaf : site.leaves)
      for (ir::Dim& dim : leaf.facts.dims) dim = name(dim);
    for (auto& step : site.steps) {
      if (step.operation.name == "Reshape" || step.operation.name == "Expand") {
        for (ir::Dims& list : step.parameters)
          for (ir::Dim& dim : list) dim = name(dim);
      } else if (step.operation.name == "Slice" && step.parameters.size() == 3) {
        for (size_t k = 0; k < step.parameters[0].size(); ++k) {
          const auto whole = whole_.find(cut_key(step, k));
          if (whole == whole_.end()) continue;
          for (size_t side = 0; side < 2; ++side) {
            ir::Dim& dim = step.parameters[side][k];
            if (const auto found = cuts_.find({whole->second, dim.to_string()}); found != cuts_.end())
              dim = found->second;
          }
        }
      }
    }
    return site;
  }

 private:
  static std::string cut_key(const Site::Step& step, size_t k) {
    return step.parameters[0][k].to_string() + ":" + step.parameters[1][k].to_string() + "@" +
           step.parameters[2][k].to_string();
  }
  ir::Dim name(const ir::Dim& dim, int depth = 0) const {
    if (dim == ir::Dim(1) || dim == ir::Dim(0) || dim == ir::Dim(-1) || depth > 4) return dim;
    const std::string text = dim.to_string();
    if (const auto found = made_of_.find(text); found != made_of_.end()) {
      ir::Dim product = 1;
      for (const ir::Dim& part : found->second) product = product * name(part, depth + 1);
      return product;
    }
    if (const auto found = cuts_.find({text, text}); found != cuts_.end()) return found->second;
    return ir::Dim::symbol("d" + std::to_string(names_.emplace(text, names_.size()).first->second));
  }
  void align(const ir::Dims& from, const ir::Dims& to) {
    size_t a = 0, b = 0;
    while (a < from.size() && b < to.size()) {
      // A dim of one is no part of its neighbour.
      if (from[a] == ir::Dim(1) || to[b] == ir::Dim(1)) {
        ++(from[a] == ir::Dim(1) ? a : b);
        continue;
      }
      ir::Dims left{from[a++]}, right{to[b++]};
      while (ir::product(left) != ir::product(right)) {
        const auto x = ir::product(left).constant(), y = ir::product(right).constant();
        if (!x || !y) return;
        if (*x < *y) {
          if (a == from.size()) return;
          left.push_back(from[a++]);
        } else {
          if (b == to.size()) return;
          right.push_back(to[b++]);
        }
      }
      if (left.size() == 1 && right.size() > 1) made_of_.emplace(left[0].to_string(), right);
      if (right.size() == 1 && left.size() > 1) made_of_.emplace(right[0].to_string(), left);
    }
  }
  void cut(const ir::Dims& from, const std::vector<ir::Dims>& parameters) {
    for (size_t k = 0; k < parameters[2].size(); ++k) {
      const auto axis = parameters[2][k].constant();
      if (!axis || *axis < 0 || *axis >= static_cast<int64_t>(from.size())) return;
      const ir::Dim whole = from[static_cast<size_t>(*axis)];
      const auto first = parameters[0][k].constant(), last = parameters[1][k].constant(),
                 all = whole.constant();
      const std::string text = whole.to_string();
      whole_.emplace(parameters[0][k].to_string() + ":" + parameters[1][k].to_string() + "@" +
                         parameters[2][k].to_string(),
                     text);
      if (!first || !last || !all) continue;
      std::set<int64_t>& points = points_[text];
      points.insert({0, *first, *last, *all});
      ir::Dim sum = 0;
      int64_t at = 0, number = 0;
      for (const int64_t point : points) {
        if (point > at) sum = sum + ir::Dim::symbol(fmt::format("c{}_{}", text, number++));
        cuts_[{text, std::to_string(point)}] = sum;
        at = point;
      }
    }
  }

  const Site& site_;
  mutable std::map<std::string, size_t> names_;
  std::map<std::string, ir::Dims> made_of_;
  std::map<std::string, std::set<int64_t>> points_;
  std::map<std::string, std::string> whole_;
  std::map<std::pair<std::string, std::string>, ir::Dim> cuts_;
};

/// Dims of leaves, in one list.
std::vector<ir::Dim*> places(Site& site) {
  std::vector<ir::Dim*> list;
  for (auto& leaf : site.leaves)
    for (ir::Dim& dim : leaf.facts.dims) list.push_back(&dim);
  return list;
}

/// Gives up to `most` places of equal dims a name of their own, as long as the site stays defined. `open`:
/// which dims may get one.
void name_apart(Site& site, size_t most, const std::function<bool(const ir::Dim&)>& open) {
  int number = 0, tries = 0;
  for (size_t size = 1; size <= most; ++size) {
    for (bool again = true; again;) {
      again = false;
      std::map<std::string, std::vector<size_t>> groups;
      const std::vector<ir::Dim*> list = places(site);
      for (size_t k = 0; k < list.size(); ++k)
        if (open(*list[k])) groups[list[k]->to_string()].push_back(k);
      for (const auto& [text, group] : groups) {
        const bool named = !ir::parse_dim(text).is_constant();
        if (group.size() < size || (named && group.size() == size)) continue;
        std::vector<bool> chosen(group.size(), false);
        std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(size), true);
        do {
          if (++tries > 400) return;
          Site other = site;
          const ir::Dim fresh = ir::Dim::symbol(fmt::format("f{}_{}", size, number));
          const std::vector<ir::Dim*> others = places(other);
          for (size_t k = 0; k < group.size(); ++k)
            if (chosen[k]) *others[group[k]] = fresh;
          if (!is_defined(other)) continue;
          site = std::move(other);
          ++number;
          again = true;
          break;
        } while (std::prev_permutation(chosen.begin(), chosen.end()));
        if (again) break;
      }
    }
  }
}

}  // namespace

Site generalise(const Site& site) {
  Site named = Naming(site).renamed();
  if (!is_defined(named)) {
    named = site;
    name_apart(named, 4, [](const ir::Dim& dim) {
      return dim.is_constant() && dim != ir::Dim(1) && dim != ir::Dim(0);
    });
  }
  // Sizes that parameters mention are what they are there.
  std::set<std::string> fixed;
  for (const auto& step : named.steps)
    for (const ir::Dims& list : step.parameters)
      for (const ir::Dim& dim : list) {
        std::vector<std::string> names;
        dim.collect_symbols(names);
        fixed.insert(names.begin(), names.end());
      }
  name_apart(named, 3, [&](const ir::Dim& dim) {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    return names.size() == 1 && ir::Dim::symbol(names[0]) == dim && fixed.count(names[0]) == 0;
  });
  return named;
}

}  // namespace axrun::search::algebra
