#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/optimizer_status.h"
#include "search/algebra/graph_rewrite.h"
#include "search/algebra/kernel_cost.h"
#include "search/algebra/rule.h"

namespace axrun::runtime {

// What is asked about identities, and what is answered, as bytes. All readers throw Error(user) for bytes
// that make no sense.

/// Names an identity: equal only where both sides and all sizes are.
std::string key_of_identity(const search::algebra::Sides& sides, const std::vector<ir::loop::Size>& sizes);

/// The rules of a session: the worker forgets them from question to question.
struct RulesKnown {
  std::string stored;              ///< RuleSet::text(); empty: there are none
  std::vector<std::string> found;  ///< besides: rules, then splits, each as search/algebra prints it
  /// What proofs have come to in this session, by key_of_identity: none is begun anew.
  std::map<std::string, search::algebra::IdentityEvidence> proofs;
};

/// What the worker tells while it works with rules, whatever comes then.
struct RuleNote {
  enum class Kind : uint8_t {
    proving,  ///< text: the key of an identity whose proof begins
    proved,   ///< the key, and what has come of it
    rule,     ///< a rule that was not known
    split,    ///< a split that was not known
    damaged   ///< the stored rules make no sense, and why
  };
  Kind kind = Kind::proving;
  std::string text;
  search::algebra::IdentityEvidence evidence = {};
};
std::string write_note(const RuleNote& note);
RuleNote read_note(std::string_view bytes);

/// Which rules does this model add?
struct RulesQuestion {
  std::string outline;  ///< write_outline, with contents
  std::string model;    ///< its name
  RulesKnown known;
};
struct RulesAnswer {
  bool complete = false;  ///< all has been looked at, or time is up
  std::string rules;      ///< all of them, as RulesKnown::stored
};

/// What is to be stored where `stored` is there already, and these are known? The answer is the text, empty
/// where nothing is new.
struct MergeQuestion {
  std::string stored;
  RulesKnown known;
};

/// Which windows of a graph are cheaper in another way?
struct WindowsQuestion {
  std::string outline;  ///< write_outline, with contents
  RulesKnown known;
  search::algebra::Movement movement = search::algebra::Movement::is_free;
  std::set<ir::ValueId> apart;              ///< GraphRewriteOptions
  std::map<ir::ValueId, uint32_t> step_of;  ///< of the plan: what makes the value
  std::vector<double> times;                ///< of every step, as a share of all
  double least_share = 0;                   ///< of windows that are alike
};
struct WindowsAnswer {
  struct Window {
    search::algebra::RewrittenWindow window;
    AlgebraReport::Window report;
  };
  int rules = 0;  ///< that could be used
  int looked_at = 0;
  std::vector<Window> windows;
  std::map<std::string, std::string> rules_used;  ///< texts, by id
};

/// What is the graph with these windows? The answer is an image of it (runtime/warm/graph_image.h), empty
/// where they do not fit.
struct GraphQuestion {
  std::string outline;
  std::vector<search::algebra::WindowRecipe> windows;
};

std::string write(const RulesQuestion& question);
std::string write(const RulesAnswer& answer);
std::string write(const MergeQuestion& question);
std::string write(const WindowsQuestion& question);
std::string write(const WindowsAnswer& answer);
std::string write(const GraphQuestion& question);
RulesQuestion read_rules_question(std::string_view bytes);
RulesAnswer read_rules_answer(std::string_view bytes);
MergeQuestion read_merge_question(std::string_view bytes);
WindowsQuestion read_windows_question(std::string_view bytes);
WindowsAnswer read_windows_answer(std::string_view bytes);
GraphQuestion read_graph_question(std::string_view bytes);

}  // namespace axrun::runtime
