// What is told of sessions, at which level, and how lines are written.
#include "runtime/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "ir/error.h"
#include "runtime/error_code.h"
#include "runtime/run_control.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;

class Log : public testing::Test {
 protected:
  void listen(LogLevel most) {
    set_log(most, [this](const LogRecord& record) {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
    });
  }
  void TearDown() override { set_log(LogLevel::off, {}); }
  std::vector<LogRecord> of(std::string_view event) {
    const std::lock_guard lock(mutex_);
    std::vector<LogRecord> found;
    std::copy_if(records_.begin(), records_.end(), std::back_inserter(found),
                 [&](const LogRecord& record) { return event == record.event; });
    return found;
  }
  static std::string field(const LogRecord& record, std::string_view name) {
    for (const auto& [known, value] : record.fields) {
      if (name == known) return value;
    }
    return "(none)";
  }

 private:
  std::mutex mutex_;
  std::vector<LogRecord> records_;
};

ModelMaker small_model() {
  ModelMaker m;
  const auto x = m.input("x", ir::ElementType::f32, {4, 8});
  m.output(m.node("Softmax", {m.node("Add", {x, m.weights({8}, 1)})}));
  return m;
}

TEST_F(Log, LinesAreReadByMachines) {
  EXPECT_EQ(log_line({LogLevel::info, "model_loaded", {{"ms", "1.5"}}}),
            "level=info event=model_loaded ms=1.5");
  EXPECT_EQ(
      log_line({LogLevel::error, "e", {{"a", "two words"}, {"b", ""}, {"c", "x\"y\\z\n\x01"}, {"d", "k=v"}}}),
      "level=error event=e a=\"two words\" b=\"\" c=\"x\\\"y\\\\z\\n\\u0001\" d=\"k=v\"");
  for (const LogLevel level :
       {LogLevel::off, LogLevel::error, LogLevel::warn, LogLevel::info, LogLevel::debug})
    EXPECT_EQ(log_level_of(name_of(level)), level);
  EXPECT_FALSE(log_level_of("verbose"));
}

TEST_F(Log, LevelsAreKeptAndNobodyNeedListen) {
  EXPECT_FALSE(logs(LogLevel::error));
  log({LogLevel::error, "lost", {}});
  listen(LogLevel::warn);
  EXPECT_TRUE(logs(LogLevel::error));
  EXPECT_TRUE(logs(LogLevel::warn));
  EXPECT_FALSE(logs(LogLevel::info));
  log({LogLevel::info, "too_fine", {}});
  log({LogLevel::warn, "told", {{"k", "v"}}});
  EXPECT_EQ(of("told").size(), 1u);
  EXPECT_TRUE(of("too_fine").empty());
  set_log(LogLevel::debug, {});
  EXPECT_FALSE(logs(LogLevel::error));
}

TEST_F(Log, ASinkThatThrowsDisturbsNobody) {
  set_log(LogLevel::debug, [](const LogRecord&) { throw std::runtime_error("full disk"); });
  EXPECT_NO_THROW(small_model().session({}));
}

TEST_F(Log, NoSinkIsCalledOnceAnotherIsSet) {
  std::atomic<bool> gone{false}, called_late{false}, end{false};
  std::thread teller([&] {
    while (!end) log({LogLevel::info, "tick", {}});
  });
  for (int k = 0; k < 200; ++k) {
    gone = false;
    set_log(LogLevel::info, [&](const LogRecord&) {
      if (gone) called_late = true;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    set_log(LogLevel::info, [](const LogRecord&) {});
    gone = true;
  }
  end = true;
  teller.join();
  EXPECT_FALSE(called_late);
}

TEST_F(Log, OfASessionItSaysWhatWasLoadedAndWhatFailed) {
  listen(LogLevel::debug);
  SessionOptions options;
  options.threads = 1;
  options.optimize = false;
  const auto session = small_model().session(options);
  const auto loaded = of("model_loaded");
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].level, LogLevel::info);
  EXPECT_EQ(loaded[0].fields[0].first, std::string("model"));
  EXPECT_GT(std::stod(field(loaded[0], "ms")), 0);
  EXPECT_EQ(field(loaded[0], "optimizer"), "off");
  EXPECT_EQ(field(loaded[0], "cache"), "none");
  EXPECT_THROW(session->run({RuntimeValue(ModelMaker::random({3, 8}, 1))}), Error);
  const auto failed = of("run_failed");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].level, LogLevel::debug);
  EXPECT_EQ(field(failed[0], "code"), "user");
  EXPECT_NE(field(failed[0], "error").find("'x'"), std::string::npos);
  EXPECT_THROW(Session::load("/no/such/model.onnx"), Error);
  const auto refused = of("load_failed");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].level, LogLevel::error);
  EXPECT_EQ(field(refused[0], "model"), "/no/such/model.onnx");
  EXPECT_EQ(field(refused[0], "code"), "user");
}

TEST_F(Log, AModelIsNamedForAsLongAsItIsTheThreadsBusiness) {
  listen(LogLevel::info);
  {
    const LogModel outer("a");
    {
      const LogModel inner("b");
      log({LogLevel::info, "one", {}});
    }
    log({LogLevel::info, "two", {}});
  }
  log({LogLevel::info, "three", {}});
  EXPECT_EQ(field(of("one")[0], "model"), "b");
  EXPECT_EQ(field(of("two")[0], "model"), "a");
  EXPECT_EQ(field(of("three")[0], "model"), "(none)");
}

TEST(ErrorCode, EveryClassHasAWord) {
  EXPECT_STREQ(code_of(Error(Fault::user, "")), "user");
  EXPECT_STREQ(code_of(Error(Fault::model, "")), "model");
  EXPECT_STREQ(code_of(Error(Fault::unsupported, "")), "unsupported");
  EXPECT_STREQ(code_of(Error(Fault::internal, "")), "internal");
  EXPECT_STREQ(code_of(RunEnded(RunEnded::Why::cancelled)), "cancelled");
  EXPECT_STREQ(code_of(RunEnded(RunEnded::Why::deadline)), "deadline");
  EXPECT_STREQ(code_of(std::bad_alloc()), "out_of_memory");
  EXPECT_STREQ(code_of(std::runtime_error("x")), "internal");
  EXPECT_EQ(fault_of(std::runtime_error("x")), Fault::internal);
}

}  // namespace
}  // namespace axrun::tests
