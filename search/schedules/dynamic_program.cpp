#include "search/schedules/dynamic_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace axrun::search::schedules {
namespace {

struct Candidate {
  Decision decision;
  Expansion expansion;
  double least = 0;  ///< no schedule that begins so takes less
};

/// By how much bounds are above the least.
constexpr double first = 0.03, growth = 2, last = 100;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

/// The best ones below a bound, at most so many.
class DynamicProgram::Best {
 public:
  Best(double bound, size_t most) : bound_(bound), most_(most) {}

  /// What takes as long is of no use.
  double bound() const { return choices_.size() < most_ ? bound_ : choices_.back().cost; }
  void add(const Choice& choice) {
    if (choice.cost >= bound()) return;
    const auto after = [](double cost, const Choice& other) { return cost < other.cost; };
    choices_.insert(std::upper_bound(choices_.begin(), choices_.end(), choice.cost, after), choice);
    if (choices_.size() > most_) choices_.pop_back();
  }
  Solution solution() && {
    const bool full = choices_.size() >= most_;
    return {std::move(choices_), full ? infinity : bound_};
  }

 private:
  double bound_;
  size_t most_;
  std::vector<Choice> choices_;
};

double Found::gap() const { return schedules.empty() ? infinity : schedules[0].cost / least - 1; }

Found DynamicProgram::solve(const Specification& specification, const Budget& budget) {
  budget_ = budget;
  found_ = {};
  if (!cost_.fits_registers(specification.tile_rows, specification.tile_columns)) return found_;
  const double least = cost_.lower_bound(specification);
  found_.least = least;
  for (double above = first; above < last; above *= growth) {
    const Solution& solution = solved(specification, least * (1 + above));
    if (!found_.complete) break;
    found_.least = solution.best.empty() ? least * (1 + above) : solution.best[0].cost;
    if (solution.below == infinity) break;
  }
  // Reading schedules may search under limits that only the parts of a known solution have.
  constexpr int64_t states_of_reading = 100'000;
  budget_.states = found_.states + states_of_reading;
  for (size_t rank = 0; const Choice* choice = table_.ranked(specification, rank); ++rank) {
    Schedule schedule{choice->cost, {}};
    if (follow(specification, rank, schedule)) found_.schedules.push_back(std::move(schedule));
  }
  return std::move(found_);
}

const Solution& DynamicProgram::solved(const Specification& specification, double bound) {
  if (const Solution* known = table_.find(specification, bound)) return *known;
  // A bound that is a little higher spares another search for the next one.
  const double least = cost_.lower_bound(specification);
  if (bound <= least) return none_;
  double above = first;
  while (least * (1 + above) < bound) above *= growth;
  return table_.keep(specification, search(specification, least * (1 + above)));
}

Solution DynamicProgram::search(const Specification& specification, double bound) {
  if (found_.states >= budget_.states) {
    found_.complete = false;
    return {};
  }
  Best best(bound, kept_);
  ++found_.states;
  std::vector<Candidate> candidates;
  for (const Decision& decision : decisions(cost_, specification)) {
    Candidate candidate{decision, *expand(cost_, specification, decision), 0};
    candidate.least = candidate.expansion.own;
    for (const Part& part : candidate.expansion.parts)
      candidate.least += part.weight * cost_.lower_bound(part.whole);
    if (candidate.least < bound)
      candidates.push_back(std::move(candidate));
    else
      ++found_.pruned;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.least < b.least; });
  for (const Candidate& candidate : candidates) {
    if (candidate.least >= best.bound()) {
      ++found_.pruned;
      continue;
    }
    ++found_.expansions;
    add_schedules(specification, candidate.decision, candidate.expansion, best);
  }
  Solution solution = std::move(best).solution();
  if (!found_.complete) solution.below = 0;
  return solution;
}

void DynamicProgram::add_schedules(const Specification& specification, const Decision& decision,
                                   const Expansion& expansion, Best& best) {
  const std::vector<Part>& parts = expansion.parts;
  if (parts.empty()) return best.add({expansion.own, decision, 0, {}});
  // Schedules of the whole pieces in turn, each with the best one of what is left over.
  const Part& whole = parts[0];
  double besides = expansion.own;
  Limits used_besides;
  if (parts.size() > 1) {
    const Part& rest = parts[1];
    const double least = whole.weight * cost_.lower_bound(whole.whole);
    const Solution& solution = solved(rest.whole, (best.bound() - besides - least) / rest.weight);
    if (solution.best.empty()) return;
    besides += rest.weight * solution.best[0].cost;
    used_besides = solution.best[0].used;
  }
  const Solution& solution = solved(whole.whole, (best.bound() - besides) / whole.weight);
  for (size_t rank = 0; rank < solution.best.size(); ++rank) {
    const Choice& choice = solution.best[rank];
    Limits limits = choice.used;
    for (size_t k = 0; k < limits.size(); ++k) limits[k] = std::max(limits[k], used_besides[k]);
    best.add({besides + whole.weight * choice.cost, decision, static_cast<uint8_t>(rank),
              used(cost_, specification, decision, limits)});
  }
}

bool DynamicProgram::follow(Specification specification, size_t rank, Schedule& schedule) {
  double cost = schedule.cost;
  while (true) {
    constexpr double rounding = 1e-6;
    const Choice* known = table_.ranked(specification, rank);
    if (known == nullptr || known->cost > cost * (1 + rounding)) {
      solved(specification, cost * (1 + rounding));
      known = table_.ranked(specification, rank);
    }
    if (known == nullptr) return false;
    const Choice choice = *known;
    schedule.decisions.push_back(choice.decision);
    const auto expansion = expand(cost_, specification, choice.decision);
    if (!expansion) return false;
    if (expansion->parts.empty()) return true;
    specification = expansion->parts[0].whole;
    rank = choice.rank;
    cost = choice.cost / expansion->parts[0].weight;  // at most
  }
}

std::string to_text(const Schedule& schedule) {
  std::string text;
  for (const Decision& decision : schedule.decisions) text += (text.empty() ? "" : "; ") + to_text(decision);
  return fmt::format("{:.0f} ns: {}", schedule.cost, text);
}

}  // namespace axrun::search::schedules
