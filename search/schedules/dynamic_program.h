#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/schedules/cost.h"
#include "search/schedules/memo_table.h"

namespace axrun::search::schedules {

/// How much a search may do.
struct Budget {
  int64_t states = 200'000;  ///< searches of specifications
};

/// A loop nest as decisions from the outside in, along the whole pieces; what is left over follows it as far
/// as it goes.
struct Schedule {
  double cost = 0;  ///< nanoseconds
  std::vector<Decision> decisions;
};
std::string to_text(const Schedule& schedule);

struct Found {
  std::vector<Schedule> schedules;  ///< the best first; none where there is none, or none was reached
  double least = 0;                 ///< nanoseconds: no schedule takes less
  bool complete = true;             ///< these are the best ones
  int64_t states = 0;               ///< specifications that were searched
  int64_t expansions = 0;           ///< decisions whose parts were looked at
  int64_t pruned = 0;               ///< decisions that cannot be among the best: by what they take at least

  /// How much more than the least the best one takes: a share. Infinite without one.
  double gap() const;
};

/// Schedules of products by dynamic programming, after Morello (arXiv 2505.01637): the best schedules of a
/// specification are those of the best first decisions followed by the best schedules of what these leave.
/// As costs are monotone in those of the parts, that is exact. Schedules are looked for below a bound that
/// rises from what none can take less than, so that little besides good ones is looked at, and the bound that
/// was reached says at any time how far from the best one can be.
class DynamicProgram {
 public:
  /// kept: how many schedules of each specification.
  explicit DynamicProgram(const jit::Target& target, size_t kept = 4) : cost_(target), kept_(kept) {}

  /// Solutions stay in the table for what comes.
  Found solve(const Specification& specification, const Budget& budget = {});

  const CostModel& cost() const { return cost_; }
  const MemoTable& table() const { return table_; }
  MemoTable& table() { return table_; }

 private:
  class Best;
  /// What is found below the bound.
  const Solution& solved(const Specification& specification, double bound);
  Solution search(const Specification& specification, double bound);
  /// Schedules that begin with a decision.
  void add_schedules(const Specification& specification, const Decision& decision, const Expansion& expansion,
                     Best& best);
  /// Appends the decisions of the schedule of a rank. False where what was read from elsewhere is not true.
  bool follow(Specification specification, size_t rank, Schedule& schedule);

  CostModel cost_;
  size_t kept_;
  MemoTable table_;
  Budget budget_;
  Found found_;
  const Solution none_;
};

}  // namespace axrun::search::schedules
