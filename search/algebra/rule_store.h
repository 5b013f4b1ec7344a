#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "search/algebra/split.h"

namespace axrun::search::algebra {

/// Keeps rules between processes: one text. Any thread may call it; nothing is thrown.
class RuleStore {
 public:
  virtual ~RuleStore() = default;
  virtual std::optional<std::string> load() = 0;
  virtual void save(const std::string& text) = 0;
  /// What was loaded made no sense, and why.
  virtual void reject(const std::string& reason) = 0;
};

/// Rules by id, each once, and reductions by parts that are made of them.
class RuleSet {
 public:
  /// False where it is known already, as what it is.
  bool add(std::shared_ptr<Rule> rule);
  std::shared_ptr<Rule> find(const std::string& id) const;
  const std::map<std::string, std::shared_ptr<Rule>>& rules() const { return rules_; }
  size_t size() const { return rules_.size(); }

  /// False where it is known already. All of its rules must be there.
  bool add(const Split& split);
  const std::map<std::string, Split>& splits() const { return splits_; }
  SplitStanding standing(const Split& split) const;

  /// Version, rules, splits, checksum.
  std::string text() const;
  /// The inverse; a text with anything wrong in it gives no rule at all. Throws Error(user) with the reason.
  /// Nothing that was read is established.
  static RuleSet parse(std::string_view text);

  /// As parse, of what the store has; empty where it has nothing or nothing that makes sense.
  static RuleSet load(RuleStore& store);
  void save(RuleStore& store) const { store.save(text()); }

  /// Proves again whatever is not established.
  void establish(const Prover& prover);

 private:
  std::map<std::string, std::shared_ptr<Rule>> rules_;
  std::map<std::string, Split> splits_;
};

/// Adds to the store what it lacks; what others have stored meanwhile stays.
void keep_rules(RuleStore& store, const RuleSet& rules);

/// The split with the equations of its rules and what is known of them: for people.
std::string print(const Split& split, const RuleSet& rules);

}  // namespace axrun::search::algebra
