#pragma once

#include <functional>
#include <set>
#include <string>

#include "search/algebra/rule_store.h"
#include "search/algebra/site.h"

namespace axrun::search::algebra {

struct DiscoveryOptions {
  Prover prover;
  size_t most_proposals = 3000;  ///< per site
  size_t most_identities = 6;    ///< of a site that are put to the prover, those of few operations first
  double seconds = 1e9;          ///< after that no further site is begun
  std::function<bool()> go_on;   ///< asked before every site; none: always
  std::function<void(const Rule&)> found;   ///< told of every rule that is new, whatever its evidence
  std::function<void(const Split&)> split;  ///< told of every reduction by parts that is new
};

struct DiscoveryCounts {
  int sites = 0, different = 0;  ///< pairs of operations in models; those that were examined
  int64_t proposals = 0, survived = 0;
  int rules = 0, proved = 0, safe = 0, refuted = 0, unknown = 0;  ///< new ones
  int splits = 0;  ///< reductions by parts that are proved and safe, new ones
  double seconds = 0, proving = 0, splitting = 0;
  bool complete = true;  ///< every site has been looked at
  DiscoveryCounts& operator+=(const DiscoveryCounts& other);
};

/// Identities of tensor expressions, found in models without being told any: producers are propagated past
/// their consumers, what agrees on small random inputs is put to the prover, what is proved becomes a rule.
/// Rules that cannot be proved are kept as such. Reductions that read others over the same axis become folds
/// over parts of that axis (split_form.h), where every rule of that is proved.
class Discovery {
 public:
  Discovery(RuleSet& rules, DiscoveryOptions options) : rules_(rules), options_(std::move(options)) {}

  /// All pairs of operations that these terms have, have when affine ones are taken apart, or have where
  /// rules of that are applied to three operations in a row that only move elements, to sums of products, or
  /// to selections.
  /// Sites that were examined before cost nothing. name: of the value that a term of the model is, for
  /// people.
  DiscoveryCounts examine(const Terms& model, const std::string& origin,
                          const std::function<std::string(TermId)>& name = {});
  /// One site. Whether it had a rule.
  bool examine(const Site& site, const std::string& origin, DiscoveryCounts& counts);

 private:
  using Place = std::function<std::string(TermId)>;
  /// What is random, opaque or recurrent has no identities that are looked for.
  static bool is_sought(const Terms& terms, TermId id);
  void examine_pairs(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                     DiscoveryCounts& counts);
  // Of pairs that rules make of chains (chain_discovery.cpp).
  void examine_chains(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                      DiscoveryCounts& counts);
  // Of terms that rules give one factor (sum_discovery.cpp).
  void examine_sums(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                    DiscoveryCounts& counts);
  // Of selections that rules take past operations (selection_discovery.cpp).
  void examine_selections(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                          DiscoveryCounts& counts);
  /// An operation, the last of these, with some of those that it reads.
  void examine_around(const std::vector<TermId>& inner, const Terms& model, const std::string& origin,
                      DiscoveryCounts& counts);
  bool merge_siblings(const Terms& model, const Place& place, DiscoveryCounts& counts);
  bool propose(const Site& site, const Site& where, const std::string& origin, DiscoveryCounts& counts);
  /// The rule, where it is proved; else null.
  std::shared_ptr<const Rule> keep(const Terms& terms, const std::vector<TermId>& left,
                                   const std::vector<TermId>& right, const Site& where,
                                   const std::string& origin, DiscoveryCounts& counts, bool of_parts = false);
  // Of reductions by parts (split_discovery.cpp).
  void split_reductions(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                        DiscoveryCounts& counts);
  bool examine_split(const Terms& model, std::vector<TermId> inner, const std::string& origin,
                     DiscoveryCounts& counts);
  bool keep_split(const Site& general, const Site& where, const std::string& origin, DiscoveryCounts& counts);
  std::string keep_part(const Terms& terms, TermId left, TermId right, const Site& where,
                        const std::string& origin, DiscoveryCounts& counts);

  RuleSet& rules_;
  DiscoveryOptions options_;
  std::set<std::string> seen_;
};

}  // namespace axrun::search::algebra
