#include "runtime/log.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace axrun::runtime {
namespace {

constexpr std::array<const char*, 5> names = {"off", "error", "warn", "info", "debug"};

struct Log {
  std::atomic<LogLevel> most{LogLevel::off};
  std::shared_mutex mutex;
  LogSink sink;
};
Log& log_of_process() {
  static auto* const one = new Log;  // never destroyed: threads may tell things until the very end
  return *one;
}

thread_local std::string model_of_thread;

bool is_plain(std::string_view value) {
  return !value.empty() && std::none_of(value.begin(), value.end(), [](char c) {
    return c <= ' ' || c == '"' || c == '=' || c == '\\' || c == '\x7f';
  });
}

void append_quoted(std::string& line, std::string_view value) {
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
      line += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

const char* name_of(LogLevel level) { return names[static_cast<size_t>(level)]; }

std::optional<LogLevel> log_level_of(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<LogLevel>(found - names.begin());
}

void set_log(LogLevel most, LogSink sink) {
  keep_log_across_forks();
  Log& log = log_of_process();
  const std::unique_lock lock(log.mutex);
  log.most = sink ? most : LogLevel::off;
  log.sink = std::move(sink);
}

bool logs(LogLevel level) { return level <= log_of_process().most.load(std::memory_order_relaxed); }

void log(LogRecord record) {
  if (!logs(record.level)) return;
  if (!model_of_thread.empty()) record.fields.insert(record.fields.begin(), {"model", model_of_thread});
  Log& log = log_of_process();
  const std::shared_lock lock(log.mutex);
  if (!log.sink || record.level > log.most) return;
  try {
    log.sink(record);
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to tell
  }
}

std::string log_line(const LogRecord& record) {
  std::string line = fmt::format("level={} event={}", name_of(record.level), record.event);
  for (const auto& [name, value] : record.fields) {
    line += ' ';
    line += name;
    line += '=';
    if (is_plain(value)) {
      line += value;
    } else {
      append_quoted(line, value);
    }
  }
  return line;
}

LogModel::LogModel(std::string name) : before_(std::exchange(model_of_thread, std::move(name))) {}
LogModel::~LogModel() { model_of_thread = std::move(before_); }
std::string LogModel::current() { return model_of_thread; }

void keep_log_across_forks() {
  // In the child the lock is made anew: it knows its owner by a number that is the parent's.
  static const int installed =
      pthread_atfork([] { log_of_process().mutex.lock(); }, [] { log_of_process().mutex.unlock(); },
                     [] { std::construct_at(&log_of_process().mutex); });
  static_cast<void>(installed);
}

}  // namespace axrun::runtime
