// Variants of plans, as a kernel source learns.
#include "runtime/plan/plan_variant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/plan/packed.h"
#include "runtime/plan/plan_forms.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using Values = std::vector<RuntimeValue>;

PlanVariants::Kept kept_at(uint64_t version, int64_t number) {
  auto told = std::make_shared<PlanVariant::Told>();
  told->version = version;
  told->numbers = {number};
  return {std::make_shared<PlanVariant>(), std::move(told)};
}

TEST(PlanVariants, AFewAreKeptTheOneMadeLastFirst) {
  PlanVariants variants;
  EXPECT_TRUE(variants.all().empty());
  for (int64_t number = 0; number < 10; ++number) variants.keep(kept_at(1, number));
  ASSERT_EQ(variants.all().size(), PlanVariants::most);
  EXPECT_EQ(variants.all().front().told->numbers[0], 9);
}

TEST(PlanVariants, OutliveWhatTheyWereTold) {
  PlanVariants variants;
  const PlanVariants::Kept first = kept_at(1, 5);
  variants.keep(first);
  variants.keep(kept_at(2, 7));
  ASSERT_EQ(variants.all().size(), 2U);
  EXPECT_EQ(variants.all()[1].variant, first.variant);
  EXPECT_EQ(variants.all()[1].told, nullptr) << "it holds kernels that nobody may use any more";
  variants.keep({first.variant, kept_at(3, 8).told});
  ASSERT_EQ(variants.all().size(), 2U) << "the same one, told anew";
  EXPECT_EQ(variants.all()[1].told->numbers[0], 8);
  EXPECT_EQ(variants.all()[0].told, nullptr);
}

/// Fills its output with a number.
class Filling final : public Kernel {
 public:
  explicit Filling(float value, int64_t count) : value_(value), count_(count) {}
  void run(const KernelCall& call) const override {
    std::fill_n(static_cast<float*>(call.outputs[0]), count_, value_);
  }
  std::string describe() const override { return "filling"; }
  std::shared_ptr<const Kernel> resized(const PortSizes&) const override { return nullptr; }

 private:
  float value_;
  int64_t count_;
};

/// Has kernels for some nodes, and counts what it is asked.
class Learning final : public KernelSource {
 public:
  void learn(int node, float value) {
    values_[node] = value;
    changed_[node] = ++version_;
  }
  Found find(const ir::Graph&, const std::vector<int>& nodes, const StepContext& context) override {
    ++found;
    int64_t count = 1;
    for (const int64_t extent : context.outputs[0].shape) count *= extent;
    return at(nodes, count);
  }
  std::shared_ptr<const Question> ask(const ir::Graph&, const std::vector<int>& nodes,
                                      const StepContext&) override {
    ++asked;
    return std::make_shared<const Asked>(*this, nodes, version_);
  }
  std::optional<uint64_t> version() const override { return version_; }

  int found = 0, asked = 0;

 private:
  class Asked final : public Question {
   public:
    Asked(Learning& source, std::vector<int> nodes, uint64_t version)
        : source_(source), nodes_(std::move(nodes)), version_(version) {}
    Found at(const PortSizes& ports) const override {
      int64_t count = 1;
      for (size_t d = 0; d < ports.rank_of_output(0); ++d) count *= ports.dim_of_output(0, d);
      return source_.at(nodes_, count);
    }
    bool holds() const override {
      const auto changed = source_.changed_.find(nodes_.back());
      return changed == source_.changed_.end() || changed->second <= version_;
    }

   private:
    Learning& source_;
    std::vector<int> nodes_;
    uint64_t version_;
  };
  Found at(const std::vector<int>& nodes, int64_t count) const {
    const auto known = values_.find(nodes.back());
    if (known == values_.end()) return {nullptr, true};
    return {std::make_shared<Filling>(known->second, count), false};
  }

  uint64_t version_ = 1;
  std::map<int, float> values_;
  std::map<int, uint64_t> changed_;
};

/// Softmax of open rows, and of a row of which the size is known.
ModelMaker two_softmaxes() {
  ModelMaker maker;
  const ir::ValueId x = maker.input("x", ir::ElementType::f32, {ir::Dim::symbol("n"), 8});
  const ir::ValueId y = maker.input("y", ir::ElementType::f32, {3, 8});
  maker.output(maker.node("Softmax", {x}));
  maker.output(maker.node("Softmax", {y}));
  return maker;
}

struct Bench {
  Bench() : forms(session->model().graph) {
    options.kernels = source;
    options.packs = std::make_shared<PackCache>();
  }
  std::shared_ptr<const Plan> plan(int64_t rows) {
    return forms.plan({RuntimeValue(ModelMaker::random({rows, 8}, 1)),
                       RuntimeValue(ModelMaker::random({3, 8}, 2))},
                      options);
  }
  std::vector<std::string> kernels(int64_t rows) {
    std::vector<std::string> names;
    const auto plan = this->plan(rows);
    for (const Step& step : plan->steps()) names.push_back(step.kernel->describe());
    return names;
  }
  std::shared_ptr<Learning> source = std::make_shared<Learning>();
  std::unique_ptr<Session> session = two_softmaxes().session(one_thread(Tier::fallback));
  PlanForms forms;
  PlanOptions options;
};

TEST(PlanVariant, IsToldWhatTheSourceHasLearned) {
  Bench bench;
  for (const int64_t rows : {4, 5, 6}) bench.plan(rows);
  EXPECT_EQ(bench.forms.counts().variants, 1U);
  const int found = bench.source->found, asked = bench.source->asked;
  bench.source->learn(1, 0.5F);
  EXPECT_EQ(bench.kernels(7)[1], "filling") << "its sizes are those of the plans before";
  EXPECT_NE(bench.kernels(8)[0], "filling");
  bench.source->learn(0, 0.25F);
  EXPECT_EQ(bench.kernels(9), (std::vector<std::string>{"filling", "filling"}));
  EXPECT_EQ(bench.forms.counts().variants, 1U) << "no plan is built anew for that";
  EXPECT_EQ(bench.source->found, found) << "nor anything looked up from the beginning";
  EXPECT_LE(bench.source->asked, asked + 3) << "once what was never asked, and each one that it learned of";
}

}  // namespace
}  // namespace axrun::tests
