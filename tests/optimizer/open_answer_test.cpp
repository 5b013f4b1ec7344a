// What a library says of a range of sizes, in numbers.
#include "runtime/optimizer/open_answer.h"

#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::Dim;
using ir::ElementType;

OpenPorts::Dims dims(const ir::Shape& shape) {
  OpenPorts::Dims dims;
  for (const int64_t extent : shape) dims.push_back({OpenPorts::Dim::nowhere, extent});
  return dims;
}

/// Concat of [past + seq, 3], which is read as a whole, and [past, 3]: one size is told by a sum.
struct Told {
  Told() {
    ModelMaker m;
    const auto axis = std::map<std::string, ir::Attribute>{{"axis", ModelMaker::attribute(int64_t{0})}};
    const ir::ValueId a = m.input("a", ElementType::f32, {Dim::symbol("past"), 3});
    const ir::ValueId b = m.input("b", ElementType::f32, {Dim::symbol("seq"), 3});
    const ir::ValueId all = m.node("Concat", {a, b}, axis);
    m.output(m.node("Concat", {m.node("Tanh", {all}), a}, axis));
    SessionOptions options;
    options.threads = 1;
    options.tier = Tier::fallback;
    session = m.session(options);
    const std::vector<ir::Shape> shapes = {{4, 3}, {5, 3}};
    session->prepare(shapes);
    plan = session->current_plan(shapes);
    const SymbolicFacts facts(session->model().graph);
    auto made = express(facts.inference(), plan->steps().back(), reason);
    if (made) known.expression = std::make_shared<const StepExpression>(*std::move(made));
    known.outputs = {0};
    for (const char* name : {"n0", "n1"}) known.ranges.push_back({name, 2, 16384, 1});
    known.tested.emplace();
    known.tested->add({{"n0", 40}, {"n1", 20}});
    known.verdicts = {{{{"n0", 9}, {"n1", 4}}, false}};
  }
  /// Of operands with so many rows.
  OpenAnswer::Says at(int64_t all, int64_t past, KernelSource::Found& found) const {
    const OpenPorts ports{{dims({all, 3}), dims({past, 3})}, {dims({all + past, 3})}, {}};
    const std::vector<int64_t> none;
    return OpenAnswer::of(known)->at({ports, none}, found);
  }
  std::unique_ptr<Session> session;
  std::shared_ptr<const Plan> plan;
  std::string reason;
  OpenAnswer::Known known;
};

TEST(OpenAnswer, IsAsTheNearestVerdictHasIt) {
  const Told told;
  ASSERT_TRUE(told.known.expression) << told.reason;
  ASSERT_EQ(told.known.expression->symbols.size(), 2u) << told.known.expression->text;
  KernelSource::Found near, far;
  ASSERT_EQ(told.at(13, 4, near), OpenAnswer::Says::found);
  EXPECT_EQ(near.kernel, nullptr);
  EXPECT_FALSE(near.open);
  ASSERT_EQ(told.at(40, 19, far), OpenAnswer::Says::found);
  EXPECT_TRUE(far.open) << "more than twice as large: worth a trial";
}

TEST(OpenAnswer, IsNoneWhereTheLibraryHasToBeAsked) {
  Told told;
  ASSERT_TRUE(told.known.expression) << told.reason;
  KernelSource::Found found;
  EXPECT_EQ(told.at(3000, 1000, found), OpenAnswer::Says::ask) << "beyond twice the largest that was tested";
  EXPECT_EQ(told.at(4, 9, found), OpenAnswer::Says::not_for_it) << "a size would be negative";
  EXPECT_EQ(told.at(40000, 20000, found), OpenAnswer::Says::not_for_it) << "beyond the range";
  told.known.verdicts[0].use = true;
  EXPECT_EQ(told.at(13, 4, found), OpenAnswer::Says::ask) << "a kernel serves, which is not at hand";
  told.known.verdicts.clear();
  EXPECT_EQ(told.at(13, 4, found), OpenAnswer::Says::ask) << "nobody has judged it";
}

TEST(OpenAnswer, WithoutCodeIsWhatItsStateSays) {
  Told told;
  ASSERT_TRUE(told.known.expression) << told.reason;
  told.known.tested.reset();
  for (const bool waiting : {false, true}) {
    told.known.open_anyway = waiting;
    KernelSource::Found found;
    ASSERT_EQ(told.at(13, 4, found), OpenAnswer::Says::found);
    EXPECT_EQ(found.kernel, nullptr);
    EXPECT_EQ(found.open, waiting);
  }
}

}  // namespace
}  // namespace axrun::tests
