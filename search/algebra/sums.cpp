#include "search/algebra/sums.h"

#include <map>
#include <set>

namespace axrun::search::algebra {
namespace {

/// Operations below the root, down to a depth: those near it first where there are too many.
std::set<TermId> operations_below(const Terms& terms, TermId root,
                                  const std::function<bool(TermId)>& is_wanted) {
  constexpr int most_depth = 4;
  constexpr size_t most = 24;
  std::set<TermId> met{root};
  std::vector<TermId> level{root};
  for (int depth = 0; depth < most_depth; ++depth) {
    std::vector<TermId> next;
    for (const TermId id : level)
      for (const TermId child : terms[id].children)
        if (met.size() < most && is_wanted(child) && met.insert(child).second) next.push_back(child);
    level = std::move(next);
  }
  return met;
}

/// Those of `among` that the term reads, itself included, over others of them.
std::set<TermId> reached_among(const Terms& terms, TermId from, const std::set<TermId>& among) {
  std::set<TermId> met;
  std::vector<TermId> open{from};
  while (!open.empty()) {
    const TermId id = open.back();
    open.pop_back();
    if (among.count(id) == 0 || !met.insert(id).second) continue;
    const std::vector<TermId>& children = terms[id].children;
    open.insert(open.end(), children.begin(), children.end());
  }
  return met;
}

/// What is moved, or the term itself.
TermId unmoved(const Terms& terms, TermId id) {
  while (terms[id].operation >= 0 && terms[id].children.size() == 1 &&
         is_index_map(terms.operation(terms[id].operation)))
    id = terms[id].children[0];
  return id;
}

}  // namespace

bool is_sum(const Terms& terms, TermId id) {
  return terms[id].operation >= 0 && terms[id].children.size() > 1 &&
         is_sum_or_product(terms.operation(terms[id].operation));
}

bool is_product(const Terms& terms, TermId id) {
  const Term& term = terms[id];
  return term.operation >= 0 && term.children.size() > 1 && !is_sum(terms, id) &&
         !is_index_map(terms.operation(term.operation));
}

std::vector<std::vector<TermId>> between_sum_and_operands(const Terms& terms, TermId sum,
                                                          const std::function<bool(TermId)>& is_wanted) {
  constexpr size_t most_operations = 10, most_operands = 2;
  const std::set<TermId> inner = operations_below(terms, sum, is_wanted);
  // Operands, and how many of the sum's terms are made of products that read them.
  std::map<TermId, int> readers;
  for (const TermId child : terms[sum].children) {
    std::set<TermId> own;
    for (const TermId id : reached_among(terms, child, inner)) {
      if (!is_product(terms, id)) continue;
      for (const TermId operand : terms[id].children)
        if (!terms[operand].facts.constant) own.insert(unmoved(terms, operand));
    }
    for (const TermId operand : own) ++readers[operand];
  }
  std::vector<std::vector<TermId>> found;
  for (auto operand = readers.rbegin(); operand != readers.rend() && found.size() < most_operands;
       ++operand) {
    if (operand->second < 2) continue;
    std::set<TermId> here = inner;
    here.insert(operand->first);
    std::vector<TermId> above;
    for (const TermId id : inner)
      if (id != operand->first && reached_among(terms, id, here).count(operand->first) != 0)
        above.push_back(id);
    if (above.size() > 2 && above.size() <= most_operations) found.push_back(std::move(above));
  }
  return found;
}

}  // namespace axrun::search::algebra
