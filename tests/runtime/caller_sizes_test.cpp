// Sizes that a model does not take are the caller's mistake, once it is known that it takes others.
#include <gtest/gtest.h>

#include "ir/error_place.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::Dim;
using ir::ElementType;
using runtime::RuntimeValue;

/// x [size] + a table of so many.
std::unique_ptr<runtime::Session> table_of(const std::string& size, int64_t rows) {
  ModelMaker m;
  const auto x = m.input("x", ElementType::f32, {Dim::symbol(size)});
  m.output(m.node("Add", {x, m.weights({rows}, 1)}));
  runtime::SessionOptions options;
  options.tier = runtime::Tier::fallback;
  return m.session(options);
}

struct Ended {
  Fault fault = Fault::internal;
  std::string text;
  ErrorPlace place;
};

Ended run(runtime::Session& session, int64_t size) {
  try {
    session.run({RuntimeValue(ModelMaker::random({size}, 1))});
  } catch (const Error& error) {
    return {error.fault(), error.what(), error_place(error)};
  }
  return {};
}

void expect_blamed(const Ended& end) {
  EXPECT_EQ(end.fault, Fault::user) << end.text;
  EXPECT_NE(end.text.find("takes no inputs with sequence = 17: "), std::string::npos) << end.text;
  EXPECT_EQ(end.place.input, "x");
  EXPECT_EQ(end.place.op, "Add");
}

/// As many as are made up for a size of that name.
TEST(CallerSizes, ModelsThatTakeOthers) { expect_blamed(run(*table_of("sequence", 16), 17)); }

TEST(CallerSizes, ModelsThatHaveTakenOthers) {
  const auto session = table_of("sequence", 5);
  EXPECT_EQ(run(*session, 5).text, "");
  expect_blamed(run(*session, 17));
}

/// Nothing says that this one takes anything.
TEST(CallerSizes, ModelsThatMayBeWrong) {
  const auto session = table_of("sequence", 5);
  EXPECT_EQ(run(*session, 17).fault, Fault::model);
  EXPECT_EQ(run(*session, 7).fault, Fault::model);
  EXPECT_EQ(run(*session, 5).text, "");
  expect_blamed(run(*session, 17));
}

}  // namespace
}  // namespace axrun::tests
