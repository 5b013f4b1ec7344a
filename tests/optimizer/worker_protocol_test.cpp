#include "runtime/optimizer/worker_protocol.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/error.h"

namespace axrun::tests {
namespace {

using namespace runtime;

WorkerRequest some_request() {
  WorkerRequest request;
  request.program = "loops \"a\"\n()";
  request.expression = "program \\ \x01";
  request.lowered = "another";
  request.sizes = {{{"n", 3}, {"past", 0}}, {}};
  request.thorough = 2;
  request.constant = {true, false};
  request.target.name = "some processor";
  request.target.features = {"avx2", "fma"};
  request.target.caches = {{32768, 64, 1, 1e11}, {1 << 20, 64, 2, 0}};
  request.target.masks = true;
  request.seed = 0xffffffffffffffffu;
  return request;
}

TEST(WorkerProtocol, RequestsArriveAsTheyWereSent) {
  const WorkerRequest sent = some_request();
  const WorkerRequest got = request_from(to_text(sent));
  EXPECT_EQ(got.program, sent.program);
  EXPECT_EQ(got.expression, sent.expression);
  EXPECT_EQ(got.lowered, sent.lowered);
  EXPECT_EQ(got.sizes, sent.sizes);
  EXPECT_EQ(got.thorough, sent.thorough);
  EXPECT_EQ(got.constant, sent.constant);
  EXPECT_EQ(got.seed, sent.seed);
  EXPECT_EQ(got.target, sent.target);
  EXPECT_EQ(got.proof_seconds, sent.proof_seconds);
}

TEST(WorkerProtocol, RepliesArriveAsTheyWereSent) {
  WorkerReply sent;
  sent.proof = {verify::Verdict::proved, "3 questions", 0.5};
  sent.gate = {verify::Verdict::tested, "4 sizes", 1.5};
  sent.code_bytes = 1234;
  sent.code_hash = 0xfedcba9876543210u;
  const WorkerMessage got = message_from(to_text(sent));
  ASSERT_TRUE(got.reply.has_value());
  EXPECT_EQ(got.reply->proof.text, "3 questions");
  EXPECT_EQ(got.reply->gate.verdict, verify::Verdict::tested);
  EXPECT_EQ(got.reply->code_hash, sent.code_hash);
  EXPECT_EQ(message_from(to_text(WorkerStage::proving)).stage, WorkerStage::proving);
}

TEST(WorkerProtocol, DamagedMessagesAreRefusedOrRead) {
  WorkerReply reply;
  reply.proof = {verify::Verdict::proved, "p", 0};
  reply.gate = {verify::Verdict::tested, "t", 0};
  const std::string texts[] = {to_text(some_request()), to_text(reply), to_text(WorkerStage::testing),
                               hello_text()};
  constexpr unsigned seed = 20240;
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = texts[round % 4];
    for (unsigned change = random() % 3 + 1; change > 0; --change) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, random() % 20);
      } else {
        text[at] = static_cast<char>(random());
      }
      if (text.empty()) text = "x";
    }
    try {
      message_from(text);
    } catch (const Error&) {
      ++refused;
    }
    try {
      request_from(text);
    } catch (const Error&) {
      ++refused;
    }
    mistake_in_hello(text);
  }
  EXPECT_GT(refused, 4000) << "seed " << seed;
  EXPECT_EQ(mistake_in_hello(hello_text()), "");
  EXPECT_NE(mistake_in_hello("{}"), "");
  EXPECT_NE(mistake_in_hello(R"({"axrun_worker": 1, "version": "0.0.1"})"), "");
}

}  // namespace
}  // namespace axrun::tests
