#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "search/algebra/egraph.h"

namespace axrun::search::algebra {

/// What an operation costs where its operands are what they are. What is constant costs nothing: it is
/// computed before the run.
using TermCost = std::function<double(const Terms& terms, TermId id)>;

/// Operations of the direct algorithm, and what is read and written. Open sizes count as `size`.
TermCost operation_cost(int64_t size = 64);

struct SaturationOptions {
  int most_rounds = 6;
  int most_terms = 20000;
  size_t most_matches = 400;    ///< of one rule in one round
  int most_joining_rounds = 2;  ///< in which rules with several roots are applied, from left to right
  bool both_directions = true;
  /// Whether a rule is used from that side; none: all are.
  std::function<bool(const Rule& rule, bool forward)> wanted;
  std::function<bool()> stop;  ///< asked now and then: ends it, as a bound does
};

/// Only rules that take selections past operations, one in every round.
SaturationOptions moving_selections(SaturationOptions options);

enum class StopReason : uint8_t { saturated, rounds, terms, stopped };
std::string_view name_of(StopReason reason);

struct Saturation {
  StopReason stopped = StopReason::saturated;
  int rounds = 0;
  std::map<std::string, int> applied;  ///< by rule: how often it made two classes one
  /// Terms that one match of a rule with several roots made: they pay together.
  std::vector<std::vector<TermId>> companions;
};

/// Applies every rule wherever it matches, until nothing changes or a bound is reached. Rules that are not
/// proved to be equal and safe in the direction at hand are not used. The same graph and rules give the same
/// result.
Saturation saturate(EGraph& graph, const std::vector<std::shared_ptr<const Rule>>& rules,
                    const SaturationOptions& options = {});

/// The terms that are cheapest together: one for each root, equal to it, over the same leaves.
struct Extraction {
  std::vector<TermId> roots;
  double cost = 0, before = 0;  ///< before: of the roots as they were
};
Extraction extract(EGraph& graph, const std::vector<TermId>& roots, const TermCost& cost,
                   const Saturation& saturation);

/// Several operations of a model, and what is used of them elsewhere.
struct Window {
  std::vector<TermId> inner, roots;
};
/// Overlapping windows over the operations that roots reach, of at most so many operations each.
std::vector<Window> windows_of(const Terms& terms, const std::vector<TermId>& roots,
                               int most_operations = 12);

/// Operations of one kind on one first operand, which rules with several roots may join; each is a root.
std::vector<Window> sibling_windows(const Terms& terms, const std::vector<TermId>& roots);

/// Sums with the operations between them and operands that several of their terms have in common.
std::vector<Window> sum_windows(const Terms& terms, const std::vector<TermId>& roots);

/// Selections that leave something out which nothing else reads, with the operations whose results matter to
/// them alone.
std::vector<Window> selection_windows(const Terms& terms, const std::vector<TermId>& roots);

/// A window's roots in a graph of their own: what is not in the window is a leaf. copies: what became of each
/// term.
std::vector<TermId> copy_window(const Terms& terms, const Window& window, EGraph& graph,
                                std::map<TermId, TermId>* copies = nullptr);

struct Improvement {
  double before = 0, after = 0;
  std::set<std::pair<std::string, bool>> uses;
  std::string text;  ///< the steps, by rule names
  StopReason stopped = StopReason::saturated;
  int terms = 0;
  std::shared_ptr<const EGraph> graph;  ///< what the following are terms of
  std::vector<TermId> from, to;         ///< of every root of the window
  std::map<TermId, TermId> copies;      ///< of terms that the window has, or reads
};
/// The best equal program of a window that a chain of safe rules leads to, with its explanation, which has
/// been replayed; nothing where none is cheaper.
std::optional<Improvement> improve(const Terms& terms, const Window& window,
                                   const std::vector<std::shared_ptr<const Rule>>& rules,
                                   const TermCost& cost, const SaturationOptions& options = {});

/// Whether the other rules prove this one: its sides, taken apart, become equal by saturation.
bool follows_from(const Rule& rule, const std::vector<std::shared_ptr<const Rule>>& others,
                  const SaturationOptions& options);

}  // namespace axrun::search::algebra
