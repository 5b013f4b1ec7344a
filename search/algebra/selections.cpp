#include "search/algebra/selections.h"

namespace axrun::search::algebra {
namespace {

/// 0 where that is not known.
int64_t elements_of(const Terms& terms, TermId id) {
  const auto shape = ir::constant_dims(terms[id].facts.dims);
  return shape ? ir::element_count(*shape) : 0;
}

/// That of a rule's only root, where it has one.
bool has_selection_at_root(const Rule& rule, const std::vector<TermId>& side) {
  return side.size() == 1 && rule.terms.is(side[0], "Slice");
}

}  // namespace

bool is_selection(const Terms& terms, TermId id) {
  if (!terms.is(id, "Slice") || terms[id].children.size() != 1) return false;
  const int64_t some = elements_of(terms, id);
  return some > 0 && some < elements_of(terms, terms[id].children[0]);
}

bool moves_selection(const Rule& rule, bool forward) {
  return has_selection_at_root(rule, forward ? rule.left : rule.right) &&
         !has_selection_at_root(rule, forward ? rule.right : rule.left);
}

std::vector<Selected> selected_values(const Terms& terms, const std::map<TermId, std::set<TermId>>& users) {
  std::vector<Selected> found;
  for (const auto& [id, readers] : users) {
    if (terms[id].operation < 0) continue;
    Selected one{id, {}};
    int64_t left = elements_of(terms, id);
    for (const TermId reader : readers) {
      if (!is_selection(terms, reader)) continue;
      one.selections.push_back(reader);
      left -= elements_of(terms, reader);
    }
    if (!one.selections.empty() && left > 0) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace axrun::search::algebra
