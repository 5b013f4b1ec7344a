#include "search/algebra/egraph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/error.h"

namespace axrun::search::algebra {

TermId EGraph::make(int operation, const std::vector<ir::Dims>& parameters,
                    const std::vector<TermId>& children) {
  const TermId made = terms_.make(operation, parameters, children);
  take_in();
  return made;
}

void EGraph::take_in() {
  while (static_cast<int>(up_.size()) < terms_.size()) take_in_one(static_cast<TermId>(up_.size()));
}

void EGraph::take_in_one(TermId id) {
  up_.push_back(id);
  members_.push_back({id});
  parents_.emplace_back();
  constant_.push_back(terms_[id].facts.constant);
  edges_.emplace_back();
  const Term& term = terms_[id];
  if (term.operation < 0) return;
  for (const TermId child : term.children) parents_[static_cast<size_t>(find(child))].push_back(id);
  by_operation_[term.operation].push_back(id);
  dirty_.push_back(id);
  const auto [place, added] = memo_.emplace(key_of(id), id);
  if (!added) congruent(id, place->second);
}

TermId EGraph::find(TermId id) const {
  while (up_[static_cast<size_t>(id)] != id) id = up_[static_cast<size_t>(id)];
  return id;
}

std::vector<TermId> EGraph::classes() const {
  std::vector<TermId> list;
  for (TermId id = 0; id < static_cast<TermId>(up_.size()); ++id)
    if (up_[static_cast<size_t>(id)] == id) list.push_back(id);
  return list;
}

std::vector<TermId> EGraph::with_operation(int operation) const {
  const auto found = by_operation_.find(operation);
  return found == by_operation_.end() ? std::vector<TermId>() : found->second;
}

std::string EGraph::key_of(TermId id) const {
  const Term& term = terms_[id];
  std::vector<TermId> children;
  for (const TermId child : term.children) children.push_back(find(child));
  if (is_sum_or_product(terms_.operation(term.operation))) std::sort(children.begin(), children.end());
  std::string key = fmt::format("{}|", term.operation);
  for (const ir::Dims& list : term.parameters) key += ir::to_string(list);
  return fmt::format("{}|{}", key, fmt::join(children, ","));
}

/// Children of sums and products are paired as they are equal.
void EGraph::congruent(TermId a, TermId b) {
  if (a == b) return;
  Link link;
  link.left = a;
  link.right = b;
  link.operation = terms_[a].operation;
  link.parameters = terms_[a].parameters;
  link.left_children = terms_[a].children;
  std::vector<TermId> open = terms_[b].children;
  for (const TermId child : link.left_children) {
    auto partner = open.begin();
    if (is_sum_or_product(terms_.operation(link.operation)))
      partner = std::find_if(open.begin(), open.end(), [&](TermId other) { return equal(child, other); });
    AXRUN_ASSERT(partner != open.end() && equal(child, *partner));
    link.right_children.push_back(*partner);
    open.erase(partner);
  }
  unite(std::move(link));
}

void EGraph::unite(Link link) {
  TermId a = find(link.left), b = find(link.right);
  if (a == b) return;
  const TermId from = link.left, to = link.right;
  links_.push_back(std::move(link));
  // The way from `from` to the top of its tree is turned round.
  Edge next{to, static_cast<int>(links_.size()) - 1};
  for (TermId at = from; at != no_term;) {
    const Edge old = edges_[static_cast<size_t>(at)];
    edges_[static_cast<size_t>(at)] = next;
    next = {at, old.link};
    at = old.to;
  }
  const auto weight = [&](TermId id) { return parents_[static_cast<size_t>(id)].size(); };
  if (weight(a) > weight(b) || (weight(a) == weight(b) && a < b)) std::swap(a, b);
  up_[static_cast<size_t>(a)] = b;
  for (auto* lists : {&members_, &parents_}) {
    std::vector<TermId>&mine = (*lists)[static_cast<size_t>(a)], &others = (*lists)[static_cast<size_t>(b)];
    others.insert(others.end(), mine.begin(), mine.end());
    mine.clear();
  }
  if (constant_[static_cast<size_t>(a)]) constant_[static_cast<size_t>(b)] = true;
  dirty_.push_back(b);
}

bool EGraph::merge(const Link& link) {
  if (equal(link.left, link.right)) return false;
  unite(link);
  return true;
}

void EGraph::rebuild() {
  while (!dirty_.empty()) {
    const std::vector<TermId> dirty = std::exchange(dirty_, {});
    std::set<TermId> classes;
    for (const TermId id : dirty) classes.insert(find(id));
    for (const TermId id : classes) {
      const std::vector<TermId> parents = parents_[static_cast<size_t>(find(id))];
      for (const TermId parent : parents) {
        const auto [place, added] = memo_.emplace(key_of(parent), parent);
        if (!added && !equal(parent, place->second)) congruent(parent, place->second);
      }
    }
    for (const TermId id : classes) {
      const std::vector<TermId> parents = parents_[static_cast<size_t>(find(id))], own = members(id);
      for (const TermId parent : parents) renormalise(parent);
      for (const TermId member : own) renormalise(member);
    }
    replace_groups();
  }
}

void EGraph::hold_together(TermId some, const std::vector<TermId>& others) {
  constexpr size_t most_groups = 100;
  if (groups_.size() == most_groups || full()) return;
  Group group{no_term, {some}, {some}};
  group.children.insert(group.children.end(), others.begin(), others.end());
  group.whole = make(terms_[some].operation, {}, group.children);
  if (group.whole == no_term) return;
  for (const Group& known : groups_)
    if (known.whole == group.whole && known.children == group.children) return;
  dirty_.push_back(find(some));
  groups_.push_back(std::move(group));
}

void EGraph::replace_groups() {
  for (Group& group : groups_) {
    const std::vector<TermId> choices = members(group.children[0]);
    for (const TermId choice : choices)
      if (!full() && group.done.insert(choice).second) replace(group.whole, group.children, choice);
  }
}

/// The sum of these children, which is `whole`, with another term of the first one's class in its place.
void EGraph::replace(TermId whole, const std::vector<TermId>& children, TermId by) {
  Link link;
  link.left = whole;
  link.operation = terms_[whole].operation;
  link.left_children = link.right_children = children;
  link.right_children[0] = by;
  link.right = make(link.operation, {}, link.right_children);
  if (link.right != no_term && !equal(link.right, whole)) unite(std::move(link));
}

/// An operation that composes with those that make its children: with all that do, as each is another way.
void EGraph::renormalise(TermId id) {
  const Term& term = terms_[id];
  if (term.operation < 0) return;
  const Operation& operation = terms_.operation(term.operation);
  if (!is_sum_or_product(operation) && !is_index_map(operation)) return;
  for (size_t k = 0; k < term.children.size(); ++k) {
    const std::vector<TermId> choices = members(term.children[k]);
    for (const TermId choice : choices) {
      if (full() || choice == term.children[k] || terms_[choice].operation < 0) continue;
      if (terms_.name(choice) != operation.name || !renormalised_.emplace(id, choice).second) continue;
      std::vector<TermId> children = term.children;
      children[k] = choice;
      const TermId made = make(term.operation, term.parameters, children);
      if (made == no_term || equal(made, id)) continue;
      Link link;
      link.left = id;
      link.right = made;
      link.operation = term.operation;
      link.parameters = term.parameters;
      link.left_children = term.children;
      link.right_children = children;
      unite(std::move(link));
    }
  }
}

}  // namespace axrun::search::algebra
