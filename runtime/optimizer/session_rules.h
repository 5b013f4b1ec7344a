#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/optimizer/algebra_question.h"
#include "search/algebra/rule_store.h"

namespace axrun::runtime {

/// What a session knows of identities, as texts for its helper, which has them read and proved: those of a
/// store, those that the model has added, and how proofs have ended. For one thread.
class SessionRules {
 public:
  /// store: null where nothing is kept.
  explicit SessionRules(std::unique_ptr<search::algebra::RuleStore> store);

  const RulesKnown& known() const { return known_; }
  /// Rules that the model has added.
  int found() const { return found_; }

  /// A search begins that has these rules.
  void begin() { proving_.clear(); }
  /// What the helper says meanwhile. Throws Error(user) for bytes that make no sense.
  void note(std::string_view bytes);
  /// The helper failed: true where it was proving, which is the identity's fault, and will not be done again.
  bool blame(const std::string& reason);
  /// How many identities were left out so, and why the last one; empty: none.
  std::string left_out() const;
  /// All rules are these.
  void replace(std::string rules);

  /// To be asked for what is to be stored; nothing where there is nothing new, or no store.
  std::optional<MergeQuestion> to_be_merged() const;
  void store(const std::string& merged);

 private:
  const std::unique_ptr<search::algebra::RuleStore> store_;
  RulesKnown known_;
  std::string proving_;  ///< key of what is proved at present
  int found_ = 0, stored_ = 0, blamed_ = 0;
  std::string blamed_for_;
};

}  // namespace axrun::runtime
