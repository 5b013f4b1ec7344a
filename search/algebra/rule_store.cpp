#include "search/algebra/rule_store.h"

#include <fmt/format.h>

#include "ir/error.h"
#include "ir/scanner.h"

namespace axrun::search::algebra {
namespace {

constexpr std::string_view first_line = "axrun rules 1\n";  ///< goes up with whatever is written here
constexpr size_t longest = size_t{16} << 20, most_rules = 20000;

/// Against damage, not against malice: whoever forges it gains nothing, as rules are proved again.
std::string checksum(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:016x}", hash);
}

}  // namespace

bool RuleSet::add(std::shared_ptr<Rule> rule) {
  const std::string id = rule->id;
  return rules_.emplace(id, std::move(rule)).second;
}

std::shared_ptr<Rule> RuleSet::find(const std::string& id) const {
  const auto found = rules_.find(id);
  return found == rules_.end() ? nullptr : found->second;
}

std::string RuleSet::text() const {
  std::string body;
  for (const auto& [id, rule] : rules_) body += print(*rule);
  return fmt::format("{}{}checksum \"{}\"\n", first_line, body, checksum(body));
}

RuleSet RuleSet::parse(std::string_view text) {
  const auto fail = [](const char* why) { throw Error(Fault::user, why); };
  if (text.size() > longest) fail("the text is too long");
  if (!text.starts_with(first_line)) fail("not rules of this version");
  const size_t last = text.rfind("checksum \"");
  if (last == std::string_view::npos || last < first_line.size()) fail("the checksum is missing");
  const std::string_view body = text.substr(first_line.size(), last - first_line.size());
  if (text.substr(last) != fmt::format("checksum \"{}\"\n", checksum(body))) fail("the checksum is wrong");
  RuleSet set;
  ir::text::Scanner in(body);
  while (!in.at_end()) {
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

void RuleSet::establish(const Prover& prover) {
  for (const auto& [id, rule] : rules_)
    if (!rule->established) algebra::establish(*rule, prover);
}

}  // namespace axrun::search::algebra
