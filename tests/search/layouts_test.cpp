#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "search/layouts/layout_problem.h"

namespace axrun::search::layouts {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using Random = std::mt19937;

double price(Random& random) { return std::uniform_int_distribution<int>(0, 20)(random); }

/// One term for inputs and outputs together, with prices of its own; sometimes impossible ones, but never
/// where everything is plain.
PriceTerm random_term(Random& random, int ports, int layouts) {
  PriceTerm term;
  size_t size = 1;
  for (int p = 0; p < ports; ++p) {
    term.ports.push_back(p);
    size *= static_cast<size_t>(layouts);
  }
  for (size_t k = 0; k < size; ++k)
    term.prices.push_back(k > 0 && random() % 9 == 0 ? infinite : price(random));
  return term;
}

/// Nodes that read any earlier values, and make one or two.
LayoutProblem random_problem(Random& random, int nodes, int layouts) {
  LayoutProblem problem;
  problem.layouts = layouts;
  const auto add_value = [&](uint32_t made) {
    LayoutValue value;
    value.made = made;
    if (random() % 4 == 0) value.wanted = 1;
    for (int k = 0; k < layouts * layouts; ++k) value.conversions.push_back(price(random));
    problem.values.push_back(value);
    return static_cast<int>(problem.values.size()) - 1;
  };
  add_value(1);
  for (int n = 0; n < nodes; ++n) {
    LayoutNode node;
    const auto known = static_cast<int>(problem.values.size());
    const int inputs = 1 + static_cast<int>(random() % 3);
    for (int k = 0; k < inputs; ++k)
      node.inputs.push_back(std::uniform_int_distribution<int>(std::max(0, known - 4), known - 1)(random));
    const uint32_t all = (uint32_t{1} << layouts) - 1;
    node.outputs.push_back(add_value(random() % 6 == 0 ? 1 : all));
    if (random() % 5 == 0) node.outputs.push_back(add_value(all));
    const auto outputs = static_cast<int>(node.outputs.size());
    if (random() % 3 == 0) {
      // Every input by itself, with the first output.
      for (int k = 0; k < inputs; ++k) {
        PriceTerm term = random_term(random, 2, layouts);
        term.ports = {k, inputs};
        node.terms.push_back(term);
      }
    } else {
      node.terms.push_back(random_term(random, inputs + outputs, layouts));
    }
    problem.nodes.push_back(node);
  }
  return problem;
}

/// What these decisions cost; infinite where they do not fit together. Written from the problem's
/// description.
double price_of(const LayoutProblem& problem, const std::vector<int>& made,
                const std::vector<uint32_t>& there, const std::vector<std::vector<int>>& reads) {
  const int layouts = problem.layouts;
  double sum = 0;
  for (size_t v = 0; v < made.size(); ++v) {
    const LayoutValue& value = problem.values[v];
    const bool fits =
        (value.made >> made[v] & 1) != 0 && (there[v] >> made[v] & 1) != 0 && (value.wanted & ~there[v]) == 0;
    if (!fits) return infinite;
    for (int to = 0; to < layouts; ++to) {
      if (to != made[v] && (there[v] >> to & 1) != 0)
        sum += value.conversions[static_cast<size_t>(made[v] * layouts + to)];
    }
  }
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    const LayoutNode& node = problem.nodes[n];
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if ((there[static_cast<size_t>(node.inputs[k])] >> reads[n][k] & 1) == 0) return infinite;
    }
    for (const PriceTerm& term : node.terms) {
      size_t index = 0;
      for (const int port : term.ports) {
        const auto p = static_cast<size_t>(port);
        const int layout = p < node.inputs.size()
                               ? reads[n][p]
                               : made[static_cast<size_t>(node.outputs[p - node.inputs.size()])];
        index = index * static_cast<size_t>(layouts) + static_cast<size_t>(layout);
      }
      sum += term.prices[index];
    }
  }
  return sum;
}

/// Over all layouts made and read; what must be there then is known, as copies are never free of use.
double least_of_all(const LayoutProblem& problem) {
  const size_t values = problem.values.size();
  std::vector<std::pair<size_t, size_t>> ports;
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    for (size_t k = 0; k < problem.nodes[n].inputs.size(); ++k) ports.emplace_back(n, k);
  }
  std::vector<int> at(values + ports.size(), 0);
  std::vector<std::vector<int>> reads;
  for (const LayoutNode& node : problem.nodes) reads.emplace_back(node.inputs.size());
  double least = infinite;
  for (;;) {
    std::vector<int> made(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(values));
    std::vector<uint32_t> there(values);
    for (size_t v = 0; v < values; ++v) there[v] = uint32_t{1} << made[v] | problem.values[v].wanted;
    for (size_t p = 0; p < ports.size(); ++p) {
      const auto [n, k] = ports[p];
      reads[n][k] = at[values + p];
      there[static_cast<size_t>(problem.nodes[n].inputs[k])] |= uint32_t{1} << at[values + p];
    }
    least = std::min(least, price_of(problem, made, there, reads));
    size_t k = at.size();
    while (k > 0 && ++at[k - 1] == problem.layouts) at[--k] = 0;
    if (k == 0) return least;
  }
}

/// Of a choice: that it is one, and costs what it says.
void expect_consistent(const LayoutProblem& problem, const LayoutChoice& choice) {
  EXPECT_NEAR(price_of(problem, choice.made, choice.there, choice.reads), choice.cost, 1e-6);
  EXPECT_LE(choice.cost, choice.plain_cost);
  EXPECT_LE(choice.bound, choice.cost * (1 + 1e-9));
}

TEST(Layouts, RandomGraphsGetWhatIsBestOfAll) {
  Random random(1);
  int better = 0;
  for (int round = 0; round < 400; ++round) {
    const LayoutProblem problem = random_problem(random, 1 + round % 5, 2);
    size_t bits = problem.values.size();
    for (const LayoutNode& node : problem.nodes) bits += node.inputs.size();
    if (bits > 18) continue;
    const LayoutChoice choice = choose_layouts(problem);
    expect_consistent(problem, choice);
    EXPECT_TRUE(choice.is_best);
    EXPECT_NEAR(choice.cost, least_of_all(problem), 1e-6) << "round " << round;
    better += choice.cost < choice.plain_cost ? 1 : 0;
  }
  EXPECT_GT(better, 100);
}

TEST(Layouts, EightNodesWithTwoLayouts) {
  Random random(2);
  for (int round = 0; round < 12;) {
    LayoutProblem problem = random_problem(random, 8, 2);
    size_t bits = problem.values.size();
    for (const LayoutNode& node : problem.nodes) bits += node.inputs.size();
    if (bits > 21) continue;
    ++round;
    const LayoutChoice choice = choose_layouts(problem);
    expect_consistent(problem, choice);
    EXPECT_NEAR(choice.cost, least_of_all(problem), 1e-6);
  }
}

/// Four layouts, two of them for the readers at most: the exhaustive search would find what has three.
TEST(Layouts, ChainsOfFourLayoutsGetWhatIsBestOfAll) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    LayoutProblem problem = random_problem(random, 1 + round % 4, 4);
    int next = 0;
    for (LayoutNode& node : problem.nodes) {  // each reads what the one before makes
      node.inputs = {next};
      node.outputs.resize(1);
      next = node.outputs[0];
      node.terms = {random_term(random, 2, 4)};
    }
    const LayoutChoice choice = choose_layouts(problem);
    expect_consistent(problem, choice);
    EXPECT_NEAR(choice.cost, least_of_all(problem), 1e-6);
  }
}

WeightedChoice random_choice(Random& random, int variables, int tables) {
  WeightedChoice problem;
  for (int v = 0; v < variables; ++v) problem.options.push_back(1 + static_cast<int>(random() % 3));
  for (int t = 0; t < tables; ++t) {
    CostTable table;
    size_t size = 1;
    for (int v = 0; v < variables; ++v) {
      if (random() % 3 != 0 || table.variables.size() == 3) continue;
      table.variables.push_back(v);
      size *= static_cast<size_t>(problem.options[static_cast<size_t>(v)]);
    }
    std::shuffle(table.variables.begin(), table.variables.end(), random);
    for (size_t k = 0; k < size; ++k)
      table.costs.push_back(random() % 12 == 0 ? infinite : price(random) - 8);
    problem.tables.push_back(table);
  }
  return problem;
}

/// Small tables split what belongs together: the search has to make up for it.
TEST(WeightedChoices, AreTheBestHoweverSmallTheTablesAre) {
  Random random(4);
  int finite = 0;
  for (int round = 0; round < 500; ++round) {
    const WeightedChoice problem = random_choice(random, 1 + round % 8, 1 + round % 13);
    double least = infinite;
    std::vector<int> all(problem.options.size(), 0);
    for (;;) {
      least = std::min(least, cost_of(problem, all));
      size_t k = all.size();
      while (k > 0 && ++all[k - 1] == problem.options[k - 1]) all[--k] = 0;
      if (k == 0) break;
    }
    finite += least < infinite ? 1 : 0;
    for (const size_t entries : {size_t{1}, size_t{9}, size_t{1} << 14}) {
      ChoiceLimits limits;
      limits.table_entries = entries;
      const ChosenOptions chosen = choose(problem, std::vector<int>(problem.options.size(), 0), limits);
      EXPECT_EQ(cost_of(problem, chosen.options), chosen.cost);
      if (least == infinite) {
        EXPECT_EQ(chosen.cost, infinite);
        continue;
      }
      EXPECT_TRUE(chosen.is_best());
      EXPECT_NEAR(chosen.cost, least, 1e-9) << "round " << round << ", tables of " << entries;
    }
  }
  EXPECT_GT(finite, 250);
}

TEST(WeightedChoices, WhatIsCutOffKnowsItsGap) {
  Random random(5);
  int open = 0;
  for (int round = 0; round < 40; ++round) {
    WeightedChoice problem = random_choice(random, 24, 60);
    for (CostTable& table : problem.tables) {
      for (double& cost : table.costs) cost = cost == infinite ? 20 : cost;
    }
    const std::vector<int> start(problem.options.size(), 0);
    ChoiceLimits cut;
    cut.table_entries = 4;
    cut.visits = 300;
    const ChosenOptions hasty = choose(problem, start, cut);
    const ChosenOptions best = choose(problem, start);
    ASSERT_TRUE(best.is_best());
    EXPECT_LE(hasty.cost, cost_of(problem, start));
    EXPECT_LE(hasty.bound, best.cost + 1e-9);
    EXPECT_GE(hasty.cost, best.cost - 1e-9);
    open += hasty.is_best() ? 0 : 1;
  }
  EXPECT_GT(open, 10);
}

// Shapes of models: channels-last makes some nodes faster and others slower
// ----------------------------------

class Builder {
 public:
  explicit Builder(int layouts) : random_(7) {
    problem.layouts = layouts;
    last = value(1);
  }
  int value(uint32_t made) {
    LayoutValue v;
    v.made = made;
    v.conversions.assign(static_cast<size_t>(problem.layouts * problem.layouts), 3);
    problem.values.push_back(v);
    return static_cast<int>(problem.values.size()) - 1;
  }
  int node(const std::vector<int>& inputs) {
    LayoutNode node;
    node.inputs = inputs;
    node.outputs = {value((uint32_t{1} << problem.layouts) - 1)};
    node.terms.push_back(random_term(random_, static_cast<int>(inputs.size()) + 1, problem.layouts));
    for (double& price : node.terms[0].prices) price = std::min(price, 40.0);
    problem.nodes.push_back(node);
    return node.outputs[0];
  }
  int concat(const std::vector<int>& inputs) {
    LayoutNode node;
    node.inputs = inputs;
    node.outputs = {value((uint32_t{1} << problem.layouts) - 1)};
    for (size_t k = 0; k < inputs.size(); ++k) {
      PriceTerm term = random_term(random_, 2, problem.layouts);
      term.ports = {static_cast<int>(k), static_cast<int>(inputs.size())};
      for (double& price : term.prices) price = std::min(price, 5.0);
      node.terms.push_back(term);
    }
    problem.nodes.push_back(node);
    return node.outputs[0];
  }
  LayoutChoice choose(double* seconds) {
    problem.values.back().wanted = 1;
    const auto start = std::chrono::steady_clock::now();
    LayoutChoice choice = choose_layouts(problem);
    *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    expect_consistent(problem, choice);
    EXPECT_LT(choice.cost, choice.plain_cost);
    return choice;
  }

  LayoutProblem problem;
  int last = 0;

 private:
  Random random_;
};

TEST(Layouts, LongChainsTakeMilliseconds) {
  Builder model(2);
  for (int k = 0; k < 200; ++k) model.last = model.node({model.last});
  double seconds = 0;
  EXPECT_TRUE(model.choose(&seconds).is_best);
  EXPECT_LT(seconds, 0.02);
}

TEST(Layouts, ResidualNetworksAreSolvedExactly) {
  for (const int layouts : {2, 4}) {
    Builder model(layouts);
    for (int block = 0; block < 16; ++block) {
      const int inside = model.node({model.node({model.last})});
      const int beside = block % 4 == 0 ? model.node({model.last}) : model.last;
      model.last = model.node({inside, beside});
    }
    double seconds = 0;
    EXPECT_TRUE(model.choose(&seconds).is_best);
    EXPECT_LT(seconds, layouts == 2 ? 0.05 : 1.0);
  }
}

/// Every layer reads all that the ones before it in its block have made: as a chain of Concats of two, and as
/// one Concat of all.
TEST(Layouts, DenseNetworksAreSolvedOrTheirGapIsKnown) {
  for (const bool all_at_once : {false, true}) {
    Builder model(2);
    for (const int layers : {6, 12, 24, 16}) {
      std::vector<int> made = {model.node({model.last})};
      int together = made[0];
      for (int k = 0; k < layers; ++k) {
        made.push_back(model.node({model.node({together})}));
        together = all_at_once ? model.concat(made) : model.concat({together, made.back()});
      }
      model.last = model.node({together});
    }
    double seconds = 0;
    const LayoutChoice choice = model.choose(&seconds);
    EXPECT_LT(seconds, all_at_once ? 2.0 : 0.1);
    EXPECT_GT(choice.bound, 0.9 * choice.cost);
    EXPECT_TRUE(all_at_once || choice.is_best);
    RecordProperty("gap", std::to_string(1 - choice.bound / choice.cost));
  }
}

}  // namespace
}  // namespace axrun::search::layouts
