// Identities found in models: algebra_report [--store FILE] [--seconds S] [--verbose] [--independent]
// [--improve] MODEL... Rules are read from the store (and proved again), searched for in every model, and
// written back. --independent counts those that do not follow from the others; --improve chooses, by guess,
// how the models are computed with them, and counts the identities that any model's choice rests on. S: of
// processor time, for each model.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "ir/simplify.h"
#include "onnx_import/import.h"
#include "search/algebra/discovery.h"
#include "search/algebra/graph_rewrite.h"
#include "search/algebra/independence.h"
#include "search/algebra/kernel_cost.h"
#include "search/algebra/model_terms.h"
#include "search/algebra/saturation.h"

namespace {

using namespace axrun;
using namespace axrun::search::algebra;
using Clock = std::chrono::steady_clock;

/// So that it does not matter what else the machine does.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class FileStore : public RuleStore {
 public:
  explicit FileStore(std::string path) : path_(std::move(path)) {}
  std::optional<std::string> load() override {
    std::ifstream file(path_, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void save(const std::string& text) override {
    // What could not be read is somebody's work still.
    if (!rejected_) std::ofstream(path_, std::ios::binary) << text;
  }
  void reject(const std::string& reason) override {
    rejected_ = true;
    std::printf("%s: %s\n", path_.c_str(), reason.c_str());
  }

 private:
  std::string path_;
  bool rejected_ = false;
};

struct Wishes {
  std::string store;
  double seconds = 60;
  bool verbose = false, independent = false, improve = false;
};

/// Open sizes of inputs become numbers: what is found is generalised again.
void close(ir::Graph& graph) {
  std::map<std::string, ir::Dim> sizes;
  for (const ir::ValueId id : graph.inputs) {
    ir::Value& value = graph.value(id);
    if (!value.dims) continue;
    for (size_t d = 0; d < value.dims->size(); ++d) {
      ir::Dim& dim = (*value.dims)[d];
      std::vector<std::string> names;
      dim.collect_symbols(names);
      const bool image = value.dims->size() == 4 && d >= 2;
      for (const std::string& name : names)
        sizes.emplace(name, ir::Dim(image ? 64 : d == 0 ? 1 : 7 + 4 * static_cast<int64_t>(sizes.size())));
      dim = dim.substitute(sizes);
    }
  }
}

std::optional<ModelTerms> load(const std::string& path, ir::Model& model,
                               std::optional<ir::Inference>& inference) {
  try {
    model = onnx_import::import_file(path);
    close(*model.graph);
    ir::simplify(*model.graph);
    inference.emplace(*model.graph, ir::Inference::Options{});
    inference->run();
    return ModelTerms(*inference);
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", path.c_str(), error.what());
    return std::nullopt;
  }
}

void print_counts(const char* name, const DiscoveryCounts& c) {
  std::printf(
      "%s: %d sites, %d different, %ld proposals, %ld agree; %d new rules: %d proved (%d safe), %d refuted, "
      "%d "
      "unknown; %d reductions by parts; %.2f s, %.2f of them in proofs, %.2f for reductions by parts\n",
      name, c.sites, c.different, static_cast<long>(c.proposals), static_cast<long>(c.survived), c.rules,
      c.proved, c.safe, c.refuted, c.unknown, c.splits, c.seconds, c.proving, c.splitting);
  std::fflush(stdout);
}

void count_independent(const RuleSet& rules) {
  const auto start = Clock::now();
  const Independence found = independent_identities(rules);
  std::printf(
      "%zu usable rules, %zu identities up to renaming, rank, type, attributes, numbers and orders; of these "
      "%zu "
      "do not follow from the others (%.0f s)\n",
      found.rules, found.forms, found.identities.size(), since(start));
  for (const IndependentIdentity& one : found.identities)
    std::printf("  %s   [%s]\n", one.form.c_str(), one.rule->origin.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  Wishes wishes;
  std::vector<std::string> paths;
  for (int k = 1; k < count; ++k) {
    const std::string word = arguments[k];
    if (word == "--store" && k + 1 < count) {
      wishes.store = arguments[++k];
    } else if (word == "--seconds" && k + 1 < count) {
      wishes.seconds = std::atof(arguments[++k]);
    } else if (word == "--verbose") {
      wishes.verbose = true;
    } else if (word == "--independent") {
      wishes.independent = true;
    } else if (word == "--improve") {
      wishes.improve = true;
    } else {
      paths.push_back(word);
    }
  }
  RuleSet rules;
  FileStore store(wishes.store);
  if (!wishes.store.empty()) {
    const auto start = Clock::now();
    rules = RuleSet::load(store);
    rules.establish(prover_here(2));
    std::printf("%zu rules of the store, proved again in %.2f s\n", rules.size(), since(start));
  }
  DiscoveryOptions options;
  options.prover = prover_here(2);
  options.seconds = wishes.seconds;
  options.found = [&](const Rule& rule) {
    if (!wishes.verbose) return;
    std::printf("  %s  %s  %s%s%s\n", std::string(verify::name_of(rule.equality.verdict)).c_str(),
                rule.usable() ? "safe" : "not safe", equation(rule).c_str(),
                rule.equality.verdict == verify::Verdict::proved ? "" : ": ",
                rule.equality.verdict == verify::Verdict::proved ? "" : rule.equality.text.c_str());
  };
  options.split = [&](const Split& split) {
    if (wishes.verbose) std::printf("%s", print(split, rules).c_str());
  };
  Discovery discovery(rules, options);
  DiscoveryCounts total;
  for (const std::string& path : paths) {
    ir::Model model;
    std::optional<ir::Inference> inference;
    const auto terms = load(path, model, inference);
    if (!terms) continue;
    const DiscoveryCounts counts =
        discovery.examine(terms->terms(), path, [&](TermId id) { return terms->value_name(id); });
    print_counts(path.c_str(), counts);
    total += counts;
  }
  print_counts("all", total);
  if (!wishes.store.empty()) rules.save(store);
  int proved = 0, safe = 0;
  for (const auto& [id, rule] : rules.rules()) {
    proved += rule->equality.verdict == verify::Verdict::proved ? 1 : 0;
    safe += rule->usable() ? 1 : 0;
  }
  std::printf("%zu rules, %d proved to be equal, %d of them safe\n", rules.size(), proved, safe);
  if (wishes.independent) count_independent(rules);
  if (!wishes.improve) return 0;
  std::vector<std::shared_ptr<const Rule>> usable;
  for (const auto& [id, rule] : rules.rules())
    if (!rule->of_parts && (rule->usable(true) || rule->usable(false))) usable.push_back(rule);
  // As sessions choose by guess, but for what takes no time; what is measured there is not measured here.
  std::set<std::string> fired;
  std::map<std::string, std::set<std::string>> forms;  ///< with the models that they change
  int changed = 0;
  for (const std::string& path : paths) {
    ir::Model model;
    std::optional<ir::Inference> inference;
    if (!load(path, model, inference)) continue;
    const double start = processor_seconds();
    GraphRewriteOptions how;
    how.saturation.most_terms = 2500;
    how.saturation.most_rounds = 4;
    how.saturation.most_matches = 80;
    std::set<std::string> here;
    int windows = 0, looked_at = 0;
    double before = 0, after = 0;
    for (const Movement movement : {Movement::is_free, Movement::costs}) {
      how.cost = kernel_cost(movement);
      double window_start = start;
      how.saturation.stop = [&] { return processor_seconds() - window_start > 1; };
      how.go_on = [&] {
        window_start = processor_seconds();
        return window_start - start < wishes.seconds;
      };
      const GraphRewrite found = rewrite_graph(*inference, usable, how);
      looked_at += found.looked_at;
      windows += static_cast<int>(found.windows.size());
      for (const RewrittenWindow& window : found.windows) {
        before += window.before;
        after += window.after;
        if (wishes.verbose) std::printf("%.0f -> %.0f\n%s", window.before, window.after, window.text.c_str());
        for (const auto& [id, forward] : window.uses) {
          here.insert(id);
          forms[form_of(*rules.find(id))].insert(path);
        }
      }
    }
    fired.insert(here.begin(), here.end());
    changed += here.empty() ? 0 : 1;
    std::printf("%s: %d windows other, of %d, by %zu rules, cost of these %.0f -> %.0f, %.2f s\n",
                path.c_str(), windows, looked_at, here.size(), before, after, processor_seconds() - start);
    std::fflush(stdout);
  }
  // Those that say something, and not what others of them say.
  RuleSet chosen;
  for (const std::string& id : fired) chosen.add(rules.find(id));
  const Independence independence = independent_identities(chosen);
  std::printf(
      "%d of %zu models changed by guess, by %zu rules, which are %zu identities; %zu of these follow from "
      "no "
      "others of them:\n",
      changed, paths.size(), fired.size(), independence.forms, independence.identities.size());
  for (const IndependentIdentity& one : independence.identities) {
    const std::set<std::string>& where = forms[one.form];
    std::printf("  %s   [%zu models: %s]\n", one.form.c_str(), where.size(),
                where.empty() ? "" : where.begin()->c_str());
  }
  return 0;
}
