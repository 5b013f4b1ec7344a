#include "runtime/cli/rules_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "ir/error_place.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/proving_helper.h"
#include "runtime/cli/run_model.h"
#include "runtime/optimizer/known_rules.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/session.h"
#include "runtime/version.h"
#include "runtime/warm/kept_rules.h"
#include "runtime/warm/warm_start.h"
#include "search/algebra/independence.h"

namespace axrun::cli {
namespace {

using Json = nlohmann::ordered_json;
using search::algebra::Rule;
using search::algebra::RuleSet;
using search::algebra::Split;
using verify::Evidence;
using verify::Verdict;

std::string standing_of(const Rule& rule) {
  if (rule.equality.verdict != Verdict::proved) return std::string(verify::name_of(rule.equality.verdict));
  if (rule.safety.verdict == Verdict::proved && rule.safety_back.verdict == Verdict::proved) return "proved";
  if (rule.safety.verdict == Verdict::proved) return "proved, safe from left to right";
  if (rule.safety_back.verdict == Verdict::proved) return "proved, safe from right to left";
  return "proved, not safe";
}

Json json_of(const Evidence& evidence) {
  return {{"verdict", verify::name_of(evidence.verdict)}, {"text", evidence.text}};
}

Json json_of(const Rule& rule) {
  return {{"name", rule.id},
          {"equation", search::algebra::equation(rule)},
          {"standing", standing_of(rule)},
          {"equality", json_of(rule.equality)},
          {"safety", json_of(rule.safety)},
          {"safety_back", json_of(rule.safety_back)},
          {"origin", rule.origin}};
}

/// A reduction by parts, with the equations of its rules.
Json json_of(const Split& split, const RuleSet& rules) {
  const auto rule = [&](const std::string& id) {
    return Json{{"name", id}, {"equation", search::algebra::equation(*rules.find(id))}};
  };
  Json state = Json::array();
  for (const Split::Component& component : split.state)
    state.push_back({{"init", rule(component.init)}, {"combine", rule(component.combine)}});
  Json json = {{"name", split.id}, {"of", split.of}, {"state", std::move(state)}};
  if (!split.finish.empty()) json["finish"] = rule(split.finish);
  json["origin"] = split.origin;
  return json;
}

void print(const Options& options, Json json, const std::string& text) {
  Json whole = {{"schema_version", 1}, {"version", runtime::version()}};
  whole.update(json);
  std::fputs((options.json ? line_of(whole) : text).c_str(), stdout);
}

int list_rules(const Options& options, const RuleSet& rules, Json searched, std::string text) {
  Json list = Json::array();
  size_t usable = 0;
  for (const auto& [id, rule] : rules.rules()) {
    list.push_back(json_of(*rule));
    usable += standing_of(*rule).starts_with("proved") && standing_of(*rule) != "proved, not safe" ? 1 : 0;
    text += fmt::format("{}\n    {}\n    {}; found in {}\n", id, search::algebra::equation(*rule),
                        standing_of(*rule), rule->origin.empty() ? "a model without a name" : rule->origin);
  }
  text += fmt::format("{} rules, {} of them proved and safe: each is proved again before it is used\n",
                      rules.size(), usable);
  Json splits = Json::array();
  for (const auto& [id, split] : rules.splits()) {
    splits.push_back(json_of(split, rules));
    text += search::algebra::print(split, rules);
  }
  text += fmt::format("{} reductions by parts, as proved as their rules are\n", rules.splits().size());
  Json json = {
      {"count", rules.size()}, {"usable", usable}, {"rules", std::move(list)}, {"splits", std::move(splits)}};
  if (!searched.empty()) json["searched"] = std::move(searched);
  print(options, std::move(json), text);
  return exit_ok;
}

void prove_again(Rule& rule, ProvingHelper& helper) {
  rule.established = false;
  search::algebra::establish(rule, helper.prover());
  if (!rule.established) throw Error(Fault::internal, "the helper process that proves gives no answer");
}

/// The worse of two: a proof that is refuted, one that came to nothing, none.
int exit_of(const std::vector<const Rule*>& rules) {
  const auto any = [&](Verdict verdict) {
    return std::any_of(rules.begin(), rules.end(),
                       [&](const Rule* rule) { return rule->equality.verdict == verdict; });
  };
  if (any(Verdict::refuted)) return exit_refuted;
  const bool all = std::all_of(rules.begin(), rules.end(),
                               [](const Rule* rule) { return rule->equality.verdict == Verdict::proved; });
  return all ? exit_ok : exit_unknown;
}

/// What a rule says, for which sizes, and what is known of it.
std::string proof_of(const Rule& rule) {
  std::string text =
      fmt::format("{}\n{}\n{}", rule.id, search::algebra::equation(rule), search::algebra::statement(rule));
  for (const ir::loop::Size& size : rule.sizes)
    text += fmt::format("  for all {} from {} to {}\n", size.name, size.low, size.high);
  const auto line = [](const char* what, const Evidence& evidence) {
    return fmt::format("{}: {}{}{} ({:.3f} s)\n", what, verify::name_of(evidence.verdict),
                       evidence.text.empty() ? "" : ", ", evidence.text, evidence.seconds);
  };
  text += line("equal", rule.equality);
  if (rule.equality.verdict == Verdict::proved) {
    text += line("safe from left to right", rule.safety);
    text += line("safe from right to left", rule.safety_back);
  }
  return text;
}

Json proof_json(const Rule& rule) {
  Json json = json_of(rule);
  json["statement"] = search::algebra::statement(rule);
  return json;
}

/// Of a reduction by parts, all rules: believes nothing that is stored.
int prove_split(const Options& options, const RuleSet& rules, const Split& split) {
  ProvingHelper helper;
  std::vector<const Rule*> proved;
  Json proofs = Json::array();
  std::string text;
  for (const std::string& id : search::algebra::rules_of(split)) {
    Rule& rule = *rules.find(id);
    if (std::find(proved.begin(), proved.end(), &rule) != proved.end()) continue;
    prove_again(rule, helper);
    proved.push_back(&rule);
    proofs.push_back(proof_json(rule));
    text += proof_of(rule) + "\n";
  }
  Json json = json_of(split, rules);
  json["standing"] = name_of(rules.standing(split));
  json["proofs"] = std::move(proofs);
  print(options, {{"split", std::move(json)}}, text + search::algebra::print(split, rules));
  return exit_of(proved);
}

/// Believes nothing that is stored.
int prove_rule(const Options& options, const RuleSet& rules) {
  if (const auto split = rules.splits().find(options.rule); split != rules.splits().end())
    return prove_split(options, rules, split->second);
  const std::shared_ptr<Rule> rule = rules.find(options.rule);
  if (rule == nullptr) throw Error(Fault::user, fmt::format("the cache has no rule '{}'", options.rule));
  ProvingHelper helper;
  prove_again(*rule, helper);
  print(options, {{"rule", proof_json(*rule)}}, proof_of(*rule) + fmt::format("found in {}\n", rule->origin));
  return exit_of({rule.get()});
}

void prove_all_again(RuleSet& rules, ProvingHelper& helper) {
  rules.establish(helper.prover());
  for (const auto& [id, rule] : rules.rules())
    if (!rule->established) throw Error(Fault::internal, "the helper process that proves gives no answer");
}

/// Looks for identities in the graph of a model's plan, as its sessions do.
Json discover(const std::string& path, runtime::KnownRules& rules, std::string& text) {
  runtime::SessionOptions how;
  how.tier = runtime::Tier::fallback;
  how.threads = 1;
  const auto session = runtime::Session::load(path, how);
  std::vector<ir::Shape> shapes;
  for (const runtime::RuntimeValue& value : runtime::make_inputs(*session, how, 0, 0, nullptr))
    shapes.push_back(value.tensor.defined() ? value.tensor.shape() : ir::Shape());
  session->prepare(shapes);
  const auto plan = session->current_plan(shapes);
  if (plan == nullptr) throw Error(Fault::internal, "there is no plan of " + path);
  const int before = rules.found();
  const bool complete = rules.discover(runtime::facts_of(*plan), path, nullptr);
  if (!complete) throw Error(Fault::internal, "the helper process that proves gives no answer");
  const int found = rules.found() - before;
  text += fmt::format("{}: {} new rules\n", path, found);
  return {{"model", path}, {"found", found}};
}

/// In each of the models. One that cannot be used does not keep others from it: the first such is what is
/// said at last.
Json discover(const std::vector<std::string>& paths, runtime::KnownRules& rules, std::string& text) {
  Json searched = Json::array();
  std::exception_ptr refused;
  std::string said;
  for (const std::string& path : paths) {
    try {
      searched.push_back(discover(path, rules, text));
    } catch (const Error& error) {
      if (error.fault() == Fault::internal) throw;
      if (refused != nullptr) continue;
      refused = std::current_exception();
      said = text_with_file(error, path);
    }
  }
  if (refused == nullptr) return searched;
  try {
    std::rethrow_exception(refused);
  } catch (const Error& error) {
    if (paths.size() > 1)
      said += fmt::format(" ({} of {} models could not be looked at)", paths.size() - searched.size(),
                          paths.size());
    throw_as(error, said);
  }
}

/// Those of the names; all without any.
RuleSet only(const RuleSet& rules, const std::vector<std::string>& names) {
  if (names.empty()) return rules;
  RuleSet chosen;
  for (const std::string& name : names) {
    const std::shared_ptr<Rule> rule = rules.find(name);
    if (rule == nullptr) throw Error(Fault::user, fmt::format("the cache has no rule '{}'", name));
    chosen.add(rule);
  }
  return chosen;
}

int list_independent(const Options& options, const std::shared_ptr<cache::Store>& store) {
  ProvingHelper helper;
  RuleSet rules = only(RuleSet::load(*runtime::rules_in(store)), options.among);
  prove_all_again(rules, helper);
  const search::algebra::Independence found = search::algebra::independent_identities(rules);
  Json list = Json::array();
  std::string text;
  size_t placed = 0;
  for (const auto& one : found.identities) {
    const bool has_place = one.rule->origin.find(" at ") != std::string::npos;
    placed += has_place ? 1 : 0;
    list.push_back({{"identity", one.form},
                    {"rules", one.rules},
                    {"rule", one.rule->id},
                    {"equation", search::algebra::equation(*one.rule)},
                    {"place", one.rule->origin},
                    {"fires", has_place}});
    text += fmt::format("{}\n    {} of {} rules; {}{}\n", one.form, one.rule->id, one.rules,
                        has_place ? "fires in " : "found in ", one.rule->origin);
  }
  text +=
      fmt::format("{} usable rules are {} identities; {} of these follow from no others, {} with a place\n",
                  found.rules, found.forms, found.identities.size(), placed);
  print(options,
        {{"usable", found.rules},
         {"forms", found.forms},
         {"independent", found.identities.size()},
         {"with_place", placed},
         {"identities", std::move(list)}},
        text);
  return exit_ok;
}

int compare_stores(const Options& options, const std::shared_ptr<cache::Store>& store) {
  if (!std::filesystem::is_directory(options.compare_rules))
    throw Error(Fault::user, "there is no folder " + options.compare_rules);
  std::string why;
  const std::shared_ptr<cache::Store> other = runtime::open_store(options.compare_rules, why);
  if (other == nullptr) throw Error(Fault::user, "there is no cache: " + why);
  ProvingHelper helper;
  RuleSet first = RuleSet::load(*runtime::rules_in(store)), second = RuleSet::load(*runtime::rules_in(other));
  prove_all_again(first, helper);
  prove_all_again(second, helper);
  const search::algebra::SetComparison found = search::algebra::compared(first, second);
  std::string text;
  for (const std::string& id : found.differing)
    text += fmt::format("{}: not the same evidence\n    {}; {}\n", id, standing_of(*first.find(id)),
                        standing_of(*second.find(id)));
  text += fmt::format("{} and {} rules, {} in both, {} of these with other evidence; {} are proved and new\n",
                      found.first, found.second, found.both, found.differing.size(),
                      found.only_second_proved.size());
  print(options,
        {{"first", found.first},
         {"second", found.second},
         {"both", found.both},
         {"differing", found.differing},
         {"new", found.only_second_proved.size()}},
        text);
  return found.differing.empty() ? exit_ok : exit_mismatch;
}

}  // namespace

int rules_command(const Options& options) {
  std::string why, text;
  const std::shared_ptr<cache::Store> store = runtime::open_store(options.cache_dir, why);
  if (store == nullptr) throw Error(Fault::user, "there is no cache: " + why);
  Json searched = Json::array();
  if (!options.discover.empty()) {
    if (!store->writable()) throw Error(Fault::user, "the cache cannot be written to");
    ProvingHelper helper;
    runtime::KnownRules rules(runtime::rules_in(store), helper.prover());
    searched = discover(options.discover, rules, text);
  }
  if (options.independent) return list_independent(options, store);
  if (!options.compare_rules.empty()) return compare_stores(options, store);
  const RuleSet rules = RuleSet::load(*runtime::rules_in(store));
  if (!options.rule.empty()) return prove_rule(options, rules);
  return list_rules(options, rules, std::move(searched), std::move(text));
}

}  // namespace axrun::cli
