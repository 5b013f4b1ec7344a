#include "search/algebra/rule_store.h"

#include <fmt/format.h>

#include "ir/error.h"
#include "ir/scanner.h"
#include "search/algebra/term_text.h"

namespace axrun::search::algebra {
namespace {

constexpr std::string_view first_line = "axrun rules 3\n";  ///< goes up with whatever is written here
constexpr size_t longest = size_t{16} << 20, most_rules = 20000, most_splits = 2000;

}  // namespace

bool RuleSet::add(std::shared_ptr<Rule> rule) {
  const std::string id = rule->id;
  const bool of_parts = rule->of_parts;
  const auto [known, added] = rules_.emplace(id, std::move(rule));
  if (added) return true;
  const bool more = known->second->of_parts && !of_parts;
  known->second->of_parts = known->second->of_parts && of_parts;
  return more;
}

std::shared_ptr<Rule> RuleSet::find(const std::string& id) const {
  const auto found = rules_.find(id);
  return found == rules_.end() ? nullptr : found->second;
}

bool RuleSet::add(const Split& split) { return splits_.emplace(split.id, split).second; }

SplitStanding RuleSet::standing(const Split& split) const {
  std::vector<std::shared_ptr<const Rule>> rules;
  for (const std::string& id : rules_of(split)) rules.push_back(find(id));
  return standing_of(rules);
}

namespace {

/// As a store says, whoever has asked.
SplitStanding said_of(const Split& split, const RuleSet& rules) {
  SplitStanding standing{true, true};
  for (const std::string& id : rules_of(split)) {
    const auto rule = rules.find(id);
    const auto proved = [&](const verify::Evidence& evidence) {
      return rule != nullptr && evidence.verdict == verify::Verdict::proved;
    };
    standing.proved = standing.proved && rule != nullptr && proved(rule->equality);
    standing.usable = standing.usable && standing.proved && proved(rule->safety);
  }
  return standing;
}

}  // namespace

std::string print(const Split& split, const RuleSet& rules) {
  std::string text = fmt::format("{}\n    {}, by parts of any sizes\n", split.id, split.of);
  const auto line = [&](const char* what, const std::string& id) {
    const auto rule = rules.find(id);
    text += fmt::format("    {} {}   [{}]\n", what, rule == nullptr ? "" : equation(*rule), id);
  };
  for (const Split::Component& component : split.state) {
    line("init   ", component.init);
    line("combine", component.combine);
  }
  if (!split.finish.empty()) line("finish ", split.finish);
  return text + fmt::format("    {}; found in {}\n", name_of(said_of(split, rules)),
                            split.origin.empty() ? "a model without a name" : split.origin);
}

std::string RuleSet::text() const {
  std::string body;
  for (const auto& [id, rule] : rules_) body += print(*rule);
  for (const auto& [id, split] : splits_) body += print(split);
  // Against damage, not against malice: whoever forges it gains nothing, as rules are proved again.
  return fmt::format("{}{}checksum \"{}\"\n", first_line, body, hash_of(body));
}

RuleSet RuleSet::parse(std::string_view text) {
  const auto fail = [](const char* why) { throw Error(Fault::user, why); };
  if (text.size() > longest) fail("the text is too long");
  if (!text.starts_with(first_line)) fail("not rules of this version");
  const size_t last = text.rfind("checksum \"");
  if (last == std::string_view::npos || last < first_line.size()) fail("the checksum is missing");
  const std::string_view body = text.substr(first_line.size(), last - first_line.size());
  if (text.substr(last) != fmt::format("checksum \"{}\"\n", hash_of(std::string(body))))
    fail("the checksum is wrong");
  RuleSet set;
  ir::text::Scanner in(body);
  while (!in.at_end()) {
    if (in.peek_word() == "split") {
      if (set.splits_.size() >= most_splits) fail("too many splits");
      const Split split = parse_split(in);
      for (const std::string& id : rules_of(split))
        if (set.find(id) == nullptr) fail("a split's rule is missing");
      if (!set.add(split)) fail("a split twice");
      continue;
    }
    if (set.size() >= most_rules) fail("too many rules");
    if (!set.add(std::make_shared<Rule>(parse_rule(in)))) fail("a rule twice");
  }
  return set;
}

RuleSet RuleSet::load(RuleStore& store) {
  const std::optional<std::string> text = store.load();
  if (!text) return {};
  try {
    return parse(*text);
  } catch (const Error& error) {
    store.reject(error.what());
    return {};
  }
}

void keep_rules(RuleStore& store, const RuleSet& rules) {
  RuleSet known = RuleSet::load(store);
  bool more = false;
  for (const auto& [id, rule] : rules.rules()) more = known.add(rule) || more;
  for (const auto& [id, split] : rules.splits()) more = known.add(split) || more;
  if (more) known.save(store);
}

void RuleSet::establish(const Prover& prover) {
  for (const auto& [id, rule] : rules_)
    if (!rule->established) algebra::establish(*rule, prover);
}

}  // namespace axrun::search::algebra
