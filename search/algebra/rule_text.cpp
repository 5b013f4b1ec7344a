// Rules as text. What is read may come from anywhere.
#include <fmt/format.h>

#include <map>

#include "ir/error.h"
#include "ir/scanner.h"
#include "search/algebra/rule.h"
#include "search/algebra/term_text.h"

namespace axrun::search::algebra {
namespace {

constexpr int deepest = 12;
constexpr size_t most_variables = 16, most_roots = 4, most_rule_children = 16, most_rule_terms = 256;

class TermReader {
 public:
  TermReader(ir::text::Scanner& in, Rule& rule, const std::map<std::string, TermId>& variables)
      : in_(in), rule_(rule), variables_(variables) {}

  TermId read(int depth = 0) {
    if (depth > deepest || ++count_ > most_rule_terms) in_.fail("the term is too large");
    if (in_.accept("?")) {
      const auto found = variables_.find(in_.name().text);
      if (found == variables_.end()) in_.fail("no such variable");
      return found->second;
    }
    if (in_.peek() == '=') return parse_literal(in_, rule_.terms);
    const auto [operation, parameters] = parse_operation_with_parameters(in_);
    std::vector<TermId> children;
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!children.empty()) in_.expect(",");
      if (children.size() >= most_rule_children) in_.fail("too many arguments");
      children.push_back(read(depth + 1));
    }
    const TermId made = rule_.terms.make(rule_.terms.operation(operation), parameters, children);
    if (made == no_term) in_.fail("the operation is not defined there: " + operation.name);
    return made;
  }

 private:
  ir::text::Scanner& in_;
  Rule& rule_;
  const std::map<std::string, TermId>& variables_;
  size_t count_ = 0;
};

verify::Evidence parse_evidence(ir::text::Scanner& in) {
  verify::Evidence evidence;
  const std::string word = in.name().text;
  if (word == "proved") {
    evidence.verdict = verify::Verdict::proved;
  } else if (word == "refuted") {
    evidence.verdict = verify::Verdict::refuted;
  } else if (word != "unknown") {
    in.fail("no verdict");
  }
  evidence.text = in.name().text;
  return evidence;
}

void require_same_facts(ir::text::Scanner& in, const Rule& rule) {
  if (rule.left.empty() || rule.left.size() != rule.right.size()) in.fail("the sides differ in number");
  for (size_t k = 0; k < rule.left.size(); ++k) {
    const Facts &left = rule.terms[rule.left[k]].facts, &right = rule.terms[rule.right[k]].facts;
    if (left.type != right.type || left.dims != right.dims) in.fail("the sides differ in type or dims");
  }
}

}  // namespace

std::string print(const Rule& rule) {
  std::string text = fmt::format("rule \"{}\"\n{}", rule.id, statement(rule));
  text += fmt::format("  equal {} {}\n", verify::name_of(rule.equality.verdict), quoted(rule.equality.text));
  text += fmt::format("  safe {} {}\n", verify::name_of(rule.safety.verdict), quoted(rule.safety.text));
  text +=
      fmt::format("  back {} {}\n", verify::name_of(rule.safety_back.verdict), quoted(rule.safety_back.text));
  if (rule.of_parts) text += "  parts\n";
  return text + fmt::format("  found {}\nend\n", quoted(rule.origin));
}

Rule parse_rule(ir::text::Scanner& in) {
  Rule read;
  std::map<std::string, TermId> variables;
  in.expect_word("rule");
  const std::string id = in.name().text;
  while (in.accept_word("var")) {
    const std::string name = in.name().text;
    Facts facts;
    facts.type = parse_type(in);
    facts.dims = parse_dims(in);
    if (variables.size() >= most_variables) in.fail("too many variables");
    if (!variables.emplace(name, read.terms.leaf(name, facts)).second) in.fail("a variable twice");
  }
  for (auto [word, list] : {std::pair("left", &read.left), std::pair("right", &read.right)}) {
    while (in.accept_word(word)) {
      if (list->size() >= most_roots) in.fail("too many roots");
      list->push_back(TermReader(in, read, variables).read());
    }
  }
  require_same_facts(in, read);
  Rule rule = canonical(read.terms, read.left, read.right);
  require_same_facts(in, rule);
  if (rule.id != id) in.fail("the id is not that of the rule");
  in.expect_word("equal");
  rule.equality = parse_evidence(in);
  in.expect_word("safe");
  rule.safety = parse_evidence(in);
  in.expect_word("back");
  rule.safety_back = parse_evidence(in);
  rule.of_parts = in.accept_word("parts");
  in.expect_word("found");
  rule.origin = in.name().text;
  in.expect_word("end");
  return rule;
}

}  // namespace axrun::search::algebra
