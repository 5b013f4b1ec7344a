// Every check of verify/ is taken out in turn: then the trap that only it refuses must pass through.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "tests/checks/switch.h"
#include "tests/checks/traps.h"
#include "verify/loop_proof.h"
#include "verify/rewrite_proof.h"

namespace axrun::tests {

using verify::checks::Id;
using verify::checks::TakenOut;

namespace {

/// What a proof says; no counterexample is looked for, which would refuse the same once more.
verify::ProofOptions options() {
  verify::ProofOptions options;
  options.counterexample_seconds = 0;
  options.seconds = 60;
  return options;
}

}  // namespace

Trap loop_trap(std::vector<Id> ids, std::string reason, std::string expression, std::string program) {
  return {std::move(ids), std::move(reason), [expression, program] {
            return verify::prove(ir::loop::parse(program), ir::parse(expression), options());
          }};
}

Trap rewrite_trap(std::vector<Id> ids, std::string reason, std::string original, std::string rewritten) {
  return {
      std::move(ids), std::move(reason), [original, rewritten] {
        return verify::prove_rewrite(ir::parse(original), ir::parse(rewritten), {{"n", 1, 9, 1}}, options());
      }};
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    ADD_FAILURE() << from << " is not there once";
    return text;
  }
  return text.replace(at, from.size(), to);
}

namespace {

std::string_view name_of(Id id) { return verify::checks::table[id.row()].id; }

const std::vector<Trap>& all_traps() {
  static const std::vector<Trap> all = [] {
    std::vector<Trap> traps;
    for (auto* of : {loop_traps, write_traps, rescaled_traps, value_traps, rewrite_traps, equality_traps,
                     safety_traps, gate_traps, function_traps}) {
      for (Trap& trap : of()) traps.push_back(std::move(trap));
    }
    return traps;
  }();
  return all;
}

class EveryTrap : public testing::TestWithParam<size_t> {};

TEST_P(EveryTrap, IsRefusedByItsCheckAlone) {
  const Trap& trap = all_traps()[GetParam()];
  const verify::Evidence refused = trap.tried();
  EXPECT_FALSE(refused.accepted()) << refused.text;
  EXPECT_NE(refused.text.find(trap.reason), std::string::npos) << refused.text;
  // Of several, each alone is enough.
  for (size_t k = 0; trap.ids.size() > 1 && k < trap.ids.size(); ++k) {
    std::vector<Id> others = trap.ids;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    const TakenOut without(others);
    EXPECT_FALSE(trap.tried().accepted())
        << name_of(trap.ids[k]) << " refuses nothing that is not refused already";
  }
  const TakenOut without(trap.ids);
  const verify::Evidence passed = trap.tried();
  EXPECT_TRUE(passed.accepted()) << "without " << name_of(trap.ids[0]) << ", yet refused: " << passed.text;
}

INSTANTIATE_TEST_SUITE_P(Checks, EveryTrap, testing::Range(size_t{0}, all_traps().size()),
                         [](const auto& test) {
                           std::string name = std::to_string(test.param) + "_" +
                                              std::string(name_of(all_traps()[test.param].ids[0]));
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Checks, EachHasATrap) {
  for (const verify::checks::Row& row : verify::checks::table) {
    const bool there = std::any_of(all_traps().begin(), all_traps().end(),
                                   [&](const Trap& trap) { return name_of(trap.ids[0]) == row.id; });
    EXPECT_TRUE(there) << row.id << ": " << row.refuses;
  }
}

TEST(Checks, AreToldApart) {
  for (const verify::checks::Row& row : verify::checks::table) {
    const auto same = [&](const verify::checks::Row& other) { return other.id == row.id; };
    EXPECT_EQ(std::count_if(std::begin(verify::checks::table), std::end(verify::checks::table), same), 1)
        << row.id;
    EXPECT_FALSE(row.refuses.empty()) << row.id;
  }
}

}  // namespace
}  // namespace axrun::tests
