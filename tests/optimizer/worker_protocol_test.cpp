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
  request.ranges = {{"n", 1, 64, 2}};
  request.rank = 3;
  request.lower_only = request.keeps_schedules = true;
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
  ASSERT_EQ(got.ranges.size(), 1u);
  EXPECT_EQ(got.ranges[0].name, "n");
  EXPECT_EQ(got.ranges[0].high, 64);
  EXPECT_EQ(got.ranges[0].divisor, 2);
  EXPECT_EQ(got.rank, 3u);
  EXPECT_TRUE(got.lower_only && got.keeps_schedules);
  EXPECT_FALSE(got.identity.has_value() || got.search.has_value());
  WorkerRequest identity = sent;
  identity.identity = {{"m", 2, 3, 1}};
  ASSERT_TRUE(request_from(to_text(identity)).identity.has_value());
  EXPECT_EQ(request_from(to_text(identity)).identity->at(0).low, 2);
}

TEST(WorkerProtocol, SearchesArriveAsTheyWereSent) {
  WorkerRequest sent;
  sent.search = WorkerStage::looking_for_rules;
  const std::string text = to_text(sent);
  EXPECT_EQ(request_from(text).search, sent.search);
  // Stages of candidates are nothing that can be asked for.
  const std::string stage(name_of(*sent.search));
  std::string other = text;
  other.replace(other.find(stage), stage.size(), "proving");
  EXPECT_THROW(request_from(other), Error);
  for (const SearchMessage message : {SearchMessage::may_go_on, SearchMessage::note, SearchMessage::found})
    EXPECT_EQ(message_from(to_text(message)).search, message);
}

WorkerLowering some_lowering() {
  WorkerLowering lowering;
  lowering.program = std::string(100'000, 'p');
  lowering.expression = "program \\ \x01";
  lowering.inputs = {0, 2};
  lowering.kind = "contraction+map";
  lowering.reason = "none";
  lowering.alternatives = 7;
  lowering.schedule = "tile 8x3";
  lowering.expected_us = 1.5;
  return lowering;
}

TEST(WorkerProtocol, LoweringsAndSchedulesArriveAsTheyWereSent) {
  const WorkerLowering sent = some_lowering();
  const auto got = message_from(to_text(sent)).lowering;
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->program, sent.program);
  EXPECT_EQ(got->expression, sent.expression);
  EXPECT_EQ(got->inputs, sent.inputs);
  EXPECT_EQ(got->kind, sent.kind);
  EXPECT_EQ(got->reason, sent.reason);
  EXPECT_EQ(got->alternatives, sent.alternatives);
  EXPECT_EQ(got->schedule, sent.schedule);
  EXPECT_EQ(got->expected_us, sent.expected_us);
  using Kind = ScheduleMessage::Kind;
  for (const Kind kind : {Kind::load, Kind::save, Kind::reject}) {
    const auto message = message_from(to_text(ScheduleMessage{kind, "a key"})).schedules;
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->kind, kind);
    EXPECT_EQ(message->key, "a key");
  }
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
  const std::string texts[] = {to_text(some_request()),
                               to_text(reply),
                               to_text(WorkerStage::testing),
                               hello_text(),
                               to_text(SearchMessage::note),
                               to_text(ScheduleMessage{}),
                               to_text(WorkerLowering{"p", "e", {0, 1}, "map", "", 1, "default", 2})};
  constexpr unsigned seed = 20240;
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = texts[round % 7];
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
