// What the worker does of search/ besides lowering: one question, one answer, from bytes to bytes.

#include <algorithm>
#include <chrono>

#include "ir/error.h"
#include "ir/scanner.h"
#include "runtime/optimizer/algebra_question.h"
#include "runtime/optimizer/bilinear_question.h"
#include "runtime/optimizer/graph_outline.h"
#include "runtime/optimizer/known_rules.h"
#include "runtime/optimizer/layouts_question.h"
#include "runtime/optimizer/thread_time.h"
#include "runtime/optimizer/worker_server.h"
#include "runtime/warm/graph_image.h"
#include "search/algebra/graph_writer.h"
#include "verify/bilinear_identity.h"

namespace axrun::runtime {
namespace {

using namespace search::algebra;

/// Of saturation, in processor time: of one window, and of all.
constexpr double window_seconds = 0.5, saturation_seconds = 20;
constexpr int most_terms = 2500, saturation_rounds = 4;
constexpr size_t most_matches = 80;

/// Proves here, and tells the host before and after. What has been proved, or tried, is not begun anew.
class ToldProver {
 public:
  ToldProver(const WorkerRequest& request, const JudgeReports& reports, const RulesKnown& known)
      : stage_(*request.search),
        reports_(reports),
        proofs_(known.proofs),
        prover_(prover_here(request.proof_seconds, request.solver_milliseconds)) {}

  std::optional<IdentityEvidence> operator()(const Sides& sides, const std::vector<ir::loop::Size>& sizes) {
    const std::string key = key_of_identity(sides, sizes);
    if (const auto known = proofs_.find(key); known != proofs_.end()) return known->second;
    // A proof takes long: nobody shall wait for the end of several to stop the search.
    if (!reports_.may_go_on()) return std::nullopt;
    tell({RuleNote::Kind::proving, key});
    reports_.entering(WorkerStage::proving);
    IdentityEvidence evidence;
    try {
      evidence = *prover_(sides, sizes);
    } catch (const std::exception& error) {
      evidence.equality.text = error.what();
    }
    proofs_[key] = evidence;
    tell({RuleNote::Kind::proved, key, evidence});
    reports_.entering(stage_);
    return evidence;
  }

 private:
  void tell(const RuleNote& note) const { reports_.note(write_note(note)); }

  const WorkerStage stage_;
  const JudgeReports& reports_;
  std::map<std::string, IdentityEvidence> proofs_;
  const Prover prover_;
};

/// One text, in memory.
class TextStore final : public RuleStore {
 public:
  TextStore(std::string text, const JudgeReports& reports) : text_(std::move(text)), reports_(reports) {}
  std::optional<std::string> load() override { return text_.empty() ? std::nullopt : std::optional(text_); }
  void save(const std::string& text) override { text_ = saved = text; }
  void reject(const std::string& reason) override {
    text_.clear();
    reports_.note(write_note({RuleNote::Kind::damaged, reason}));
  }

  std::string saved;

 private:
  std::string text_;
  const JudgeReports& reports_;
};

RuleSet rule_set(const RulesKnown& known, const JudgeReports& reports) {
  TextStore store(known.stored, reports);
  RuleSet rules = RuleSet::load(store);
  for (const std::string& text : known.found) {
    ir::text::Scanner in(text);
    if (in.peek_word() == "split") {
      rules.add(parse_split(in));
    } else {
      rules.add(std::make_shared<Rule>(parse_rule(in)));
    }
  }
  return rules;
}

std::string look_for_rules(const WorkerRequest& request, const JudgeReports& reports) {
  const RulesQuestion question = read_rules_question(request.question);
  const GraphOutline outline(question.outline);
  ToldProver prover(request, reports, question.known);
  KnownRules rules(rule_set(question.known, reports), std::ref(prover),
                   [&](const ir::Tensor& constant) { return outline.content(constant); });
  rules.when_found(
      [&](const Rule& rule) {
        reports.note(write_note({RuleNote::Kind::rule, print(rule)}));
      },
      [&](const Split& split) {
        reports.note(write_note({RuleNote::Kind::split, print(split)}));
      });
  RulesAnswer answer;
  answer.complete = rules.discover(outline.facts(), question.model, reports.may_go_on);
  answer.rules = rules.all().text();
  return write(answer);
}

std::string merge_rules(const WorkerRequest& request, const JudgeReports& reports) {
  const MergeQuestion question = read_merge_question(request.question);
  TextStore store(question.stored, reports);
  keep_rules(store, rule_set(question.known, reports));
  return store.saved;
}

AlgebraReport::Window described(const RewrittenWindow& window, const ir::Graph& graph,
                                const KnownRules& rules) {
  AlgebraReport::Window report;
  for (const ir::ValueId id : window.values) report.values.push_back(graph.value(id).name);
  for (const auto& [id, forward] : window.uses) {
    const auto rule = rules.find(id);
    if (!rule) continue;
    report.rules.push_back(
        {id, equation(*rule), forward, std::string(verify::name_of(rule->equality.verdict)),
         std::string(verify::name_of((forward ? rule->safety : rule->safety_back).verdict)), rule->origin});
  }
  report.steps = window.text;
  report.before = window.before;
  report.after = window.after;
  return report;
}

std::string rewrite_windows(const WorkerRequest& request, const JudgeReports& reports) {
  const WindowsQuestion question = read_windows_question(request.question);
  const GraphOutline outline(question.outline);
  ToldProver prover(request, reports, question.known);
  const auto content = [&](const ir::Tensor& constant) { return outline.content(constant); };
  KnownRules rules(rule_set(question.known, reports), std::ref(prover), content);
  const auto usable = rules.usable_for(outline.facts(), reports.may_go_on);
  const double end = seconds_of_thread() + saturation_seconds;
  double window_end = end;
  GraphRewriteOptions options;
  options.content = content;
  options.cost = kernel_cost(question.movement);
  options.saturation.most_terms = most_terms;
  options.saturation.most_rounds = saturation_rounds;
  options.saturation.most_matches = most_matches;
  options.saturation.stop = [&] { return seconds_of_thread() > window_end; };
  options.apart = [&](ir::ValueId id) { return question.apart.count(id) != 0; };
  options.go_on = [&] {
    const double now = seconds_of_thread();
    window_end = std::min(now + window_seconds, end);
    return reports.may_go_on() && now < end;
  };
  options.weight = [&](const std::vector<ir::ValueId>& values) {
    std::set<uint32_t> steps;
    for (const ir::ValueId id : values)
      if (const auto step = question.step_of.find(id); step != question.step_of.end())
        steps.insert(step->second);
    double taken = 0;
    for (const uint32_t step : steps) taken += question.times[step];
    return std::max(taken, 1e-9);
  };
  options.least_weight = question.least_share;
  const GraphRewrite found = rewrite_graph(outline.facts(), usable, options);
  WindowsAnswer answer;
  answer.rules = static_cast<int>(usable.size());
  answer.looked_at = found.looked_at;
  if (found.graph == nullptr) return write(answer);
  for (const RewrittenWindow& window : found.windows) {
    answer.windows.push_back({window, described(window, outline.graph(), rules)});
    for (const auto& [id, forward] : window.uses) answer.rules_used.emplace(id, print(*rules.find(id)));
  }
  return write(answer);
}

/// Empty where it cannot be said as bytes.
std::string image(const ir::Graph& made, const GraphOutline& from) {
  const std::optional<GraphImage> said = image_of(made, from.graph());
  return said ? said->bytes_in_one() : "";
}

std::string write_graph(const WorkerRequest& request, const JudgeReports&) {
  const GraphQuestion question = read_graph_question(request.question);
  const GraphOutline outline(question.outline);
  const auto made = rewritten(outline.graph(), question.windows);
  return made ? image(*made, outline) : "";
}

std::string look_for_convolutions(const WorkerRequest& request, const JudgeReports&) {
  const GraphOutline outline(request.question);
  std::vector<FoundConvolution> found;
  for (BilinearSite& site : bilinear_sites(outline.facts())) {
    std::string kind = site.kind();
    found.push_back({std::move(site), std::move(kind)});
  }
  return write_convolutions(found);
}

std::string write_bilinear_graph(const WorkerRequest& request, const JudgeReports&) {
  const BilinearQuestion question = read_bilinear_question(request.question);
  const GraphOutline outline(question.outline);
  BilinearGraph made = with_bilinear(outline.graph(), question.choices);
  BilinearAnswer answer;
  answer.image = image(*made.graph, outline);
  answer.nodes = std::move(made.nodes);
  for (const BilinearChoice& choice : question.choices) {
    answer.rooms.push_back(bilinear_room(choice.outputs));
    answer.bytes.push_back(static_cast<double>(transformed_bytes(choice)));
  }
  return write(answer);
}

std::string prove_bilinear_algorithm(const WorkerRequest& request, const JudgeReports& reports) {
  const BilinearChoice choice = read_choice(request.question);
  BilinearProof proof;
  proof.growth = bilinear_growth(choice.outputs);
  proof.verdict = verify::prove_bilinear(bilinear_coefficients(choice.outputs)).verdict;
  const Prover prover = prover_here(request.proof_seconds, request.solver_milliseconds);
  for (const Sides& sides : bilinear_obligations(choice)) {
    if (proof.verdict != verify::Verdict::proved) break;
    if (!reports.may_go_on()) throw Error(Fault::user, "the host did not want it to go on");
    proof.verdict = prover(sides, {})->equality.verdict;
  }
  return write(proof);
}

}  // namespace

std::string answer_of_search(const WorkerRequest& request, const JudgeReports& reports) {
  switch (*request.search) {
    case WorkerStage::choosing_layouts:
      return write_layout_choice(search::layouts::choose_layouts(read_layout_problem(request.question)));
    case WorkerStage::looking_for_rules:
      return look_for_rules(request, reports);
    case WorkerStage::merging_rules:
      return merge_rules(request, reports);
    case WorkerStage::rewriting_windows:
      return rewrite_windows(request, reports);
    case WorkerStage::writing_graph:
      return write_graph(request, reports);
    case WorkerStage::looking_for_convolutions:
      return look_for_convolutions(request, reports);
    case WorkerStage::writing_bilinear_graph:
      return write_bilinear_graph(request, reports);
    case WorkerStage::proving_bilinear_algorithm:
      return prove_bilinear_algorithm(request, reports);
    default:
      throw Error(Fault::user, "it is no search");
  }
}

}  // namespace axrun::runtime
