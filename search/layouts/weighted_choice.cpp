#include "search/layouts/weighted_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace axrun::search::layouts {
namespace {

/// Sums in another order differ by so much of themselves.
constexpr double rounding = 1e-9;

double at(const CostTable& table, const std::vector<int>& sizes, const std::vector<int>& chosen) {
  size_t index = 0;
  for (const int v : table.variables) {
    index = index * static_cast<size_t>(sizes[static_cast<size_t>(v)]) +
            static_cast<size_t>(chosen[static_cast<size_t>(v)]);
  }
  return table.costs[index];
}

/// An order in which every variable, when its turn comes, is connected with few others that are left.
std::vector<int> elimination_order(const WeightedChoice& problem) {
  const size_t count = problem.options.size();
  std::vector<std::set<int>> beside(count);
  for (const CostTable& table : problem.tables) {
    for (const int a : table.variables) {
      for (const int b : table.variables) {
        if (a != b) beside[static_cast<size_t>(a)].insert(b);
      }
    }
  }
  const auto weight = [&](int v) {
    double sum = 0;
    for (const int other : beside[static_cast<size_t>(v)])
      sum += std::log(problem.options[static_cast<size_t>(other)]);
    return sum;
  };
  std::set<std::pair<double, int>> open;
  std::vector<double> weights(count);
  for (size_t v = 0; v < count; ++v) {
    weights[v] = weight(static_cast<int>(v));
    open.emplace(weights[v], static_cast<int>(v));
  }
  std::vector<int> order;
  while (!open.empty()) {
    const int v = open.begin()->second;
    open.erase(open.begin());
    order.push_back(v);
    const std::set<int> around = std::move(beside[static_cast<size_t>(v)]);
    for (const int a : around) {
      std::set<int>& own = beside[static_cast<size_t>(a)];
      own.erase(v);
      own.insert(around.begin(), around.end());
      own.erase(a);
      open.erase({weights[static_cast<size_t>(a)], a});
      weights[static_cast<size_t>(a)] = weight(a);
      open.emplace(weights[static_cast<size_t>(a)], a);
    }
  }
  return order;
}

/// Tables by the variable among theirs that is eliminated first, and what elimination makes of them.
class Elimination {
 public:
  Elimination(const WeightedChoice& problem, size_t most_entries)
      : problem_(problem),
        most_entries_(most_entries),
        order_(elimination_order(problem)),
        position_(problem.options.size()),
        buckets_(problem.options.size()) {
    for (size_t k = 0; k < order_.size(); ++k) position_[static_cast<size_t>(order_[k])] = k;
    for (const CostTable& table : problem.tables) put(table, nowhere);
    for (size_t k = 0; k < order_.size(); ++k) eliminate(k);
  }

  /// No choice costs less.
  double bound() const { return constant_; }
  size_t count() const { return order_.size(); }
  int variable(size_t k) const { return order_[k]; }

  /// What the option chosen for variable k adds to a bound of all choices that agree with those of k and of
  /// the variables eliminated later.
  double step(size_t k, const std::vector<int>& chosen) const {
    double sum = 0;
    for (const CostTable& table : buckets_[k]) sum += at(table, problem_.options, chosen);
    if (sum == infinite) return infinite;
    for (const auto& [bucket, index] : made_[k]) sum -= at(buckets_[bucket][index], problem_.options, chosen);
    return sum - constants_made_[k];
  }

 private:
  static constexpr size_t nowhere = ~size_t{0};
  void put(const CostTable& table, size_t maker) {
    if (table.variables.empty()) {
      constant_ += table.costs[0];
      if (maker != nowhere) constants_made_[maker] += table.costs[0];
      return;
    }
    size_t first = nowhere;
    for (const int v : table.variables) first = std::min(first, position_[static_cast<size_t>(v)]);
    if (maker != nowhere) made_[maker].emplace_back(first, buckets_[first].size());
    buckets_[first].push_back(table);
  }

  size_t entries(const std::set<int>& variables) const {
    double size = 1;
    for (const int v : variables) size *= problem_.options[static_cast<size_t>(v)];
    return size > 1e15 ? size_t{1} << 50 : static_cast<size_t>(size);
  }

  void eliminate(size_t k) {
    const int variable = order_[k];
    // Tables that go together: the widest first, each where there is room for it.
    std::vector<size_t> tables(buckets_[k].size());
    std::iota(tables.begin(), tables.end(), size_t{0});
    std::stable_sort(tables.begin(), tables.end(), [&](size_t a, size_t b) {
      return buckets_[k][a].costs.size() > buckets_[k][b].costs.size();
    });
    struct Together {
      std::set<int> variables;
      std::vector<size_t> tables;
    };
    std::vector<Together> parts;
    for (const size_t t : tables) {
      const std::vector<int>& own = buckets_[k][t].variables;
      bool placed = false;
      for (Together& part : parts) {
        std::set<int> all = part.variables;
        all.insert(own.begin(), own.end());
        if (all.size() > part.variables.size() && entries(all) > most_entries_) continue;
        part.variables = std::move(all);
        part.tables.push_back(t);
        placed = true;
        break;
      }
      if (!placed) parts.push_back({{own.begin(), own.end()}, {t}});
    }
    std::vector<CostTable> made;
    for (Together& part : parts) {
      std::vector<const CostTable*> from;
      for (const size_t t : part.tables) from.push_back(&buckets_[k][t]);
      part.variables.erase(variable);
      made.push_back(least_over(variable, {part.variables.begin(), part.variables.end()}, from));
    }
    for (const CostTable& table : made) put(table, k);
  }

  /// Of the sum of these tables, for every combination of the others.
  CostTable least_over(int variable, const std::vector<int>& others,
                       const std::vector<const CostTable*>& from) const {
    CostTable made{others, {}};
    made.costs.resize(entries({others.begin(), others.end()}));
    // Per table: by how much its index grows with every variable's option.
    std::vector<std::vector<size_t>> strides(from.size(), std::vector<size_t>(others.size()));
    std::vector<size_t> own_stride(from.size(), 0), index(from.size(), 0);
    for (size_t t = 0; t < from.size(); ++t) {
      size_t stride = 1;
      for (size_t d = from[t]->variables.size(); d-- > 0;) {
        const int v = from[t]->variables[d];
        if (v == variable) own_stride[t] = stride;
        for (size_t o = 0; o < others.size(); ++o) strides[t][o] = others[o] == v ? stride : strides[t][o];
        stride *= static_cast<size_t>(problem_.options[static_cast<size_t>(v)]);
      }
    }
    std::vector<int> chosen(others.size(), 0);
    for (double& least : made.costs) {
      least = infinite;
      for (int option = 0; option < problem_.options[static_cast<size_t>(variable)]; ++option) {
        double sum = 0;
        for (size_t t = 0; t < from.size(); ++t)
          sum += from[t]->costs[index[t] + own_stride[t] * static_cast<size_t>(option)];
        least = std::min(least, sum);
      }
      for (size_t o = others.size(); o-- > 0;) {
        const int size = problem_.options[static_cast<size_t>(others[o])];
        const bool wraps = ++chosen[o] == size;
        if (wraps) chosen[o] = 0;
        for (size_t t = 0; t < from.size(); ++t) {
          if (wraps) {
            index[t] -= strides[t][o] * static_cast<size_t>(size - 1);
          } else {
            index[t] += strides[t][o];
          }
        }
        if (!wraps) break;
      }
    }
    return made;
  }

  const WeightedChoice& problem_;
  size_t most_entries_;
  std::vector<int> order_;
  std::vector<size_t> position_;  ///< of every variable in the order
  std::vector<std::vector<CostTable>> buckets_;
  /// Of what every elimination made: where it is, or what it comes to where no variable is left.
  std::vector<std::vector<std::pair<size_t, size_t>>> made_{position_.size()};
  std::vector<double> constants_made_ = std::vector<double>(position_.size(), 0);
  double constant_ = 0;
};

class Search {
 public:
  Search(const WeightedChoice& problem, const Elimination& bounds, int64_t visits, std::vector<int> start)
      : problem_(problem), bounds_(bounds), most_visits_(visits), chosen_(problem.options.size(), 0) {
    best_ = std::move(start);
    best_cost_ = cost_of(problem, best_);
  }

  ChosenOptions run() {
    const size_t count = bounds_.count();
    if (bounds_.bound() == infinite || count == 0) return {best_, best_cost_, bounds_.bound(), 0};
    frames_.resize(count);
    open(count - 1, bounds_.bound());
    for (size_t k = count - 1; k < count;) {
      Frame& frame = frames_[k];
      const double reached = frame.reached();
      if (reached >= best_cost_ - slack()) {
        ++k;  // later options are no better
        continue;
      }
      if (visits_ > most_visits_) {
        double bound = best_cost_;
        for (; k < count; ++k) bound = std::min(bound, frames_[k].reached());
        return {best_, best_cost_, bound, visits_};
      }
      chosen_[static_cast<size_t>(bounds_.variable(k))] = frame.options[frame.next++].second;
      if (k > 0) {
        open(--k, reached);
        continue;
      }
      const double cost = cost_of(problem_, chosen_);
      if (cost < best_cost_) {
        best_cost_ = cost;
        best_ = chosen_;
      }
    }
    return {best_, best_cost_, best_cost_, visits_};
  }

 private:
  /// Of one variable: its options by what they add to the bound, and which one is next.
  struct Frame {
    std::vector<std::pair<double, int>> options;
    size_t next = 0;
    double before = 0;
    /// No choice still open here costs less.
    double reached() const { return next < options.size() ? before + options[next].first : infinite; }
  };

  void open(size_t k, double before) {
    Frame& frame = frames_[k];
    frame.options.clear();
    frame.next = 0;
    frame.before = before;
    const auto v = static_cast<size_t>(bounds_.variable(k));
    for (int option = 0; option < problem_.options[v]; ++option) {
      chosen_[v] = option;
      frame.options.emplace_back(bounds_.step(k, chosen_), option);
    }
    visits_ += problem_.options[v];
    std::stable_sort(frame.options.begin(), frame.options.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  double slack() const { return best_cost_ == infinite ? 0 : rounding * std::abs(best_cost_); }

  const WeightedChoice& problem_;
  const Elimination& bounds_;
  int64_t most_visits_;
  int64_t visits_ = 0;
  std::vector<Frame> frames_;
  std::vector<int> chosen_, best_;
  double best_cost_ = 0;
};

}  // namespace

bool ChosenOptions::is_best() const { return cost <= bound + rounding * std::abs(cost); }

double cost_of(const WeightedChoice& problem, const std::vector<int>& options) {
  double sum = 0;
  for (const CostTable& table : problem.tables) sum += at(table, problem.options, options);
  return sum;
}

ChosenOptions choose(const WeightedChoice& problem, const std::vector<int>& start,
                     const ChoiceLimits& limits) {
  const Elimination bounds(problem, limits.table_entries);
  // Enough for one descent.
  const int64_t least = std::accumulate(problem.options.begin(), problem.options.end(), int64_t{0});
  return Search(problem, bounds, std::max(limits.visits, least), start).run();
}

}  // namespace axrun::search::layouts
