// Parts of the server that need no connection: paths, turns, the limit of what is held.
#include <gtest/gtest.h>

#include "runtime/serve/held_bytes.h"
#include "runtime/serve/routes.h"
#include "runtime/serve/turns.h"

namespace axrun::tests {
namespace {

using serve::Resource;
using serve::Target;

void expect_target(std::string_view path, Resource resource, std::string_view model,
                   std::string_view version) {
  const Target found = serve::target_of(path);
  EXPECT_EQ(found.resource, resource) << path;
  EXPECT_EQ(found.model, model) << path;
  EXPECT_EQ(found.version, version) << path;
}

TEST(Routes, Paths) {
  expect_target("/v2", Resource::server, "", "");
  expect_target("/v2/health/live?x", Resource::live, "", "");
  expect_target("/metrics", Resource::metrics, "", "");
  expect_target("/v2/models/m", Resource::model, "m", "");
  expect_target("/v2/models/a%2Fb%20%zz%4/versions/1/infer", Resource::infer, "a/b %zz%4", "1");
  expect_target("http://host:1/v2/models/m/ready#part", Resource::model_ready, "m", "");
  expect_target("/v2/models/versions/versions/2", Resource::model, "versions", "2");
  for (const char* const path :
       {"", "/", "*", "v2", "/v2/", "/v3", "/v2/models", "/v2/models/", "/v2/models//infer", "/v2/models/m/",
        "/v2/models/m/nothing", "/v2/models/m/infer/more", "/v2/models/m/versions",
        "/v2/models/m/versions//infer", "http://host", "//v2"})
    EXPECT_EQ(serve::target_of(path).resource, Resource::none) << path;
}

TEST(Turns, OneAfterAnother) {
  serve::Turns<int> turns(1, 2);
  std::vector<std::shared_ptr<int>> jobs;
  for (int k = 0; k < 3; ++k) {
    EXPECT_TRUE(turns.admit());
    jobs.push_back(std::make_shared<int>(k));
  }
  EXPECT_FALSE(turns.admit()) << "one at a time, two that wait";
  EXPECT_TRUE(turns.enter(jobs[0]));
  EXPECT_FALSE(turns.enter(jobs[1]));
  EXPECT_FALSE(turns.enter(jobs[2]));
  EXPECT_TRUE(turns.give_up(jobs[1]));
  EXPECT_FALSE(turns.give_up(jobs[1]));
  EXPECT_EQ(turns.end_turn(), jobs[2]);
  EXPECT_FALSE(turns.give_up(jobs[2])) << "it is its turn";
  turns.leave_room();
  EXPECT_TRUE(turns.admit());
  EXPECT_FALSE(turns.enter(jobs[0]));
  EXPECT_EQ(turns.give_up_all().size(), 1U);
  EXPECT_EQ(turns.end_turn(), nullptr);
  EXPECT_TRUE(turns.enter(jobs[1]));
}

TEST(HeldBytes, SharesOfALimit) {
  serve::BufferLimit limit(100);
  {
    serve::HeldBytes one(limit);
    EXPECT_TRUE(one.grow(60));
    serve::HeldBytes two(limit);
    EXPECT_FALSE(two.grow(41));
    EXPECT_TRUE(two.grow(40));
    EXPECT_EQ(limit.taken(), 100U);
    two = serve::HeldBytes(limit);
    EXPECT_EQ(limit.taken(), 60U);
    const serve::HeldBytes moved = std::move(one);
    EXPECT_EQ(limit.taken(), 60U);
    two.grow_anyway(70);
    EXPECT_EQ(limit.taken(), 130U);
  }
  EXPECT_EQ(limit.taken(), 0U);
}

}  // namespace
}  // namespace axrun::tests
