#include "search/algebra/split_form.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "search/algebra/definition_steps.h"
#include "search/algebra/plain_operators.h"
#include "search/algebra/rescaled_parts.h"
#include "search/algebra/trials.h"

namespace axrun::search::algebra {
namespace {

constexpr size_t most_form_components = 6;

/// Terms with other leaves and sizes.
class Copy {
 public:
  using Leaf = std::function<TermId(TermId)>;
  Copy(Terms& terms, std::map<std::string, ir::Dim> sizes, Leaf leaf)
      : terms_(terms), sizes_(std::move(sizes)), leaf_(std::move(leaf)) {}

  TermId of(TermId id) {
    if (id == no_term) return id;
    if (const auto known = made_.find(id); known != made_.end()) return known->second;
    const Term term = terms_[id];
    TermId made = no_term;
    if (term.literal) {
      made = terms_.literal(term.facts.type, *term.literal, with_sizes(term.facts.dims));
    } else if (term.operation < 0) {
      made = leaf_(id);
    } else {
      std::vector<TermId> children;
      for (const TermId child : term.children) children.push_back(of(child));
      std::vector<ir::Dims> parameters;
      for (const ir::Dims& list : term.parameters) parameters.push_back(with_sizes(list));
      made = terms_.make(term.operation, parameters, children);
    }
    made_.emplace(id, made);
    return made;
  }
  ir::Dims with_sizes(ir::Dims dims) const {
    for (ir::Dim& dim : dims) dim = dim.substitute(sizes_);
    return dims;
  }

 private:
  Terms& terms_;
  std::map<std::string, ir::Dim> sizes_;
  Leaf leaf_;
  std::map<TermId, TermId> made_;
};

/// One axis, one way to take sums.
class Splitting {
 public:
  Splitting(Terms& terms, Trials& trials, std::string size, bool centred)
      : terms_(terms),
        trials_(trials),
        size_(std::move(size)),
        rescaling_(terms, size_, centred),
        parts_{block("first"), block("second")},
        joined_(terms, {{size_, part_size("first") + part_size("second")}},
                [this](TermId id) { return joined_leaf(id); }),
        single_(terms, {{size_, ir::Dim(1)}},
                [this](TermId id) { return part_leaf(id, "one", ir::Dim(1)); }) {}

  std::optional<SplitForm> run(TermId root) {
    SplitForm form;
    form.root = root;
    form.finished = factored(in_steps(terms_, root));
    if (form.finished == no_term || !take_states(form.finished)) return std::nullopt;
    for (size_t k = 0; k < states_.size(); ++k) {
      if (states_.size() > most_form_components || !find_combination(states_[k])) return std::nullopt;
    }
    for (const TermId state : states_) {
      SplitForm::Component component{joined_.of(state), whole(state), single_.of(state), first(state)};
      if (!agree(component.joined, component.combined) || !agree(component.single, component.first))
        return std::nullopt;
      form.state.push_back(component);
    }
    if (form.finished != root && !agree(root, form.finished)) return std::nullopt;
    return form;
  }

 private:
  // Leaves of parts.
  ir::Dim part_size(const std::string& part) const { return ir::Dim::symbol(size_ + "_" + part); }
  TermId part_leaf(TermId id, const std::string& part, const ir::Dim& size) {
    const Term term = terms_[id];
    if (!rescaling_.carries(id)) return id;
    Facts facts = term.facts;
    for (ir::Dim& dim : facts.dims) dim = dim.substitute({{size_, size}});
    return terms_.leaf(term.leaf + " " + part, facts);
  }
  TermId joined_leaf(TermId id) {
    if (!rescaling_.carries(id)) return id;
    int64_t axis = -1;
    const ir::Dims dims = terms_[id].facts.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == ir::Dim::symbol(size_)) {
        if (axis >= 0) return no_term;
        axis = static_cast<int64_t>(d);
      } else if (dims[d] != dims[d].substitute({{size_, ir::Dim(1)}})) {
        return no_term;
      }
    }
    if (axis < 0) return no_term;
    return terms_.concat(
        {part_leaf(id, "first", part_size("first")), part_leaf(id, "second", part_size("second"))}, axis);
  }
  Copy block(const std::string& part) {
    return Copy(terms_, {{size_, part_size(part)}}, [this, part](TermId id) {
      for (const auto& [reduction, placeholder] : rescaling_.placeholders())
        if (placeholder == id) return whole(reduction);
      return part_leaf(id, part, part_size(part));
    });
  }

  /// Reductions that combine sums of products with what does not vary along the axis, as such sums of
  /// reductions.
  TermId factored(TermId id) {
    if (id == no_term) return id;
    if (const auto known = factored_.find(id); known != factored_.end()) return known->second;
    const Term term = terms_[id];
    TermId made = id;
    if (term.operation >= 0) {
      std::vector<TermId> children;
      for (const TermId child : term.children) children.push_back(factored(child));
      made = terms_.make(term.operation, term.parameters, children);
    }
    if (made != no_term && rescaling_.is_reduction(made) && rescaling_.combines_dependent(made)) {
      const auto parts = rescaling_.parts_of_reduction(made);
      made = parts ? rescaling_.assembled(*parts, false) : no_term;
      if (made < 0 || terms_[made].facts.dims != term.facts.dims) made = no_term;
    }
    factored_.emplace(id, made);
    return made;
  }

  bool take_states(TermId id) {
    if (id < 0) return id != no_term;
    for (const TermId one : reached_from(terms_, {id})) {
      if (!rescaling_.is_reduction(one) || std::find(states_.begin(), states_.end(), one) != states_.end())
        continue;
      states_.push_back(one);
    }
    return true;
  }

  /// What a part adds to a component of the whole, in terms of the part's state and of the whole's components
  /// that are read.
  bool find_combination(TermId state) {
    auto parts = rescaling_.parts_of_reduction(state);
    if (!parts) return false;
    // Sums that are 0 whatever is summed, such as those of differences from a mean.
    std::erase_if(*parts, [&](const RescaledPart& part) {
      if (part.own != zero || part.basis == one) return false;
      return trials_.same(part.basis, call(terms_, "Sub", {part.basis, part.basis}));
    });
    if (rescaling_.assembled(*parts, false) != state) return false;
    for (const RescaledPart& part : *parts)
      if (!take_states(part.basis) || !take_states(part.own)) return false;
    combinations_[state] = rescaling_.assembled(*parts, true);
    return combinations_[state] >= 0;
  }

  /// Of the whole axis, by the states of its parts.
  TermId whole(TermId state) {
    if (const auto known = wholes_.find(state); known != wholes_.end()) return known->second;
    const auto combination = combinations_.find(state);
    if (combination == combinations_.end()) return no_term;
    const TermId a = parts_[0].of(combination->second), b = parts_[1].of(combination->second);
    const char* name = rescaling_.is_sum(state) ? "Add" : terms_.is(state, "ReduceMax") ? "Max" : "Min";
    const TermId made = call(terms_, name, {a, b});
    wholes_.emplace(state, made);
    return made;
  }

  /// Of a single element: what is reduced, worked out where that is always 0 or 1.
  TermId first(TermId id) {
    if (const auto known = firsts_.find(id); known != firsts_.end()) return known->second;
    const Term term = terms_[id];
    TermId made = single_.of(id);
    if (term.operation >= 0 && made != no_term && rescaling_.depends(id)) {
      std::vector<TermId> children;
      for (const TermId child : term.children) children.push_back(first(child));
      if (!rescaling_.is_reduction(id)) {
        std::vector<ir::Dims> parameters;
        for (const ir::Dims& list : term.parameters) parameters.push_back(single_.with_sizes(list));
        made = terms_.make(term.operation, parameters, children);
      } else {
        const ir::Dims dims = terms_[made].facts.dims;
        made = children.size() > 1 ? call(terms_, "Mul", children) : children[0];
        if (made != no_term && terms_[made].facts.dims != dims) made = terms_.expand(made, dims);
      }
      for (const double value : {0.0, 1.0}) {
        if (made == no_term) break;
        const TermId number = everywhere(value, terms_[made].facts.dims);
        if (made != number && trials_.same(made, number)) made = number;
      }
    }
    firsts_.emplace(id, made);
    return made;
  }

  TermId everywhere(double value, const ir::Dims& dims) {
    if (ir::product(dims) == ir::Dim(1)) return terms_.literal(ir::ElementType::f32, value, dims);
    return terms_.expand(terms_.literal(ir::ElementType::f32, value, {1}), dims);
  }

  bool agree(TermId a, TermId b) {
    return a != no_term && b != no_term && terms_[a].facts.type == terms_[b].facts.type &&
           terms_[a].facts.dims == terms_[b].facts.dims && trials_.same(a, b);
  }

  Terms& terms_;
  Trials& trials_;
  const std::string size_;
  Rescaling rescaling_;
  Copy parts_[2];
  Copy joined_, single_;
  std::vector<TermId> states_;
  std::map<TermId, TermId> factored_, combinations_, wholes_, firsts_;
};

/// Symbols of axes along which one reduction may read another.
std::set<std::string> axes_of(Terms& terms, TermId root) {
  std::set<std::string> names;
  for (const TermId id : reached_from(terms, {root})) {
    const ir::Dims dims = terms[id].facts.dims;
    for (const ir::Dim& dim : dims) {
      std::vector<std::string> symbols;
      dim.collect_symbols(symbols);
      if (symbols.size() == 1) names.insert(symbols[0]);
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    Rescaling rescaling(terms, name, true);
    const std::vector<TermId> reached = reached_from(terms, {root});
    return std::none_of(reached.begin(), reached.end(), [&](TermId id) {
      return rescaling.is_reduction(id) && rescaling.combines_dependent(id);
    });
  });
  return names;
}

}  // namespace

std::vector<SplitForm> split_forms(Terms& terms, TermId root) {
  std::vector<SplitForm> found;
  const TermId steps = in_steps(terms, root);
  if (steps == no_term) return found;
  for (const TermId id : reached_from(terms, {steps}))
    if (terms[id].facts.type != ir::ElementType::f32) return found;
  Trials trials(terms);
  for (const std::string& size : axes_of(terms, steps)) {
    for (const bool centred : {true, false}) {
      const auto form = Splitting(terms, trials, size, centred).run(root);
      const auto is_known = [&](const SplitForm& other) { return other.finished == form->finished; };
      if (form && std::none_of(found.begin(), found.end(), is_known)) found.push_back(*form);
    }
  }
  return found;
}

}  // namespace axrun::search::algebra
