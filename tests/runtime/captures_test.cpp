// What bodies capture is read anew in every run, and let go at its end.
#include <gtest/gtest.h>

#include <memory>

#include "runtime/session.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::Tensor;

TEST(Captures, AreReadInEveryRunAndLetGo) {
  ModelMaker m;
  const auto choose = m.input("choose", ElementType::boolean, {});
  const auto row = m.input("row", ElementType::i64, {});
  const auto branch = [&](const std::string& op) {
    ModelMaker body;
    ir::Value outer;
    outer.name = "row";
    const ir::ValueId inner = body.graph().add_value(outer);
    body.graph().captures.emplace_back(row, inner);
    body.output(body.node(op, {inner, inner}));
    return ModelMaker::attribute(std::make_shared<ir::Graph>(body.graph()));
  };
  m.output(m.node("If", {choose}, {{"then_branch", branch("Add")}, {"else_branch", branch("Sub")}}));
  const auto session = m.session(one_thread(Tier::fallback));
  Tensor truth = Tensor::allocate(ElementType::boolean, {});
  *truth.as<bool>() = true;
  for (int64_t value = 1; value < 5; ++value) {
    auto owner = std::make_shared<int64_t>(value);
    const std::weak_ptr<int64_t> watch = owner;
    Tensor captured = Tensor::borrow(ElementType::i64, {}, owner.get(), owner);
    owner = nullptr;
    {
      const std::vector<RuntimeValue> inputs = {RuntimeValue(truth), RuntimeValue(std::move(captured))};
      const std::vector<RuntimeValue> results = session->run(inputs);
      EXPECT_EQ(results[0].tensor.get_int(0), 2 * value);
      EXPECT_FALSE(watch.expired());
    }
    EXPECT_TRUE(watch.expired()) << "run " << value;
  }
}

}  // namespace
}  // namespace axrun::tests
