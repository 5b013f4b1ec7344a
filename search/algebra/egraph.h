#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "search/algebra/rule.h"

namespace axrun::search::algebra {

using Substitution = std::map<TermId, TermId>;  ///< of a rule's variables
using SizeValues = std::map<std::string, ir::Dim>;

/// Why two terms are equal.
struct Link {
  TermId left = no_term, right = no_term;
  /// Null: both are the normal form of one operation, on children that are equal one by one.
  std::shared_ptr<const Rule> rule;
  size_t root = 0;  ///< left is the instance of rule->left[root], right that of rule->right[root]
  Substitution substitution;
  SizeValues sizes;
  int operation = -1;
  std::vector<ir::Dims> parameters;
  std::vector<TermId> left_children, right_children;
};

/// Links in an order in which each follows from those before it, and where they lead.
struct Explanation {
  TermId from = no_term, to = no_term;
  std::vector<Link> steps;
  /// Rules in the direction in which the way from `from` to `to` uses them.
  std::set<std::pair<std::string, bool>> uses;
  bool safe = true;  ///< all of these are usable in this direction
};

struct EGraphLimits {
  int most_terms = 20000;
};

/// Terms and which of them are equal. Classes are named by one of their terms; congruence is restored by
/// rebuild().
class EGraph {
 public:
  explicit EGraph(EGraphLimits limits = {}) : limits_(limits) {}

  Terms& terms() { return terms_; }
  const Terms& terms() const { return terms_; }
  /// As Terms::make; all terms that have been made so far belong to the graph afterwards.
  TermId make(int operation, const std::vector<ir::Dims>& parameters, const std::vector<TermId>& children);
  /// Takes in what was made by terms() itself.
  void take_in();

  TermId find(TermId id) const;
  bool equal(TermId a, TermId b) const { return find(a) == find(b); }
  const std::vector<TermId>& members(TermId id) const { return members_[static_cast<size_t>(find(id))]; }
  /// Some member is the same in every run.
  bool constant(TermId id) const { return constant_[static_cast<size_t>(find(id))]; }
  std::vector<TermId> classes() const;
  /// Terms of the operation, of all classes.
  std::vector<TermId> with_operation(int operation) const;

  /// Instances of the rule's sides are equal.
  bool merge(const Link& link);
  /// A sum or product of this one, by the same operation, and others is one of whatever is equal to it and
  /// these.
  void hold_together(TermId some, const std::vector<TermId>& others);
  /// Congruence closure, and normal forms of operations on other members of their children's classes.
  void rebuild();
  bool full() const { return terms_.size() >= limits_.most_terms; }

  /// Why they are equal; they must be.
  Explanation explain(TermId from, TermId to) const;

 private:
  struct Edge {
    TermId to = no_term;
    int link = -1;
  };
  void take_in_one(TermId id);
  std::string key_of(TermId id) const;
  void unite(Link link);
  void congruent(TermId a, TermId b);
  void renormalise(TermId id);
  void replace_groups();
  void replace(TermId whole, const std::vector<TermId>& children, TermId by);
  void path(TermId from, TermId to, std::set<int>& links, std::set<std::pair<int, bool>>& seen) const;

  EGraphLimits limits_;
  Terms terms_;
  std::vector<TermId> up_;  ///< union-find
  std::vector<std::vector<TermId>> members_, parents_;
  std::vector<bool> constant_;
  std::vector<Edge> edges_;  ///< a forest over terms: ways along links
  std::vector<Link> links_;
  std::map<std::string, TermId> memo_;
  std::map<int, std::vector<TermId>> by_operation_;
  std::vector<TermId> dirty_;
  std::set<std::pair<TermId, TermId>> renormalised_;
  /// Of a flat sum: terms that are a term of their own elsewhere (the first), and the others.
  struct Group {
    TermId whole = no_term;
    std::vector<TermId> children;
    std::set<TermId> done;  ///< what has taken the place of the first
  };
  std::vector<Group> groups_;
};

/// Instance of a rule's term; no_term where it is not defined.
TermId instantiate(const Rule& rule, TermId id, const Substitution& substitution, const SizeValues& sizes,
                   Terms& terms);

/// Checks an explanation link by link, believing nothing but the rules: what is wrong with it, or nothing.
std::optional<std::string> replay(const Explanation& explanation, Terms& terms);

/// The rules' names, and what each step makes of what.
std::string print(const Explanation& explanation, const Terms& terms);

}  // namespace axrun::search::algebra
