#include "search/algebra/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/scanner.h"
#include "search/algebra/term_text.h"

namespace axrun::search::algebra {
namespace {

constexpr size_t most_split_components = 8;

}  // namespace

std::vector<std::string> rules_of(const Split& split) {
  std::vector<std::string> rules;
  for (const Split::Component& component : split.state) {
    rules.push_back(component.init);
    rules.push_back(component.combine);
  }
  if (!split.finish.empty()) rules.push_back(split.finish);
  return rules;
}

std::string id_of(const Split& split) {
  std::string text;
  for (const std::string& rule : rules_of(split)) text += rule + ";";
  const std::string last = split.finish.empty() ? split.state.back().combine : split.finish;
  return fmt::format("split-{}-{}", last.substr(0, last.rfind('-')), hash_of(text));
}

std::string print(const Split& split) {
  std::string text = fmt::format("split \"{}\"\n  of {}\n", split.id, quoted(split.of));
  for (const Split::Component& component : split.state)
    text += fmt::format("  state \"{}\" \"{}\"\n", component.init, component.combine);
  if (!split.finish.empty()) text += fmt::format("  finish \"{}\"\n", split.finish);
  return text + fmt::format("  found {}\nend\n", quoted(split.origin));
}

Split parse_split(ir::text::Scanner& in) {
  Split split;
  in.expect_word("split");
  const std::string id = in.name().text;
  in.expect_word("of");
  split.of = in.name().text;
  while (in.accept_word("state")) {
    if (split.state.size() >= most_split_components) in.fail("too many components");
    const std::string init = in.name().text;
    split.state.push_back({init, in.name().text});
  }
  if (split.state.empty()) in.fail("a split without a state");
  if (in.accept_word("finish")) split.finish = in.name().text;
  in.expect_word("found");
  split.origin = in.name().text;
  in.expect_word("end");
  split.id = id_of(split);
  if (split.id != id) in.fail("the id is not that of the split");
  return split;
}

SplitStanding standing_of(const std::vector<std::shared_ptr<const Rule>>& rules) {
  SplitStanding standing{true, true};
  for (const auto& rule : rules) {
    standing.proved = standing.proved && rule != nullptr && rule->established &&
                      rule->equality.verdict == verify::Verdict::proved;
    standing.usable = standing.usable && rule != nullptr && rule->usable(true);
  }
  return standing;
}

std::string_view name_of(const SplitStanding& standing) {
  return standing.usable ? "proved" : standing.proved ? "proved, not safe" : "not proved";
}

}  // namespace axrun::search::algebra
